package app_test

import (
	"math"
	mathrand "math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/global"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// BenchmarkGlobalRounds is a private session of global inference in memory: 10 parties
// with 2442 records of 109 columns each, 3 nodes, a sum of 218 numbers a round. An
// operation is a round of a session of 100, the joining of its members included.
func BenchmarkGlobalRounds(b *testing.B) {
	const parties, records, features, rounds = 10, 2442, 109, 100
	rng := mathrand.New(mathrand.NewPCG(1, 1))
	c := rig.AppCase{Noise: protocol.NoiseParty, Rounds: rounds, Parts: make([]bayes.Data, parties)}
	for i := range c.Parts {
		d := &c.Parts[i]
		for range records {
			for j := range features {
				x := 1.0
				if j < features-1 {
					x = rng.NormFloat64() / 4
				}
				d.X = append(d.X, x)
			}
			d.Y = append(d.Y, math.Round(rng.Float64()))
		}
	}
	c.App = &app.GlobalVI{Version: 1, Global: global.Config{Model: bayes.Logistic, Features: features,
		PriorPrecision: 1, InitialSD: 0.1, Clip: 3, FracBits: 22, SampleRate: 0.02, Records: parties * records,
		MaxRecords: 1 << 20, Optimiser: global.Adam, LearningRate: 0.015, Averaging: 3},
		Schema: rig.SchemaOf(b, features, true)}
	done := 0
	b.ReportAllocs()
	for b.Loop() {
		if done%rounds == 0 {
			b.StopTimer()
			l := c.Plan(b, c.Noise, func(*terms.Terms) {})
			b.StartTimer()
			if _, err := l.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		done++
	}
}
