package protocol

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"choir/privacy"
)

// successor is a plan that goes on from another with noise after its first round.
func successor() (*Plan, *Origin) {
	o := &Origin{Key: DigestKey{1, 2, 3}, Model: []int64{5, -7, 1 << 40}}
	p := private(testPlan())
	p.Epsilon = 2
	p.After = &Predecessor{Plan: private(testPlan()), Round: 1, Attempts: 2, Model: IntDigest(o.Key, o.Model)}
	return p, o
}

func TestSuccessorRoundTrip(t *testing.T) {
	p, _ := successor()
	if err := errors.Join(p.Validate(), p.CheckPrivacy()); err != nil {
		t.Fatal(err)
	}
	third := private(testPlan())
	third.Epsilon = 3
	third.After = &Predecessor{Plan: p, Round: 2, Attempts: 3, Model: Digest{9}}
	for _, plan := range []*Plan{p, third} {
		b, err := plan.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		back, err := unmarshalPlan(b)
		if err != nil || back.ID() != plan.ID() || back.After.Plan.ID() != plan.After.Plan.ID() {
			t.Errorf("%v: another plan", err)
		}
	}
	if third.RoundsBefore() != 3 || p.RoundsBefore() != 1 || p.After.Plan.RoundsBefore() != 0 {
		t.Error("wrong numbers of rounds before")
	}
}

// TestSuccessorIsBound: every bit of what a plan says of its predecessor is in its id.
func TestSuccessorIsBound(t *testing.T) {
	p, _ := successor()
	ids := []PlanID{p.ID(), private(testPlan()).ID()}
	for _, alter := range []func(a *Predecessor){
		func(a *Predecessor) { a.Round++ },
		func(a *Predecessor) { a.Attempts++ },
		func(a *Predecessor) { a.Model[31] ^= 1 },
		func(a *Predecessor) { a.Plan.Name = "another" },
	} {
		q, _ := successor()
		alter(q.After)
		if id := q.ID(); slices.Contains(ids, id) || id == (PlanID{}) {
			t.Error("two plans have one id")
		} else {
			ids = append(ids, id)
		}
	}
}

func TestSuccessorRejections(t *testing.T) {
	for _, row := range []struct {
		want  string
		alter func(p *Plan)
	}{
		{"round 0", func(p *Plan) { p.After.Round = 0 }},
		{"round 3", func(p *Plan) { p.After.Round = 3 }},
		{"0 attempts", func(p *Plan) { p.After.Attempts = 0 }},
		{"4 attempts", func(p *Plan) { p.After.Attempts = 4 }},
		{"created", func(p *Plan) { p.Created-- }},
		{"another dimension", func(p *Plan) { p.Dim++ }},
		{"application", func(p *Plan) { p.Application = "other" }},
		{"placement", func(p *Plan) { p.Noise = NoiseCompute }},
		{"privacy", func(p *Plan) { p.Sensitivity, p.Epsilon, p.Delta = 0, 0, 0 }},
		{"privacy", func(p *Plan) { p.Relation = uint8(privacy.AddRemove) }},
		{"predecessor: plan: members", func(p *Plan) { p.After.Plan.Members = nil }},
		{"rounds: 2 after", func(p *Plan) {
			q := p.After.Plan
			q.Rounds, q.Variance = MaxRounds, 1<<50
			p.After.Round, p.After.Attempts = MaxRounds, MaxRounds
		}},
		{"without noise", func(p *Plan) {
			for _, q := range []*Plan{p, p.After.Plan} {
				q.Noise, q.Variance, q.Sensitivity, q.Epsilon, q.Delta = NoiseNone, 0, 0, 0, 0
			}
			p.MinParties, p.UnsafeDifferences = 3, false
		}},
	} {
		p, _ := successor()
		row.alter(p)
		if err := p.Validate(); ClassOf(err) != ClassInput || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.want, err)
		}
	}
}

// TestSuccessorSpends: what a chain of plans spends is what all its releases spend together, as an
// adversary sees them that the last plan tolerates.
func TestSuccessorSpends(t *testing.T) {
	p, _ := successor()
	got, ok, err := p.Spends(3)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	mu := float64(p.Sensitivity) * math.Sqrt(5/float64(p.Variance))
	if want := privacy.GaussianEpsilon(mu, p.Delta); got.Epsilon < want || got.Epsilon > want*1.00001 {
		t.Errorf("epsilon %v of five releases, want %v", got.Epsilon, want)
	}
	if before, _, err := p.Spends(0); err != nil || before.Epsilon >= got.Epsilon || before.Epsilon <= 0 {
		t.Errorf("before: %v, %v", before, err)
	}
	p.Epsilon = got.Epsilon * 0.999
	if err := p.CheckPrivacy(); ClassOf(err) != ClassInput {
		t.Errorf("a budget below what the chain spends: %v", err)
	}
	// More colluders than the predecessor tolerated have known more of its noise.
	p, _ = successor()
	p.MinParties, p.After.Plan.MinParties = 3, 3
	if got, _, err = p.Spends(3); err != nil {
		t.Fatal(err)
	}
	p.Colluders = 1
	more, _, err := p.Spends(3)
	if err != nil || more.Epsilon <= got.Epsilon {
		t.Errorf("with a colluder: %v after %v, %v", more.Epsilon, got.Epsilon, err)
	}
	p.After.Plan.MinParties = 2
	if _, _, err := p.Spends(3); err == nil {
		t.Error("a claim although the predecessor's noise would have been known")
	}
}

func TestChainIsBounded(t *testing.T) {
	p := private(testPlan())
	for range maxChain + 1 {
		q := private(testPlan())
		q.After = &Predecessor{Plan: p, Round: 1, Attempts: 1}
		p = q
	}
	b, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unmarshalPlan(b); err == nil || !strings.Contains(err.Error(), "predecessors") {
		t.Error(err)
	}
	if b, err = p.After.Plan.Marshal(); err != nil {
		t.Fatal(err)
	}
	if _, err := unmarshalPlan(b); err != nil {
		t.Error(err)
	}
}

// TestChainCostsItsSize: to read a plan with a long chain of predecessors takes memory in proportion to its
// size, and to write it, too: each buffer is at least a quarter larger than the one before, so that all
// together are at most five times the last. A copy of each level would be 60 times as much.
func TestChainCostsItsSize(t *testing.T) {
	p := private(testPlan())
	p.Parameters = make([]byte, 1<<20)
	for range 60 {
		q := private(testPlan())
		q.After = &Predecessor{Plan: p, Round: 1, Attempts: 1}
		p = q
	}
	var before, written, read runtime.MemStats
	runtime.ReadMemStats(&before)
	b, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&written)
	if _, err := unmarshalPlan(b); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&read)
	size := uint64(len(b))
	if n := written.TotalAlloc - before.TotalAlloc; n > 8*size {
		t.Errorf("writing %d bytes took %d", size, n)
	}
	if n := read.TotalAlloc - written.TotalAlloc; n > 3*size {
		t.Errorf("reading %d bytes took %d", size, n)
	}
}

// TestOrigin: the model that a successor begins with is accepted only byte for byte.
func TestOrigin(t *testing.T) {
	p, o := successor()
	good := MarshalOrigin(o)
	if got, err := p.OpenOrigin(good); err != nil || !slices.Equal(got.Model, o.Model) || got.Key != o.Key {
		t.Fatal(got, err)
	}
	for i := range 8 * len(good) {
		b := slices.Clone(good)
		b[i/8] ^= 1 << (i % 8)
		if _, err := p.OpenOrigin(b); err == nil {
			t.Errorf("bit %d is not checked", i)
		}
	}
	for n := range len(good) {
		if _, err := p.OpenOrigin(good[:n]); err == nil {
			t.Errorf("%d of %d bytes are accepted", n, len(good))
		}
	}
	huge := append(append(good[:33:33], 0, 0, 0, 16, 0, 0, 0, 0), make([]byte, 1<<16+1)...) // 2^28 zeros
	if v, ok := ViewPackedInts(huge[33:]); !ok || v.Len() != maxDim {
		t.Fatal(v.Len(), ok)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := p.OpenOrigin(huge)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrMismatch) || n > 1<<20 {
		t.Errorf("%d bytes for another model of %d, which is refused: %v", n, len(huge), err)
	}
	if a, b := OriginLen(good), OriginLen(huge); a != len(o.Model) || b != maxDim {
		t.Errorf("models of %d and %d numbers", a, b)
	}
	for n := range 42 {
		if got := OriginLen(good[:n]); got != 0 {
			t.Errorf("a model of %d numbers in %d bytes", got, n)
		}
	}
	if _, err := testPlan().OpenOrigin(good); err == nil {
		t.Error("a plan without a predecessor accepts it")
	}
}
