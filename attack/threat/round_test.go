package threat

import (
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/crypto/noise"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
)

// round is one secure sum by real roles, in memory: the members' machines, keys,
// channels and shares are those of any deployment. Its coordinates are
// independent runs of the one-dimensional mechanism, because each has fresh noise
// and a plain sum doesn't mix them.
type round struct {
	parties, computes, colluders, runs int
	sigma                              float64 // of the noise that the plan promises to hide, grid units
	seed                               uint64  // another one, other noise
}

// ran is what is left of a round.
type ran struct {
	round
	plan *protocol.Plan
	sum  []int64 // as the aggregator published it
}

// values is what each party adds in every coordinate but the victim, who is party
// 0. They are the adversary's to choose.
func (r round) value(party, victim int) int64 {
	if party == 0 {
		return int64(victim)
	}
	return int64(37*party - 100)
}

func (r round) run(t *testing.T, victim int) ran {
	t.Helper()
	list, byKey := r.members(t)
	plan, err := terms.Terms{Name: "audit", Members: list, Created: time.Now(), Lifetime: time.Hour,
		Suite:  channel.SuiteX25519,
		Rounds: 1, Colluders: r.colluders, Deadline: time.Minute}.Sum(terms.SumTerms{Dim: r.runs,
		PerParty: 1 << 40, Sigma: r.sigma})
	if err != nil {
		t.Fatal(err)
	}
	if int(plan.MinParties) != r.parties || int(plan.HiddenParts()) != r.parties-r.colluders-1 {
		t.Fatalf("N_min = %d and %d hidden parts aren't the ones meant", plan.MinParties, plan.HiddenParts())
	}
	s, sum := protocol.Bind(plan), app.Sum{Dim: r.runs}
	keys := make([]*identity.PrivateKey, len(plan.Members))
	for i, m := range plan.Members {
		keys[i] = byKey[m.Name]
	}
	l := &run.Local{Session: s, Keys: keys, Resend: 30 * time.Second, GiveUp: 5 * time.Minute, Model: sum,
		Rand:     func(i uint32) io.Reader { return r.reader(int(i)) },
		App:      func(uint32) protocol.Application { return sum },
		Proposer: func(i uint32) protocol.Proposer { return app.Fixed(constant(r.runs, r.value(int(i), victim))) },
	}
	report, err := l.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ran{r, plan, report.Model}
}

func (r round) members(t *testing.T) (list []protocol.Member, keys map[string]*identity.PrivateKey) {
	t.Helper()
	keys = map[string]*identity.PrivateKey{}
	add := func(name string, role protocol.Role) {
		k, err := identity.Generate(mathrand.NewChaCha8([32]byte{1, byte(len(keys))}))
		if err != nil {
			t.Fatal(err)
		}
		keys[name], list = k, append(list, terms.NewMember(name, role, k.Public()))
	}
	for i := range r.parties {
		add(fmt.Sprintf("party-%02d", i), protocol.RoleParty)
	}
	for i := range r.computes {
		add(fmt.Sprintf("compute-%02d", i), protocol.RoleCompute)
	}
	add("aggregator", protocol.RoleAggregator)
	return list, keys
}

func constant(n int, x int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// seen is the statistic that a coalition of the aggregator, all compute nodes but
// one and the given parties computes from a round: the published sum minus every
// term and every noise that it knows. The terms of honest parties count as known,
// as in the definition of differential privacy; their noise doesn't. (The nodes'
// shares are uniform and give no more information, which package run tests.)
func (r ran) seen(t *testing.T, coalition ...int) []float64 {
	t.Helper()
	rest := append([]int64(nil), r.sum...)
	for _, i := range coalition {
		for j, z := range r.noiseOf(t, i) {
			rest[j] -= z
		}
	}
	out := make([]float64, len(rest))
	for j := range out {
		for i := 1; i < r.parties; i++ {
			rest[j] -= r.value(i, 0)
		}
		out[j] = float64(rest[j])
	}
	return out
}

// noiseOf draws a member's noise again, from the bytes that it was drawn from.
func (r ran) noiseOf(t *testing.T, member int) []int64 {
	t.Helper()
	g, err := noise.NewGaussian(r.plan.Variance)
	if err != nil {
		t.Fatal(err)
	}
	z, reads := make([]int64, r.runs), &counted{Reader: r.reader(member)}
	seed, err := noise.NewSeed(reads)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.FillSeeded(z, seed); err != nil {
		t.Fatal(err)
	}
	if reads.n != 1 {
		t.Fatalf("noise was drawn from %d reads: the members' readers, which repeat themselves, don't do", reads.n)
	}
	return z
}

type counted struct {
	io.Reader
	n int
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	c.n++
	return c.Reader.Read(p)
}

// again is a member's randomness: every read starts with the same bytes. The noise
// is expanded from one seed, read once; the coefficients for verifying signatures
// are read when messages arrive. So the noise doesn't depend on the order of
// messages, and the test is deterministic.
type again [32]byte

func (r round) reader(member int) again {
	return again{2, byte(member), byte(r.seed), byte(r.seed >> 8)}
}

// Read implements io.Reader.
func (a again) Read(p []byte) (int, error) { return mathrand.NewChaCha8(a).Read(p) }
