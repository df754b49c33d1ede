package terms_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// layeredPlan is the plan of N = 10, M = 3, T = 2 and one allowed drop-out.
func layeredPlan(t *testing.T) *protocol.Plan {
	t.Helper()
	list, _ := rig.Members(t, 10, 3)
	p, err := layeredTerms(t, rig.Terms(list), 5)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// layeredTerms is that plan for some members and rounds.
func layeredTerms(t *testing.T, ts terms.Terms, rounds int) (*protocol.Plan, error) {
	t.Helper()
	ts.Rounds = rounds
	ts.Noise = protocol.NoiseParty
	ts.Epsilon = 1
	ts.Delta = 1e-5
	ts.Colluders = 2
	ts.Dropouts = 1
	cfg := pvi.Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: pvi.Virtual{Shards: 7, Fit: pvi.Fit{Steps: 5, LearningRate: 0.05}},
		Features: 3, PriorPrecision: 1, PrecisionFloor: 1, Clip: 0.1, FracBits: 24,
		DampingBits: 16, Damping: 0.3,
	}
	schema := &dataset.Schema{Version: 1, Source: "test", Target: dataset.Binary("y", "no", "yes"),
		Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Columns: []dataset.Column{dataset.Numeric("a", -1, 1), dataset.Numeric("b", -1, 1)}}
	canonical, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return ts.Learn(app.PVI{PVI: cfg, Weights: make([]float64, 10), Schema: json.RawMessage(canonical)})
}

// TestLayersByHand recomputes the table of a plan with N = 10, M = 3, T = 2,
// N_min = 9 from nothing but the count of noises that stay hidden and the exact
// curve of the continuous Gaussian: on this fine grid the two agree to a few parts
// in ten thousand, and the table never claims less.
func TestLayersByHand(t *testing.T) {
	p := layeredPlan(t)
	g, err := terms.GuaranteesOf(p)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Layers) < 20 {
		t.Fatalf("only %d rows", len(g.Layers))
	}
	tolerated, exposed := 0, 0
	for _, l := range g.Layers {
		hidden := int(l.Attendance) - int(l.Parties) - int(l.Silent)
		if l.Computes == uint32(p.Computes()) {
			hidden, exposed = 1, exposed+1 // each party's own noised update: its own noise alone
		}
		for level, epsilon := range map[uint64]*float64{p.Sensitivity: l.Sample, 7 * p.Sensitivity: l.Party} {
			if hidden < 1 {
				if epsilon != nil {
					t.Errorf("%s: epsilon %v without hidden noise", l.Adversary, *epsilon)
				}
				continue
			}
			mu := math.Sqrt(5/float64(hidden)) * float64(level) / math.Sqrt(float64(p.Variance))
			want := privacy.GaussianEpsilon(mu, p.Delta)
			if epsilon == nil || *epsilon < want*(1-1e-9) || *epsilon > want*(1+1e-3) {
				t.Errorf("%s (|U| = %d): epsilon %v, by hand %v", l.Adversary, l.Attendance, epsilon, want)
			}
		}
		if l.Tolerated {
			tolerated++
			if l.Sample == nil || *l.Sample > p.Epsilon {
				t.Errorf("%s is tolerated with epsilon %v of %v", l.Adversary, l.Sample, p.Epsilon)
			}
		}
	}
	if tolerated < 5 || exposed < 1 {
		t.Errorf("%d tolerated rows, %d rows with all nodes", tolerated, exposed)
	}
}

// TestPersonsAssumed: what a plan claims for a record, it says not to claim for a person with several.
func TestPersonsAssumed(t *testing.T) {
	g, err := terms.GuaranteesOf(layeredPlan(t))
	if err != nil {
		t.Fatal(err)
	}
	want := "a person has one record in the files of all parties: for one with k records epsilon is up to k"
	if all := strings.Join(g.Assumptions, "\n"); !strings.Contains(all, want) {
		t.Errorf("assumes %s", all)
	}
}

// TestCoarseGridRefused: rounding that matters beside the noise is refused.
func TestCoarseGridRefused(t *testing.T) {
	p := layeredPlan(t)
	if err := terms.CheckGrid(p); err != nil {
		t.Fatal(err)
	}
	p.Variance = 1000
	if err := terms.CheckGrid(p); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("noise of 31 units beside the rounding of 70 terms: %v", err)
	}
}

// TestNoiseOverhead checks the plan's own point of Figure 1b by hand.
func TestNoiseOverhead(t *testing.T) {
	u := terms.NoiseUseOf(layeredPlan(t))
	if want := math.Sqrt(10.0 / (9 - 2 - 1)); math.Abs(u.Trusted-want) > 1e-12 {
		t.Errorf("ratio to a trusted aggregator %v, by Theorem 1 %v", u.Trusted, want)
	}
	if want := fmt.Sprintf("%.6f", u.Trusted/math.Sqrt(10)); fmt.Sprintf("%.6f", u.Local) != want {
		t.Errorf("ratio to local noise %v, want %s", u.Local, want)
	}
}
