// Package published holds the numbers of the papers that the experiments repeat, with
// where each comes from: figures (one number) and curves. published.json names the
// sources and the precision with which each could be read.
//
// A number that is absent is nil: the paper has none.
package published

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"choir/lab/study"
)

//go:embed published.json
var raw []byte

type document struct {
	SchemaVersion int      `json:"schema_version"`
	Sources       []string `json:"sources"`
	Figures       []figure `json:"figures"`
	Curves        []curve  `json:"curves"`
}

type figure struct {
	Study     string        `json:"study"`
	Case      string        `json:"case"`
	Method    string        `json:"method"`
	Measure   study.Measure `json:"measure"`
	Value     float64       `json:"value"`
	Precision float64       `json:"precision"`
	Where     string        `json:"where"`
}

type curve struct {
	Study   string        `json:"study"`
	Case    string        `json:"case"`
	Method  string        `json:"method"`
	Measure study.Measure `json:"measure"`
	X       []float64     `json:"x"`
	Y       []float64     `json:"y"`
}

// Numbers are the published numbers of one study.
type Numbers struct {
	name string
	doc  document
}

// Of reads the numbers of a study.
func Of(name string) (*Numbers, error) {
	n := &Numbers{name: name}
	if err := json.Unmarshal(raw, &n.doc); err != nil || n.doc.SchemaVersion != 1 {
		return nil, fmt.Errorf("published: published.json is not of version 1: %w", err)
	}
	return n, nil
}

// Figure is a number, or nil.
func (n *Numbers) Figure(where, method string, m study.Measure) *study.Figure {
	for _, f := range n.doc.Figures {
		if f.Study == n.name && f.Case == where && f.Method == method && f.Measure == m {
			return &study.Figure{Value: f.Value, Precision: f.Precision, Where: f.Where}
		}
	}
	return nil
}

// Curve is a curve, or nil.
func (n *Numbers) Curve(where, method string, m study.Measure) *study.Curve {
	for _, c := range n.doc.Curves {
		if c.Study == n.name && c.Case == where && c.Method == method && c.Measure == m {
			return &study.Curve{Name: method + " (paper)", X: c.X, Y: c.Y}
		}
	}
	return nil
}
