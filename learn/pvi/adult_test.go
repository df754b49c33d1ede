//go:build !race

package pvi

import (
	"math"
	"testing"

	"choir/lab/uci"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/privacy"
)

// TestAdultOptimisation: DP optimisation on UCI Adult, half to train and half to test, ten
// equal parties, replace-one (1, 1e-5) at each of them, reaches its known scores. Seeds are
// fixed, so this is a computation without chance. Study paper4-adult has five seeds; one is
// enough to detect an error.
//
// Not under the race detector: nothing here runs concurrently.
func TestAdultOptimisation(t *testing.T) {
	const rounds = 20
	parts, test := adultHalves(t)
	c := adultConfig()
	c.Clip, c.FracBits = 0.1, 24
	c.Beta = 0
	c.Damping, c.DampingDecay = 0.5, 0.1
	c.PrecisionFloor, c.StartPrecision = 100, 300
	c.Strategy = Optimisation{Optimiser: Natural, SDUnit: 20, Steps: 5, LearningRate: 0.1,
		Sampling: SamplingPoisson, SampleRate: 0.1}
	variance, spent := adultNoise(t, c, rounds)
	var ls []*Learner
	for i, part := range parts {
		ls = append(ls, noised(t, learner(t, c, part, 0.1), variance, byte(i)))
	}
	post, err := c.Posterior(run(t, c, ls, nil, rounds).Final())
	if err != nil {
		t.Fatal(err)
	}
	s, err := post.Evaluate(test)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("accuracy %.4f, log-likelihood %.4f, epsilon %.4f", s.Accuracy, s.LogLikelihood, spent)
	if s.Accuracy < 0.844 || s.LogLikelihood < -0.338 {
		t.Errorf("accuracy %.4f, log-likelihood %.4f; want .844 and -.338 or better", s.Accuracy,
			s.LogLikelihood)
	}
}

// adultHalves returns half of Adult in ten equal parts, and the other half.
func adultHalves(t *testing.T) (parts []bayes.Data, test bayes.Data) {
	t.Helper()
	records, err := uci.Adult("")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := uci.AdultPaperSchema(records)
	if err != nil {
		t.Fatal(err)
	}
	table, err := records.Encode(schema)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := dataset.Partition(table.Rows(), 1, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	pick := func(from *dataset.Table, rows []int) *dataset.Table {
		part, err := from.Select(rows)
		if err != nil {
			t.Fatal(err)
		}
		return part
	}
	train, rest := pick(table, cut[0]), pick(table, cut[1])
	clients, err := dataset.ClientSplit{Clients: 10, Seed: 1}.Split(train.Y, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range clients {
		part := pick(train, rows)
		parts = append(parts, bayes.Data{X: part.X, Y: part.Y})
	}
	return parts, bayes.Data{X: rest.X, Y: rest.Y}
}

// adultNoise returns the variance of a party's noise for (1, 1e-5), and the epsilon that
// the accountant computes for it.
func adultNoise(t *testing.T, c Config, rounds int) (variance uint64, epsilon float64) {
	t.Helper()
	m, err := c.Mechanism()
	if err != nil {
		t.Fatal(err)
	}
	const sigma = 7.465 // in clips: epsilon 1 at 1e-5
	release := privacy.SampledRelease{
		Release:  privacy.Release{Sensitivity: m.Sensitivity, Parts: 1, Dim: uint32(m.Dim)},
		Sampling: privacy.SamplingPoisson, Rate: m.SampleRate, Count: rounds * m.Steps,
	}
	release.PartVariance = uint64(math.Pow(sigma*float64(m.Clip), 2))
	spent, err := privacy.Spent([]privacy.SampledRelease{release}, privacy.ReplaceOne, 1e-5,
		privacy.PlanPrecision())
	if err != nil || spent.Epsilon > 1 || spent.Epsilon < 0.995 {
		t.Fatalf("%+v, %v", spent, err)
	}
	return release.PartVariance, spent.Epsilon
}
