package bed

import (
	"slices"
	"testing"

	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// weight is a problem of one weight with a clip, for the parties' data; sd is the
// observations'.
func weight(sd, clip float64) *app.PVI {
	return &app.PVI{Version: 1, Schema: []byte("{}"), Weights: []float64{0.25, 0.25, 0.5}, PVI: pvi.Config{
		Model: bayes.Linear, Family: gauss.Full, Strategy: pvi.Dataset{}, Features: 1,
		PriorPrecision: 1, PrecisionFloor: 1, NoiseSD: sd, Clip: clip, FracBits: 20,
		DampingBits: 16, Damping: 0.5,
	}}
}

// alone is a learning whose schema is not looked at.
type alone struct{ *app.PVI }

// Check takes every plan.
func (alone) Check(*protocol.Plan) error { return nil }

func line(slope float64, parties int) (parts []bayes.Data) {
	for i := range parties {
		d := bayes.Data{}
		for j := range 3 {
			x := float64(i+j) - 1.5
			d.X, d.Y = append(d.X, x), append(d.Y, slope*x)
		}
		parts = append(parts, d)
	}
	return parts
}

// TestBlocksAreTheProblems: without noise every problem in a common session ends where it
// ends in a session of its own, to the integer, in the clear, in memory and over a broker;
// and with noise a broker gives what memory gives.
func TestBlocksAreTheProblems(t *testing.T) {
	slopes, sds := []float64{1, -2, 0.5}, []float64{1, 0.5, 2}
	b, want := Blocks{}, []int64(nil)
	for i := range slopes {
		app, parts := alone{weight(sds[i], 3)}, line(slopes[i], 3)
		b.Apps, b.Parts = append(b.Apps, app), append(b.Parts, parts)
		o, err := Run{Name: "alone", Seed: 1, App: app, Parts: parts, Rounds: 4}.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, o.State...)
	}
	var noisy []int64
	for _, over := range []study.Transport{Clear, study.Memory, study.NATS} {
		r := Run{Name: "together", Seed: 1, App: b, Parts: b.Parts[0], Rounds: 4, Transport: over,
			Dir: t.TempDir()}
		o, err := r.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(o.State, want) {
			t.Errorf("over %s the problems end at %v, by themselves at %v", over, o.State, want)
		}
		r.Epsilon, r.Delta = 5, 1e-5
		if o, err = r.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		if over == study.Memory {
			noisy = o.State
		}
		if slices.Equal(o.State, want) || over == study.NATS && !slices.Equal(o.State, noisy) {
			t.Errorf("over %s, with noise, the state is %v", over, o.State)
		}
	}
}

// TestBlocksCostWhatOneCosts: the plan of several problems has one problem's clip and
// sensitivity, and no less noise than a problem's own session.
func TestBlocksCostWhatOneCosts(t *testing.T) {
	plan := func(n int) *protocol.Plan {
		b := Blocks{}
		for range n {
			b.Apps, b.Parts = append(b.Apps, alone{weight(1, 3)}), append(b.Parts, line(1, 3))
		}
		s, err := Run{Name: "cost", Seed: 1, App: b, Parts: b.Parts[0], Computes: 3, Rounds: 77,
			Epsilon: 10, Delta: 1e-5}.sign()
		if err != nil {
			t.Fatal(err)
		}
		return s.plan
	}
	one, ten := plan(1), plan(10)
	if ten.Clip != one.Clip || ten.Sensitivity != one.Sensitivity || ten.Dim != 10*one.Dim ||
		ten.PerParty != 10*one.PerParty {
		t.Errorf("one problem %+v, ten %+v", one, ten)
	}
	if ten.Variance < one.Variance || float64(ten.Variance) > 1.0001*float64(one.Variance) {
		t.Errorf("variance %d for one problem, %d for ten", one.Variance, ten.Variance)
	}
}

// TestBlocksRefuse what has no common mechanism, grid or roster.
func TestBlocksRefuse(t *testing.T) {
	good, other := alone{weight(1, 3)}, alone{weight(1, 4)}
	fine := alone{weight(1, 3)}
	fine.PVI.PVI.FracBits = 21
	tests := []struct {
		name   string
		blocks Blocks
	}{
		{"another clip", Blocks{[]app.Spec{good, other}, [][]bayes.Data{line(1, 3), line(1, 3)}}},
		{"another grid", Blocks{[]app.Spec{good, fine}, [][]bayes.Data{line(1, 3), line(1, 3)}}},
		{"a party short", Blocks{[]app.Spec{good, good}, [][]bayes.Data{line(1, 3), line(1, 2)}}},
		{"no data", Blocks{[]app.Spec{good, good}, [][]bayes.Data{line(1, 3)}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := Run{Name: "refused", Seed: 1, App: test.blocks, Parts: line(1, 3), Rounds: 1, Epsilon: 5, Delta: 1e-5}
			if _, err := r.Do(t.Context()); err == nil {
				t.Error("not refused")
			}
		})
	}
	b := Blocks{[]app.Spec{good, good}, [][]bayes.Data{line(1, 3), line(1, 3)}}
	m := b.models(&protocol.Plan{})
	if _, err := m.split(make([]int64, 5), m.sums); err == nil {
		t.Error("a vector that is too long was split")
	}
	if _, err := m.split(make([]int64, 3), m.sums); err == nil {
		t.Error("a vector that is too short was split")
	}
	s := sides{m, make([]app.Party, 2)}
	for _, bad := range [][]byte{nil, {1, 0, 0}, {9, 0, 0, 0, 1}, append(join([][]byte{{1}, {2}}), 0)} {
		if _, err := s.unjoin(bad); err == nil {
			t.Errorf("%v was accepted as two states", bad)
		}
	}
	if got, err := s.unjoin(join([][]byte{{1, 2}, {}})); err != nil || len(got) != 2 ||
		!slices.Equal(got[0], []byte{1, 2}) || len(got[1]) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
