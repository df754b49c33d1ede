// Command go is an example of a party's program (docs/own-model.md): Bayesian logistic
// regression, computed outside of Choir. It reads a request on standard input and writes an
// answer to standard output; package choir/learn/external has the format.
//
// With the optimiser of package choir/learn/model its answer is exactly Choir's own update,
// as a test verifies. Another program would have another model in update.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"choir/learn/dataset"
	"choir/learn/model"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// request is the part of the header that the example needs.
type request struct {
	Version  int `json:"version"`
	Round    int `json:"round"`
	Shards   int `json:"shards"`
	Dim      int `json:"dim"`
	Features int `json:"features"`
	Config   struct {
		Steps        int     `json:"steps"`
		LearningRate float64 `json:"learning_rate"`
	} `json:"config"`
}

func run(r io.Reader, w io.Writer) error {
	in, err := dataset.ReadNPZ(r)
	if err != nil {
		return err
	}
	var head request
	if in["header"] == nil {
		return fmt.Errorf("no header")
	}
	if err := json.Unmarshal(in["header"].Bytes(), &head); err != nil {
		return err
	}
	if head.Version != 1 {
		return fmt.Errorf("request of version %d, want 1", head.Version)
	}
	answer, err := json.Marshal(map[string]int{"version": 1, "round": head.Round})
	if err != nil {
		return err
	}
	update := &dataset.Array{Shape: []int{head.Shards, head.Dim}}
	for k := range head.Shards {
		x, y := records(in, head.Features, k)
		cavity := in["cavity"].Data[k*head.Dim : (k+1)*head.Dim]
		update.Data = append(update.Data, head.update(x, y, in["global"].Data, cavity)...)
	}
	return dataset.Arrays{"header": dataset.NewText(answer), "update": update}.WriteNPZ(w)
}

// records returns the records of shard k.
func records(in dataset.Arrays, features, k int) (x, y []float64) {
	for i, shard := range in["shard"].Data {
		if int(shard) == k {
			x = append(x, in["x"].Data[i*features:(i+1)*features]...)
			y = append(y, in["y"].Data[i])
		}
	}
	return x, y
}

// update returns the posterior that one shard would choose, minus global, in natural
// parameters. It depends on the shard's records only.
func (r request) update(x, y, global, cavity []float64) []float64 {
	u := make([]float64, r.Dim)
	shard := model.NewLogistic(r.Features, x, y, r.Config.Steps, r.Config.LearningRate)
	shard.Update(model.NewWorkspace(r.Features, len(y)), u, global, cavity)
	return u
}
