// Command adversary is an adversary of one's own for choir attack run --exec: it reads the joint
// view of a coalition and prints a score for each coordinate, the higher the likelier that the
// record is in the victim's data there. This one adds up what the coalition can't explain of each
// round's sum. Of shuffled reports it compares the counts of the victim's two values.
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
	if counts := arrays["counts"]; counts != nil && arrays["categories"] != nil {
		return compare(counts, int(arrays["categories"].Data[0])), nil
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

// compare scores the repetitions of counts, with a number of categories in every column and round.
func compare(counts *dataset.Array, categories int) []float64 {
	scores, row := make([]float64, counts.Shape[0]), counts.Shape[1]
	for i := range scores {
		for j := 0; j < row; j += categories {
			scores[i] += counts.Data[i*row+j] - counts.Data[i*row+j+1]
		}
	}
	return scores
}
