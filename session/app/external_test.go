package app_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/result"
	"choir/session/terms"
)

// constant is an Outside that always answers the same.
type constant []float64

func (c constant) Updates(context.Context, pvi.OutsideWork) ([][]float64, error) {
	return [][]float64{c}, nil
}

func (c constant) of(bayes.Data, int) (pvi.Outside, error) { return c, nil }

// A plan about a model that only programs know: its updates are clipped like any
// other's, its posterior is left by weight, and predictions are refused with the cause.
func TestExternalModelInAPlan(t *testing.T) {
	c := rig.AppCases(t)["virtual"]
	l := *c.App.(*app.PVI)
	l.PVI = pvi.Config{
		Model: bayes.External, Family: gauss.MeanField, Strategy: pvi.Dataset{}, Features: 4,
		Parameters: 2, PriorPrecision: 1, PrecisionFloor: 1, Clip: 0.5, FracBits: 20,
		DampingBits: 16, Damping: 1,
	}
	list, _ := rig.Members(t, len(c.Parts), 3)
	ts := rig.Terms(list)
	ts.Noise, ts.Epsilon, ts.Delta = protocol.NoiseParty, 2, 1e-5
	p, err := ts.Plan(&l)
	if err != nil {
		t.Fatal(err)
	}
	side, err := l.Join(app.PartyConfig{Plan: p, Data: c.Parts[0], Outside: constant{3, 4, 0, 0}.of})
	if err != nil {
		t.Fatal(err)
	}
	update, _, err := side.Propose(t.Context(), protocol.Work{Round: 1, Model: side.Initial(),
		State: side.InitialState()})
	// 0.3 and 0.4 of 2^20: the norm is 524287.8 of 524288
	if want := []int64{314573, 419430, 0, 0}; err != nil || !slices.Equal(update, want) {
		t.Errorf("update %v, %v, want %v", update, err, want)
	}
	state, err := side.Fold(1, side.Initial(), update)
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.NewModelFile(protocol.Bind(p), state, nil)
	if err != nil || !slices.Equal(f.Columns, []string{"weight 1", "weight 2"}) ||
		math.Abs(f.Mean[1]-0.4) > 1e-5 {
		t.Fatalf("%+v, %v", f, err)
	}
	records, err := dataset.ReadRecords(strings.NewReader("x0,x1,x2\n0,0,0\n"),
		dataset.CSVOptions{Name: "new.csv"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Predict(records, ""); !errors.Is(err, bayes.ErrNoPredictor) {
		t.Errorf("prediction: %v, want ErrNoPredictor", err)
	}
}

// Programs don't go with strategies that clip single records.
func TestOutsideNeedsAStrategy(t *testing.T) {
	c := rig.AppCases(t)["optimisation"]
	l := c.Plan(t, protocol.NoiseNone, func(*terms.Terms) {})
	if _, err := c.App.Join(app.PartyConfig{Plan: l.Session.Plan, Data: c.Parts[0],
		Outside: constant{}.of}); !errors.Is(err, pvi.ErrOutside) {
		t.Errorf("%v, want ErrOutside", err)
	}
}
