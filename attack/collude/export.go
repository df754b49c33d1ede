package collude

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"choir/internal/atomicfile"
	"choir/learn/dataset"
)

// The files of a run in its folder.
const (
	viewFile   = "view.json"
	arraysFile = "view.npz"
	resultFile = "attack.json"
)

// smallData is the most bytes of a message or a stored value that view.json has in full. Longer
// ones are sealed vectors, of which view.npz has the contents where they open.
const smallData = 4096

type viewMessage struct {
	From    string `json:"from"`
	Subject string `json:"subject"`
	Bytes   int    `json:"bytes"`
	Data    []byte `json:"data,omitempty"`
}

type viewRecord struct {
	Key   string `json:"key"`
	Bytes int    `json:"bytes"`
	Value []byte `json:"value,omitempty"`
}

type viewRound struct {
	Round int      `json:"round"`
	Set   []uint32 `json:"set"`
	Rank  int      `json:"rank"`
}

// viewJSON is view.json.
type viewJSON struct {
	SchemaVersion int                     `json:"schema_version"`
	Coalition     string                  `json:"coalition"`
	Rounds        []viewRound             `json:"rounds"`
	Messages      []viewMessage           `json:"messages"`
	Stored        map[string][]viewRecord `json:"stored"`
}

// Write writes the view as view.json and view.npz (docs/attacks.md has the fields).
func (v *View) Write(dir string) error {
	b, err := json.Marshal(v.document())
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, viewFile), b); err != nil {
		return err
	}
	var npz bytes.Buffer
	if err := v.arrays().WriteNPZ(&npz); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, arraysFile), npz.Bytes())
}

func (v *View) document() viewJSON {
	d := viewJSON{SchemaVersion: 1, Coalition: v.Coalition.String(), Rounds: []viewRound{},
		Messages: []viewMessage{}, Stored: map[string][]viewRecord{}}
	for round := 1; round <= v.Rounds() && !v.session.Plan.Mixes(); round++ {
		d.Rounds = append(d.Rounds, viewRound{round, v.set(round), v.rank(round)})
	}
	for _, m := range v.messages {
		d.Messages = append(d.Messages, viewMessage{v.session.Name(m.From), m.Subject, len(m.Data), small(m.Data)})
	}
	for i, store := range v.stored {
		name := v.session.Name(i)
		d.Stored[name] = []viewRecord{}
		for key, value := range store {
			d.Stored[name] = append(d.Stored[name], viewRecord{key, len(value), small(value)})
		}
	}
	return d
}

func small(b []byte) []byte {
	if len(b) > smallData {
		return nil
	}
	return b
}

// arrays are the sums and residuals, a row a round, of the rounds that the coalition sees; and
// the victim's shares at the coalition's nodes in the first round, a row a node, by their upper
// and lower 32 bits.
func (v *View) arrays() dataset.Arrays {
	if v.counts != nil {
		return v.countsArrays()
	}
	sums, rests := &dataset.Array{}, &dataset.Array{}
	for round := 1; round <= v.Rounds(); round++ {
		if x, ok := v.sum(round); ok {
			appendRow(sums, x)
		}
		if x, ok := v.Residual(round); ok {
			appendRow(rests, x)
		}
	}
	high, low := &dataset.Array{}, &dataset.Array{}
	for k := range v.Coalition.Nodes {
		s, ok := v.share(0, v.session.Plan.Compute(k), 1)
		if !ok {
			continue
		}
		hi, lo := make([]int64, len(s)), make([]int64, len(s))
		for j, e := range s {
			hi[j], lo[j] = int64(e>>32), int64(e&0xffffffff)
		}
		appendRow(high, hi)
		appendRow(low, lo)
	}
	all := dataset.Arrays{"sum": sums, "residual": rests, "share_high": high, "share_low": low}
	if v.records != nil {
		counts := make([]int64, v.Coordinates())
		for j := range counts {
			counts[j] = int64(v.records(j))
		}
		all["records"] = &dataset.Array{}
		appendRow(all["records"], counts)
	}
	for _, a := range all {
		a.Shape = []int{len(a.Data) / v.Coordinates(), v.Coordinates()}
	}
	return all
}

// countsArrays are the counts, a row for each repetition, and how many of them a column has in a round.
func (v *View) countsArrays() dataset.Arrays {
	a, width := &dataset.Array{}, 0
	for _, row := range v.counts {
		width = len(row)
		appendRow(a, row)
	}
	a.Shape = []int{len(v.counts), width}
	return dataset.Arrays{"counts": a,
		"categories": {Shape: []int{1, 1}, Data: []float64{float64(width / v.tallies)}}}
}

func appendRow(a *dataset.Array, x []int64) {
	for _, e := range x {
		a.Data = append(a.Data, float64(e))
	}
}

// write writes the result as attack.json.
func (r *Result) write(dir string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, resultFile), append(b, '\n'))
}
