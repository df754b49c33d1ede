package rig

import (
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/evaluate"
	"choir/learn/gauss"
	"choir/learn/global"
	"choir/learn/mcmc"
	"choir/learn/pvi"
	"choir/learn/stats"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
)

// appCase is an application on a small learning problem.
type AppCase struct {
	App    app.Spec
	Noise  protocol.Placement // where its noise goes in a private plan
	Rounds int
	Parts  []bayes.Data
}

// schemaOf encodes a number of columns, the bias among them.
func SchemaOf(t testing.TB, features int, classes bool) json.RawMessage {
	t.Helper()
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: made up for a test",
		Target: dataset.Numeric("y", -8, 8), Missing: dataset.Refuse, Unseen: dataset.Refuse}
	if classes {
		schema.Target = dataset.Binary("y", "no", "yes")
	}
	for j := range features - 1 {
		schema.Columns = append(schema.Columns, dataset.Numeric(fmt.Sprintf("x%d", j), -1, 1))
	}
	raw, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return json.RawMessage(raw)
}

// appCases has every application, and DP-PVI with joint noise, with local noise on
// shards and with noisy steps.
func AppCases(t *testing.T) map[string]AppCase {
	classes, lines := randomParts(true), randomParts(false)
	thirds := []float64{0.25, 0.25, 0.5}
	virtual := pvi.Config{
		Model: bayes.Logistic, Family: gauss.MeanField,
		Strategy: pvi.Virtual{Shards: 5, Fit: pvi.Fit{Steps: 5, LearningRate: 0.05}},
		Features: 4, PriorPrecision: 1, PrecisionFloor: 1, Clip: 0.1, FracBits: 24,
		DampingBits: 16, Damping: 0.3, DampingDecay: 0.1, Beta: 0.5,
	}
	perturbation := virtual
	perturbation.Beta, perturbation.Strategy = 0, pvi.Perturbation{Fit: virtual.Strategy.(pvi.Virtual).Fit}
	optimisation := perturbation
	optimisation.Clip, optimisation.FracBits = 2, 19
	optimisation.Strategy = pvi.Optimisation{Steps: 5, LearningRate: 0.05, Sampling: pvi.SamplingPoisson,
		SampleRate: 0.5}
	learn := func(c pvi.Config) app.Spec {
		return &app.PVI{Version: 1, PVI: c, Weights: thirds, Schema: SchemaOf(t, 4, true)}
	}
	centred, scored := learn(virtual), learn(virtual)
	centred.(*app.PVI).CentreRounds, scored.(*app.PVI).CentreRounds = 2, 1
	noisy, lined := learn(optimisation), residual(t, virtual)
	noisy.(*app.PVI).CentreRounds, lined.(*app.PVI).CentreRounds = 2, 2
	scored.(*app.PVI).Evaluation = &evaluate.Config{Every: 2, HeldOut: 0.3, Bins: 3, Low: -3, Records: 100,
		Seed: 7}
	g := global.Config{Model: bayes.Logistic, Features: 4, PriorPrecision: 1, InitialSD: 0.1, Clip: 3,
		FracBits: 22, SampleRate: 0.3, Records: 150, MaxRecords: 1000, Optimiser: global.Adam,
		LearningRate: 0.05, Averaging: 3}
	s := stats.Config{Features: 4, PriorPrecision: 1, Bound: 4, TargetBound: 16, MomentRounds: 1, Radius: 3,
		FracBits: 8, Records: 150, MaxRecords: 1000}
	globally := func(measuring int) app.Spec {
		return &app.GlobalVI{Version: 1, Global: g, Schema: SchemaOf(t, 4, true), CentreRounds: measuring}
	}
	return map[string]AppCase{
		"centred noisy":  {noisy, protocol.NoiseLocal, 5, classes},
		"centred lines":  {lined, protocol.NoiseParty, 6, lines},
		"mcmc":           {samplerCase(t, 0), protocol.NoiseParty, 8, classes},
		"centred mcmc":   {samplerCase(t, 1), protocol.NoiseParty, 9, classes},
		"virtual":        {learn(virtual), protocol.NoiseParty, 3, classes},
		"centred":        {centred, protocol.NoiseParty, 4, classes},
		"evaluated":      {scored, protocol.NoiseParty, 5, classes},
		"residual":       {residual(t, virtual), protocol.NoiseParty, 4, lines},
		"perturbation":   {learn(perturbation), protocol.NoiseLocal, 3, classes},
		"optimisation":   {learn(optimisation), protocol.NoiseLocal, 3, classes},
		"global":         {globally(0), protocol.NoiseParty, 6, classes},
		"centred global": {globally(2), protocol.NoiseParty, 6, classes},
		"statistics": {&app.Statistics{Version: 1, Statistics: s, Schema: SchemaOf(t, 4, false)},
			protocol.NoiseParty, 3, lines},
	}
}

// residual is linear regression of a record a shard whose fourth round sums squares of residuals.
func residual(t *testing.T, c pvi.Config) app.Spec {
	c.Model, c.NoiseSD, c.Beta, c.Clip = bayes.Linear, 1, 0, 4
	c.Strategy = pvi.Virtual{Shards: 100, ShardRows: 1}
	c.ResidualFrom = 4
	return &app.PVI{Version: 1, PVI: c, Weights: []float64{0.25, 0.25, 0.5}, Schema: SchemaOf(t, 4, false)}
}

// Plan is the case's Plan; the caller may change the terms.
func (c AppCase) Plan(t testing.TB, noise protocol.Placement, adjust func(*terms.Terms)) *run.Local {
	t.Helper()
	list, keys := Members(t, len(c.Parts), 3)
	ts := Terms(list)
	ts.Rounds, ts.Noise = c.Rounds, noise
	if noise != protocol.NoiseNone {
		ts.Epsilon, ts.Delta = 2, 1e-5
	}
	adjust(&ts)
	p, err := ts.Plan(c.App)
	if err != nil {
		t.Fatal(err)
	}
	l := Local(t, p, keys)
	if l.Model, err = app.NewModel(p); err != nil {
		t.Fatal(err)
	}
	ls := c.learners(t, p)
	l.App = func(i uint32) protocol.Application { return ls[i] }
	l.Proposer = func(i uint32) protocol.Proposer { return ls[i] }
	return l
}

// learners are the parties' sides, with seeded samples and local noise.
func (c AppCase) learners(t testing.TB, p *protocol.Plan) []app.Party {
	t.Helper()
	ls := make([]app.Party, len(c.Parts))
	for i, part := range c.Parts {
		var err error
		if ls[i], err = c.App.Join(app.PartyConfig{Plan: p, Party: uint32(i), Data: part,
			Rand: mathrand.NewChaCha8([32]byte{7, byte(i)})}); err != nil {
			t.Fatal(err)
		}
	}
	return ls
}

// Plainly is the same learning with the sum in the clear.
func (c AppCase) Plainly(t *testing.T, p *protocol.Plan) []int64 {
	t.Helper()
	ls, states := c.learners(t, p), make([][]byte, len(c.Parts))
	for i, l := range ls {
		states[i] = l.InitialState()
	}
	model := c.App.Model(p).Initial()
	for round := uint32(1); round <= p.Rounds; round++ {
		sum := make([]int64, p.Dim)
		if p.Mixes() {
			sum = nil
		}
		for i, l := range ls {
			update, memo, err := l.Propose(t.Context(), protocol.Work{Round: round, Attempt: 1, Model: model,
				State: states[i]})
			if err != nil {
				t.Fatal(err)
			}
			if p.Mixes() {
				sum = append(sum, update...)
				update = nil
			}
			for j, v := range update {
				sum[j] += v
			}
			if states[i], err = l.Settle(round, states[i], memo); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if model, err = c.App.Model(p).Fold(round, model, sum); err != nil {
			t.Fatal(err)
		}
	}
	return model
}

// samplerCase walks for eight rounds after those that measure centres.
func samplerCase(t *testing.T, measuring int) app.Spec {
	schema, err := dataset.ParseSchema(SchemaOf(t, 4, true))
	if err != nil {
		t.Fatal(err)
	}
	m := terms.DefaultMCMC(mcmc.Penalty, schema, 150, 8, 1)
	m.MaxRecords, m.Keep, m.Chains = 1000, 3, 3
	return &app.MCMC{Version: 1, MCMC: m, Schema: SchemaOf(t, 4, true), CentreRounds: measuring}
}
