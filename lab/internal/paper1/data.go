package paper1

import (
	"encoding/json"
	"fmt"

	"choir/lab/study"
	"choir/lab/uci"
	"choir/learn/bayes"
	"choir/learn/dataset"
)

// set is one of the figure's data sets.
type set struct {
	name   string
	read   func(dir string) (*dataset.Records, error)
	schema func() *dataset.Schema
	test   int // rows
}

func sets() []set {
	wine := func(colour string) func(string) (*dataset.Records, error) {
		return func(dir string) (*dataset.Records, error) { return uci.Wine(dir, colour) }
	}
	return []set{
		{name: "red wine", read: wine("red"), schema: uci.WineSchema, test: 500},
		{name: "white wine", read: wine("white"), schema: uci.WineSchema, test: 1000},
		{name: "abalone", read: uci.Abalone, schema: uci.AbaloneSchema, test: 1000},
	}
}

// task is a set with a test part drawn by a seed.
type task struct {
	train, test bayes.Data
	parts       []bayes.Data
	features    int
	schema      json.RawMessage
}

// load centres and scales every column to a range of length 10, as the paper does.
func (s set) load(o study.Options, parties int, seed uint64) (*task, error) {
	records, err := s.read(o.DataDir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	schema := s.schema()
	table, err := records.Encode(schema)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	canonical, err := schema.Canonical()
	if err != nil {
		return nil, err
	}
	d := bayes.Data{X: append([]float64(nil), table.X...), Y: append([]float64(nil), table.Y...)}
	t := &task{features: schema.Dim(), schema: json.RawMessage(canonical)}
	for j := range t.features - 1 {
		stretch(d.X[j:], t.features)
	}
	stretch(d.Y, 1)
	cut, err := dataset.Partition(d.Rows(), seed, 1-float64(s.test)/float64(d.Rows()))
	if err != nil {
		return nil, err
	}
	t.train, t.test = pick(d, cut[0], t.features), pick(d, cut[1], t.features)
	t.parts = t.train.Split(parties)
	return t, nil
}

// stretch moves every step-th number to mean 0 and a range of length 10.
func stretch(x []float64, step int) {
	lo := x[0]
	hi := x[0]
	mean := 0.0
	n := 0
	for i := 0; i < len(x); i += step {
		lo = min(lo, x[i])
		hi = max(hi, x[i])
		mean = mean + x[i]
		n = n + 1
	}
	mean /= float64(n)
	for i := 0; i < len(x); i += step {
		x[i] = (x[i] - mean) * 10 / (hi - lo)
	}
}

func pick(d bayes.Data, rows []int, features int) (out bayes.Data) {
	for _, i := range rows {
		out.X, out.Y = append(out.X, d.X[i*features:(i+1)*features]...), append(out.Y, d.Y[i])
	}
	return out
}
