package model

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"choir/learn/gauss"
)

// The records' gradients add up to the shard's, without cavity and entropy.
func TestRecordGradientsAddUp(t *testing.T) {
	const d, n = 5, 11
	x, y := records(6, n, d)
	l := NewLogistic(d, x, y, 1, 0.1)
	ws := NewWorkspace(d, n)
	flat := make([]float64, 2*d) // a cavity without pull
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.SliceOfN(rapid.Float64Range(-2, 2), d, d).Draw(t, "mean")
		logSD := rapid.SliceOfN(rapid.Float64Range(-2, 1), d, d).Draw(t, "logsd")
		want := make([]float64, 2*d)
		l.Gradient(ws, want[:d], want[d:], mean, expTwice(logSD), flat)
		got := make([]float64, 2*d)
		for i := range d {
			got[d+i] = 1 // the entropy's
		}
		err := l.RecordGradients(ws, mean, logSD, all, func(_ int, g []float64) error {
			floats.Add(got, g)
			return nil
		})
		if err != nil || !floats.EqualApprox(got, want, 1e-9) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
	})
}

// A record's gradient depends on no other record.
func TestRecordGradientStandsAlone(t *testing.T) {
	const d, n = 4, 7
	x, y := records(8, n, d)
	mean, logSD := []float64{0.3, -1, 0.2, 0.5}, []float64{-1, 0, 0.2, -0.3}
	gradient := func(x, y []float64, row int) (out []float64) {
		l := NewLogistic(d, x, y, 1, 0.1)
		err := l.RecordGradients(NewWorkspace(d, n), mean, logSD, []int{row}, func(_ int, g []float64) error {
			out = append(out, g...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := gradient(x, y, 3)
	if !floats.Equal(gradient(x[3*d:4*d], y[3:4], 0), want) {
		t.Error("another gradient when the record is alone")
	}
	if math.IsNaN(floats.Sum(want)) || floats.Norm(want, 2) == 0 {
		t.Errorf("gradient %v", want)
	}
}

func TestRecordGradientsStop(t *testing.T) {
	const d = 3
	x, y := records(9, 4, d)
	l := NewLogistic(d, x, y, 1, 0.1)
	enough, calls := errors.New("enough"), 0
	err := l.RecordGradients(NewWorkspace(d, 4), make([]float64, d), make([]float64, d), []int{2, 0, 2, 1},
		func(int, []float64) error {
			if calls++; calls == 3 {
				return enough
			}
			return nil
		})
	if err != enough || calls != 3 {
		t.Errorf("error %v after %d calls, want f's own after 3", err, calls)
	}
}

// TestPerRecordKinds: Kind.PerRecord matches the type of the Site.
func TestPerRecordKinds(t *testing.T) {
	s := Settings{Family: gauss.MeanField, Features: 2, Hidden: 2, Samples: 1, Spread: 1, Steps: 1,
		LearningRate: 0.1, Floor: 1, NoiseSD: 1, Parameters: 2}
	found := 0
	for _, name := range Names() {
		kind, _ := Lookup(name)
		if _, ok := kind.Site(s, nil, nil).(PerRecord); ok != kind.PerRecord {
			t.Errorf("%s: its site is %v, the kind says %v", name, ok, kind.PerRecord)
		} else if ok {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d kinds have records that can be taken one at a time", found)
	}
}
