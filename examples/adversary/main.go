// Command adversary is an adversary of one's own for choir attack run --exec: it reads the joint
// view of a coalition and prints a score for each coordinate, the higher the likelier that the
// record is in the victim's data there. This one adds up what the coalition can't explain of each
// round's sum.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"choir/learn/dataset"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: adversary FOLDER")
	}
	scores, err := score(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string][]float64{"scores": scores}); err != nil {
		log.Fatal(err)
	}
}

func score(dir string) ([]float64, error) {
	b, err := os.ReadFile(filepath.Join(dir, "view.npz"))
	if err != nil {
		return nil, err
	}
	arrays, err := dataset.ReadNPZ(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	rest := arrays["residual"]
	if rest == nil || len(rest.Shape) != 2 {
		return nil, fmt.Errorf("view.npz has no array %q of rounds and coordinates", "residual")
	}
	scores := make([]float64, rest.Shape[1])
	for i, x := range rest.Data {
		scores[i%len(scores)] += x
	}
	return scores, nil
}
