package paper2

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"choir/lab/bed"
	"choir/lab/internal/twister"
	"choir/lab/study"
	"choir/learn/mcmc"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
)

// TestAdultSessionIsTheChain: draws of study mcmc-adult in sessions over shares, nodes and a transport. Every
// sum is that of the parties' answers in the clear plus noise of the plan's variance, by chi-squared, and
// every state is bit for bit what the chain in the clear makes of the sums before. A false alarm has a
// probability below 10^-9.
func TestAdultSessionIsTheChain(t *testing.T) {
	d, _, _, err := seven("")
	if err != nil {
		t.Fatal(err)
	}
	rows := len(d.Y)
	if testing.Short() {
		rows = 1000
	}
	d.X, d.Y = d.X[:7*rows], d.Y[:rows]
	mode, cov, err := laplace(d)
	if err != nil {
		t.Fatal(err)
	}
	for i, transport := range []study.Transport{study.Memory, study.NATS} {
		_, labels, err := labelled(d, mode, cov, twister.New(uint32(i+1)))
		if err != nil {
			t.Fatal(err)
		}
		schema, err := sevenSchema()
		if err != nil {
			t.Fatal(err)
		}
		canonical, err := schema.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		cfg := terms.DefaultMCMC(mcmc.Trace, schema, int64(rows), 60, 1)
		cfg.Radius = rowNorm
		a := &app.MCMC{Version: 1, MCMC: cfg, Schema: json.RawMessage(canonical)}
		parts := shared(labels, adultParties)
		run := bed.Run{Name: "session", Seed: uint64(i), Rounds: 60, Epsilon: 1, Delta: 1e-5, App: a, Parts: parts,
			Transport: transport, Dir: t.TempDir()}
		out, err := run.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var sides []app.Party
		for j, p := range parts {
			side, err := a.Join(app.PartyConfig{Plan: out.Plan, Party: uint32(j), Data: p})
			if err != nil {
				t.Fatal(err)
			}
			sides = append(sides, side)
		}
		model := a.Model(out.Plan)
		state, square, count := model.Initial(), 0.0, 0.0
		for r, seen := range out.Trace {
			if !slices.Equal(state, seen.Before) {
				t.Fatalf("%s: the state before round %d is not the chain's", transport, r+1)
			}
			noise := slices.Clone(seen.Sum)
			for _, side := range sides {
				work := protocol.Work{Round: seen.Round, Attempt: 1, Model: state}
				answer, _, err := side.Propose(t.Context(), work)
				if err != nil {
					t.Fatal(err)
				}
				for j, v := range answer {
					noise[j] -= v
				}
			}
			for _, v := range noise {
				square += float64(v) * float64(v) / app.SumVariance(out.Plan)
				count++
			}
			if state, err = model.Fold(seen.Round, state, seen.Sum); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(state, out.State) || len(out.Trace) != 60 {
			t.Errorf("%s: the last of %d states is not the chain's", transport, len(out.Trace))
		}
		if z := (square - count) / math.Sqrt(2*count); math.Abs(z) > 6.5 {
			t.Errorf("%s: the noise's mean square is %v of the plan's", transport, square/count)
		}
	}
}
