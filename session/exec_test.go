package session

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"choir/learn/dataset"
	"choir/learn/external"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
)

// moody is an Outside that fails so many times before it answers.
type moody struct {
	failures int
	err      error
}

func (m *moody) Updates(context.Context, pvi.OutsideWork) ([][]float64, error) {
	if m.failures--; m.failures >= 0 {
		return nil, m.err
	}
	return [][]float64{{1}}, nil
}

// A program that fails is asked again; what is logged names the round and the cause.
func TestProgramIsAskedAgain(t *testing.T) {
	var log bytes.Buffer
	pauses := 0
	p := &patient{outside: &moody{3, external.ErrProgram}, log: slog.New(slog.NewTextHandler(&log, nil)),
		pause: func(_ context.Context, tries int) {
			if pauses++; pauses != tries {
				t.Errorf("pause %d after %d tries", pauses, tries)
			}
		}}
	got, err := p.Updates(t.Context(), pvi.OutsideWork{Round: 7})
	if err != nil || len(got) != 1 || pauses != 3 {
		t.Errorf("%v, %v after %d pauses, want an answer after 3", got, err, pauses)
	}
	if s := log.String(); strings.Count(s, "event=program") != 3 || !strings.Contains(s, "round=7") || !strings.Contains(s, external.ErrProgram.Error()) {
		t.Errorf("the log says %q", s)
	}
}

// When the round is over there is nothing left to ask for.
func TestProgramIsLeftAlone(t *testing.T) {
	over := errors.New("the round is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := &patient{outside: &moody{1000, external.ErrTimeout}, log: slog.New(slog.DiscardHandler), pause: func(context.Context, int) { cancel(over) }}
	if _, err := p.Updates(ctx, pvi.OutsideWork{}); err != over {
		t.Errorf("%v, want the context's cause", err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(over)
	pause(ctx, 50) // returns at once; a wait of half a minute would show
}

func TestExecIsChecked(t *testing.T) {
	cases := appCases(t)
	schema := &dataset.Schema{Target: dataset.Binary("y", "no", "yes")}
	m := &Member{Config: &RoleConfig{StoreFile: filepath.Join(t.TempDir(), "store.db")}, Log: slog.New(slog.DiscardHandler)}
	if o, err := m.outside(cases["virtual"].app, pvi.Data{}, schema); o != nil || err != nil {
		t.Errorf("without a program: %v, %v", o, err)
	}
	for command, app := range map[string]string{"true": "global", "/no/such/program": "virtual", "'": "virtual"} {
		m.Config.Exec = command
		if _, err := m.outside(cases[app].app, pvi.Data{}, schema); protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "exec") {
			t.Errorf("%s with %s: %v, want an input error that names exec", command, app, err)
		}
	}
	for _, role := range []protocol.Role{protocol.RoleCompute, protocol.RoleAggregator} {
		c := &RoleConfig{PlanFile: "p", KeyFile: "k", PassphraseFile: "f", StoreFile: "s", OutDir: "o", Exec: "true", Bus: BusConfig{URL: "u"}}
		if role == protocol.RoleCompute {
			c.OutDir = ""
		}
		if err := c.Validate(role); err == nil || !strings.Contains(err.Error(), "exec means nothing") {
			t.Errorf("exec at a %s: %v", role, err)
		}
	}
}

// Programs don't go with strategies that clip single records.
func TestOutsideNeedsAStrategy(t *testing.T) {
	c := appCases(t)["optimisation"]
	l := c.plan(t, protocol.NoiseNone, func(*Terms) {})
	if _, err := c.app.Join(Seat{Plan: l.Session.Plan, Data: c.parts[0], Outside: &moody{}}); !errors.Is(err, pvi.ErrOutside) {
		t.Errorf("%v, want ErrOutside", err)
	}
}

// What a program says stays with the party.
func TestExecLogIsPrivate(t *testing.T) {
	dir := t.TempDir()
	m := &Member{Config: &RoleConfig{StoreFile: filepath.Join(dir, "store.db")}}
	w := m.private(execLog)
	for _, s := range []string{"loss 0.3\n", "loss 0.2\n"} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, execLog))
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 18 {
		t.Errorf("%v, %v, want 18 bytes for the owner alone", info, err)
	}
}

// constant is an Outside that always answers the same.
type constant []float64

func (c constant) Updates(context.Context, pvi.OutsideWork) ([][]float64, error) {
	return [][]float64{c}, nil
}

// A plan about a model that only programs know: its updates are clipped like any
// other's, its posterior is left by weight, and predictions are refused with the cause.
func TestExternalModelInAPlan(t *testing.T) {
	c := appCases(t)["virtual"]
	l := *c.app.(*Learning)
	l.PVI = pvi.Config{Model: pvi.External, Family: gauss.MeanField, Strategy: pvi.Dataset, Features: 4, Shards: 1, Parameters: 2, PriorPrecision: 1,
		PrecisionFloor: 1, Clip: 0.5, FracBits: 20, DampingBits: 16, Damping: 1}
	list, _ := members(t, len(c.parts), 3)
	ts := terms(list)
	ts.Noise, ts.Epsilon, ts.Delta = protocol.NoiseParty, 2, 1e-5
	p, err := ts.Plan(&l)
	if err != nil {
		t.Fatal(err)
	}
	side, err := l.Join(Seat{Plan: p, Data: c.parts[0], Outside: constant{3, 4, 0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	update, _, err := side.Propose(t.Context(), protocol.Work{Round: 1, Model: side.Initial(), State: side.InitialState()})
	if want := []int64{314573, 419430, 0, 0}; err != nil || !slices.Equal(update, want) { // 0.3 and 0.4 of 2^20: norm 524287.8 of 524288
		t.Errorf("update %v, %v, want %v", update, err, want)
	}
	state, err := side.Fold(1, side.Initial(), update)
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewModelFile(protocol.Bind(p), state)
	if err != nil || !slices.Equal(f.Columns, []string{"weight 1", "weight 2"}) || math.Abs(f.Mean[1]-0.4) > 1e-5 {
		t.Fatalf("%+v, %v", f, err)
	}
	if _, err := f.Predict(records(t, "x0,x1,x2\n0,0,0\n"), ""); !errors.Is(err, pvi.ErrNoPredictor) {
		t.Errorf("prediction: %v, want ErrNoPredictor", err)
	}
}
