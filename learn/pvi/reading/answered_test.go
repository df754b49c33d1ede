package reading

import (
	"math"
	"math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// shortened is a reading of rounds of linear regression whose sums are a share of what the state lacks of the
// precision 2n and the linear part 2n/10 of each weight, with noise of a standard deviation of 20.
func shortened(share, start float64, r *rand.Rand) *reading {
	const d, n, rounds, damping, noise = 10, 500, 40, 0.05, 20.0
	c := pvi.Config{Model: bayes.Linear, Family: gauss.MeanField, Features: d, NoiseSD: math.Sqrt(0.5), Clip: 1,
		PriorPrecision: 1}
	out := &reading{c: c, all: n}
	state := make([]float64, 2*d)
	for i := range d {
		state[d+i] = -start / 2
	}
	for range rounds {
		own, natural := make([]float64, 2*d), make([]float64, 2*d)
		for i := range state {
			best := 2 * n / 10.0
			if i >= d {
				best = -n
			}
			own[i] = share*(best-state[i]) + noise*r.NormFloat64()
			natural[i] = state[i] + own[i]
			state[i] += damping * own[i]
		}
		out.points = append(out.points, make([]float64, d))
		out.owns, out.naturals = append(out.owns, own), append(out.naturals, natural)
		out.dampings, out.variances = append(out.dampings, damping), append(out.variances, noise*noise)
		out.rounds, out.moved = append(out.rounds, len(out.moved)), append(out.moved, damping*noise)
	}
	return out
}

// TestClipsLeaveTheStart: where clips shorten sums the state stays near its start, and the records' factors
// are told apart from it. The share has a relative error below 1 %. Forty rounds of noise over a share of .2
// leave the mean of 10 scores a standard deviation of some 6, and that of precisions twice as much; 5 of them
// are allowed. Where updates are whole, and where the start is near, nothing is changed.
func TestClipsLeaveTheStart(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, tc := range []struct {
		share, start, want float64
	}{{0.2, 8000, 0.2}, {0.5, 8000, 0.5}, {1, 8000, 1}, {0.2, 1500, 1}} {
		s := shortened(tc.share, tc.start, r)
		if got := s.answered(); math.Abs(got/tc.want-1) > 0.02 {
			t.Errorf("share %v, start %v: answered is %v, want %v", tc.share, tc.start, got, tc.want)
		}
		if tc.start < 2000 {
			continue
		}
		d := s.settled()
		score, precision := 0.0, 0.0
		for i, h := range d.Scores {
			score += h / float64(len(d.Scores))
			precision += d.Precision[i] / float64(len(d.Scores))
		}
		if math.Abs(score-100) > 30 || math.Abs(precision-1000) > 60 {
			t.Errorf("share %v: mean score %.0f for 100, precision %.0f for 1000", tc.share, score, precision)
		}
	}
}

// TestNoiseOfShortSums: over a share the noise is that of 200 drawn sessions, whose standard deviation of a
// score is known to 2 % with 10 scores in each; a tenth is allowed.
func TestNoiseOfShortSums(t *testing.T) {
	const draws = 200
	r := rand.New(rand.NewPCG(4, 6))
	square, expected := 0.0, 0.0
	for range draws {
		d := shortened(0.2, 8000, r).settled()
		for i, h := range d.Scores {
			square += (h - 100) * (h - 100)
			expected += d.ScoreNoise[i]
		}
	}
	if ratio := math.Sqrt(square / expected); math.Abs(ratio-1) > 0.1 {
		t.Errorf("scores vary %.3f times as much as their noise", ratio)
	}
}
