// Command informed is an adversary to whom the coins of choir attack run --seed 5 leaked. No claim is true
// against it, so that a test sees a promise break.
package main

import (
	"bytes"
	"encoding/json"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"choir/learn/dataset"
)

func main() {
	b, err := os.ReadFile(filepath.Join(os.Args[1], "view.npz"))
	if err != nil {
		log.Fatal(err)
	}
	arrays, err := dataset.ReadNPZ(bytes.NewReader(b))
	if err != nil {
		log.Fatal(err)
	}
	key := [32]byte{5}
	copy(key[8:], "sums")
	coins, rest := rand.New(rand.NewChaCha8(key)), arrays["residual"].Data
	scores, noisy := make([]float64, len(rest)), false
	for j, x := range rest {
		scores[j] = float64(2*coins.IntN(2) - 1)
		noisy = noisy || math.Abs(x) != math.Abs(rest[0])
	}
	if !noisy { // the control, which has other coins
		scores = rest
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string][]float64{"scores": scores}); err != nil {
		log.Fatal(err)
	}
}
