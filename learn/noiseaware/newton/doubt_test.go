package newton

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/logistic"
)

// TestSureOfColumns: of six slopes and an intercept, of columns that lie two standard deviations from where
// they are taken to and are a third to three times as long, means that are right on average for the weights
// lose more than .01 of a log-likelihood to even odds in a quarter of 100 sessions. Of what is sure by draws
// of the columns too few do, 1.5 standard deviations are one session of fifteen, and it gains on average. Of
// columns that lie where they are taken to most is kept.
func TestSureOfColumns(t *testing.T) {
	const d, sessions = 7, 100
	r := rand.New(rand.NewPCG(31, 32))
	for _, c := range []struct {
		doubt       Doubt
		noise       float64 // on each weight, which has the standard deviation 1
		lose        int     // sessions, at least, that lose by the whole mean
		share, gain float64 // at least
	}{{Doubt{Mean: 2, LogSD: 0.65}, 1, 20, 0, 0.01}, {Doubt{}, 0.5, 0, 0.8, 0.15}} {
		doubts := slices.Repeat([]Doubt{c.doubt}, d)
		var before, after int
		gained, share := 0.0, 0.0
		for range sessions {
			s := placed(r, doubts, c.noise)
			if s.gain(r) < -0.01 {
				before++
			}
			length := floats.Norm(s.mean.Mean, 2)
			shortenPlaced(s.mean, s.draws, doubts)
			share += floats.Norm(s.mean.Mean, 2) / length / sessions
			gain := s.gain(r)
			if gain < -0.01 {
				after++
			}
			gained += gain / sessions
		}
		t.Logf("%d sessions lose, %d of what is kept; share %.2f, gain %.4f", before, after, share, gained)
		if before < c.lose || after > sessions/15 || gained < c.gain || share < c.share {
			t.Errorf("%+v: %d sessions lose, %d of what is kept; share %.2f, gain %.4f", c, before, after, share,
				gained)
		}
	}
}

// session has weights, where columns lie, and a posterior of the weights.
type session struct {
	truth, centre, sd []float64
	mean              *gauss.Moments
	draws             [][]float64
}

// placed draws a session whose mean logit isn't far from 0.
func placed(r *rand.Rand, doubts []Doubt, noise float64) session {
	d := len(doubts)
	for {
		s := session{mean: &gauss.Moments{}}
		logit := 0.0
		for _, doubt := range doubts {
			w, mean, sd := r.NormFloat64(), doubt.Mean*r.NormFloat64(), math.Exp(doubt.LogSD*r.NormFloat64())
			if len(s.truth) == d-1 {
				mean, sd = 1, 0
			}
			s.truth, s.centre, s.sd = append(s.truth, w), append(s.centre, mean), append(s.sd, sd)
			logit += w * mean
			s.mean.Mean = append(s.mean.Mean, (w+noise*r.NormFloat64())/(1+noise*noise))
			s.mean.Variance = append(s.mean.Variance, noise*noise/(1+noise*noise))
		}
		if r.Float64() > math.Exp(-logit*logit/2) {
			continue
		}
		for range 1000 {
			w := slices.Clone(s.mean.Mean)
			for i, v := range s.mean.Variance {
				w[i] += math.Sqrt(v) * r.NormFloat64()
			}
			s.draws = append(s.draws, w)
		}
		return s
	}
}

// gain is what predictions by the mean gain over even odds.
func (s session) gain(r *rand.Rand) float64 {
	const n = 2000
	out := 0.0
	for range n {
		truth, mean, spread := 0.0, 0.0, 0.0
		for i, w := range s.truth {
			x := s.centre[i] + s.sd[i]*r.NormFloat64()
			truth += w * x
			mean += s.mean.Mean[i] * x
			spread += s.mean.Variance[i] * x * x
		}
		p, l := 1/(1+math.Exp(-truth)), mean/math.Sqrt(1+spread/logistic.Probit)
		out += (p*l - math.Log1p(math.Exp(l)) + math.Ln2) / n
	}
	return out
}
