package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
)

func TestRequest(t *testing.T) {
	var b bytes.Buffer
	records := Records{Data: bayes.Data{X: []float64{1, 2, 3, 4, 5, 6}, Y: []float64{0, 1, 1}},
		Columns: []string{"a", "bias"}, Classes: []string{"no", "yes"}}
	if err := writeRequest(&b, config(), records, work()); err != nil {
		t.Fatal(err)
	}
	all, err := dataset.ReadNPZ(&b)
	if err != nil {
		t.Fatal(err)
	}
	var head header
	if err := json.Unmarshal(all["header"].Bytes(), &head); err != nil {
		t.Fatal(err)
	}
	if head.Version != 1 || head.Round != 3 || head.Shards != 2 || head.Dim != 6 || head.Weights != 3 ||
		head.Features != 2 || head.Config != config() || len(head.Classes) != 2 {
		t.Errorf("header %+v", head)
	}
	for name, want := range map[string]*dataset.Array{
		"global": {Shape: []int{6}, Data: work().Global}, "cavity": {Shape: []int{2, 6},
			Data: append(slices.Clone(work().Cavity[0]), work().Cavity[1]...)},
		"x": {Shape: []int{3, 2}, Data: records.Data.X}, "y": {Shape: []int{3}, Data: records.Data.Y},
		"shard": {Shape: []int{3}, Data: []float64{0, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			if a := all[name]; a == nil || !slices.Equal(a.Shape, want.Shape) ||
				!slices.Equal(a.Data, want.Data) {
				t.Errorf("%+v, want %+v", a, want)
			}
		})
	}
	if len(all) != 6 {
		t.Errorf("%d arrays: whatever is more may be too much", len(all))
	}
}

// The program gets the same shard of a record as bayes.Data.Split.
func TestRequestShards(t *testing.T) {
	d := bayes.Data{X: make([]float64, 14), Y: []float64{0, 1, 2, 3, 4, 5, 6}}
	for k, shard := range d.Split(2) {
		for _, y := range shard.Y {
			if int(y)%2 != k {
				t.Errorf("record %v is in shard %d, not where the request says", y, k)
			}
		}
	}
}

// withHeader replaces an answer's header.
func withHeader(text string) func(dataset.Arrays) {
	return func(a dataset.Arrays) { a["header"] = dataset.NewText([]byte(text)) }
}

// answer is a whole answer, changed by a test.
func answer(t testing.TB, change func(dataset.Arrays)) []byte {
	t.Helper()
	all := dataset.Arrays{"header": dataset.NewText([]byte(`{"version": 1, "round": 3, "loss": 0.1}`)),
		"update": {Shape: []int{2, 2}, Data: []float64{1, 2, 3, 4}}}
	change(all)
	var b bytes.Buffer
	if err := all.WriteNPZ(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestParseAnswer(t *testing.T) {
	got, err := parseAnswer(answer(t, func(dataset.Arrays) {}), 3, 2, 2)
	if err != nil || !slices.Equal(got[0], []float64{1, 2}) || !slices.Equal(got[1], []float64{3, 4}) {
		t.Errorf("%v, %v", got, err)
	}
	flat := answer(t, func(a dataset.Arrays) { a["update"] = dataset.NewVector([]float64{1, 2, 3, 4}) })
	if got, err := parseAnswer(flat, 3, 1, 4); err != nil || len(got) != 1 || len(got[0]) != 4 {
		t.Errorf("one shard: %v, %v", got, err)
	}
	for name, b := range map[string][]byte{
		"flat":       flat,
		"round":      answer(t, withHeader(`{"version": 1, "round": 2}`)),
		"version":    answer(t, withHeader(`{"version": 2, "round": 3}`)),
		"not JSON":   answer(t, withHeader(`{`)),
		"not text":   answer(t, func(a dataset.Arrays) { a["header"] = dataset.NewVector([]float64{1}) }),
		"no header":  answer(t, func(a dataset.Arrays) { delete(a, "header") }),
		"no update":  answer(t, func(a dataset.Arrays) { delete(a, "update") }),
		"transposed": answer(t, func(a dataset.Arrays) { a["update"].Shape = []int{4, 1} }),
		"text":       answer(t, func(a dataset.Arrays) { a["update"].Text = true }),
		"NaN":        answer(t, func(a dataset.Arrays) { a["update"].Data[1] = math.NaN() }),
		"infinite":   answer(t, func(a dataset.Arrays) { a["update"].Data[1] = math.Inf(1) }),
		"nothing":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parseAnswer(b, 3, 2, 2); !errors.Is(err, ErrAnswer) || got != nil {
				t.Errorf("%v, %v, want ErrAnswer", got, err)
			}
		})
	}
}

// For every answer of a program, the accepted update has the requested shape and finite
// numbers.
func FuzzParseAnswer(f *testing.F) {
	f.Add(answer(f, func(dataset.Arrays) {}))
	f.Add(answer(f, func(a dataset.Arrays) { a["update"].Shape = []int{1, 4} }))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseAnswer(b, 3, 2, 2)
		if err != nil {
			if !errors.Is(err, ErrAnswer) {
				t.Fatalf("error %v, want ErrAnswer", err)
			}
			return
		}
		for _, u := range got {
			for _, v := range u {
				if len(u) != 2 || math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("took %v", got)
				}
			}
		}
		if len(got) != 2 {
			t.Fatalf("took %d shards", len(got))
		}
	})
}
