package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
)

// version is the version of the requests and answers of this package.
const version = 1

// ErrAnswer is in the chain of every error about an unusable answer.
var ErrAnswer = errors.New("bad answer")

// header is the JSON of a request: everything public that the program may need, other than
// the arrays.
type header struct {
	Version  int      `json:"version"`
	Round    int      `json:"round"`
	Shards   int      `json:"shards"`
	Dim      int      `json:"dim"`      // natural parameters
	Weights  int      `json:"weights"`  // Gaussian weights
	Features int      `json:"features"` // columns of x
	Columns  []string `json:"columns"`  // their names
	Classes  []string `json:"classes"`  // the meaning of y = 0 and y = 1; null for numbers
	// Config is the plan's inference.
	Config pvi.Config `json:"config"`
}

// answerHeader is the JSON of an answer. The program may add fields.
type answerHeader struct {
	Version int `json:"version"`
	Round   int `json:"round"`
}

// Records are the party's data as the program sees it.
type Records struct {
	Data    bayes.Data
	Columns []string
	Classes []string
}

// writeRequest writes a round's request. Records are assigned to shards as in
// bayes.Data.Split.
func writeRequest(w io.Writer, c pvi.Config, r Records, ask pvi.OutsideWork) error {
	head, err := json.Marshal(header{Version: version, Round: ask.Round, Shards: len(ask.Cavity),
		Dim: c.Dim(), Weights: c.Weights(),
		Features: c.Features, Columns: r.Columns, Classes: r.Classes, Config: c})
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	rows := r.Data.Rows()
	cavity := &dataset.Array{Shape: []int{len(ask.Cavity), c.Dim()}}
	for _, row := range ask.Cavity {
		cavity.Data = append(cavity.Data, row...)
	}
	shard := make([]float64, rows)
	for i := range shard {
		shard[i] = float64(i % len(ask.Cavity))
	}
	all := dataset.Arrays{
		"header": dataset.NewText(head), "global": dataset.NewVector(ask.Global), "cavity": cavity,
		"x": {Shape: []int{rows, c.Features}, Data: r.Data.X}, "y": dataset.NewVector(r.Data.Y),
		"shard": dataset.NewVector(shard),
	}
	if err := all.WriteNPZ(w); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	return nil
}

// parseAnswer reads a round's answer and checks it.
func parseAnswer(b []byte, round, shards, dim int) ([][]float64, error) {
	all, err := dataset.ReadNPZ(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	var head answerHeader
	switch text := all["header"]; {
	case text == nil || text.Bytes() == nil:
		return nil, fmt.Errorf("%w: it has no array of bytes (u1) called header", ErrAnswer)
	default:
		if err := json.Unmarshal(text.Bytes(), &head); err != nil {
			return nil, fmt.Errorf("%w: header: %w", ErrAnswer, err)
		}
	}
	u := all["update"]
	switch {
	case head.Version != version:
		return nil, fmt.Errorf("%w: version %d, want %d", ErrAnswer, head.Version, version)
	case head.Round != round:
		return nil, fmt.Errorf("%w: it is for round %d, want %d", ErrAnswer, head.Round, round)
	case u == nil || u.Text:
		return nil, fmt.Errorf("%w: it has no array of numbers called update", ErrAnswer)
	case !fits(u.Shape, shards, dim):
		return nil, fmt.Errorf("%w: update has shape %v, want [%d %d]", ErrAnswer, u.Shape, shards, dim)
	}
	updates := make([][]float64, shards)
	for k := range updates {
		updates[k] = u.Data[k*dim : (k+1)*dim : (k+1)*dim]
	}
	return updates, nil
}

func fits(shape []int, shards, dim int) bool {
	if len(shape) == 1 {
		return shards == 1 && shape[0] == dim
	}
	return len(shape) == 2 && shape[0] == shards && shape[1] == dim
}
