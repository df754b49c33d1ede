package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"
)

// stepsProblem draws weights and R rounds of sums of 100 parties' steps near them. reach is the
// standard deviation of a party's own step in a coordinate.
func stepsProblem(r *rand.Rand, sd, reach float64) (Steps, []float64) {
	const d, rounds, parties, slope = 12, 8, 100, 0.7
	truth, shared := make([]float64, d), make([]float64, d)
	for i := range truth {
		truth[i] = r.NormFloat64()
		shared[i] = math.Sqrt(parties) * reach * r.NormFloat64()
	}
	t := Steps{Prior: 1, Reach: parties * d * reach * reach, Expected: 60, Most: parties}
	for range rounds {
		point, sum, slopes := make([]float64, d), make([]float64, d), make([]float64, d)
		for i, w := range truth {
			point[i] = w + 0.2*r.NormFloat64()
			sum[i] = parties*slope*(w-point[i]) + shared[i] + sd*r.NormFloat64()
			slopes[i] = parties*slope + 2*sd*r.NormFloat64()
		}
		t.Points, t.Sums, t.Slopes = append(t.Points, point), append(t.Sums, sum), append(t.Slopes, slopes)
		t.SumNoise = append(t.SumNoise, sd*sd)
		t.SlopeNoise = append(t.SlopeNoise, 4*sd*sd)
	}
	return t, truth
}

// TestStepsCover: 90 % intervals cover as often as they claim, whether the noise or the parties'
// own spread decides. The draws are fixed.
func TestStepsCover(t *testing.T) {
	for _, tc := range []struct {
		name      string
		sd, reach float64
	}{{"noise decides", 20, 0.1}, {"parties decide", 1, 0.5}, {"both", 8, 0.3}} {
		t.Run(tc.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			in, all := 0.0, 0.0
			for range 80 {
				s, truth := stepsProblem(r, tc.sd, tc.reach)
				m, err := s.Posterior()
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range truth {
					if math.Abs(m.Mean[i]-w) <= 1.6449*math.Sqrt(m.Variance[i]) {
						in++
					}
					all++
				}
			}
			if got := in / all; got < 0.86 || got > 0.95 {
				t.Errorf("90 %% intervals cover %.3f", got)
			}
		})
	}
}

// TestStepsOfNoise: sums that cannot be distinguished from noise leave about the prior.
func TestStepsOfNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		s, _ := stepsProblem(r, 4000, 0.1)
		for _, p := range s.Points {
			clear(p)
		}
		m, err := s.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range m.Variance {
			if math.Abs(m.Mean[i]) > 0.05 || v < 0.98 || v > 1 {
				t.Fatalf("weight %d: %v, variance %v", i, m.Mean[i], v)
			}
		}
	}
	if _, err := (Steps{}).Posterior(); err == nil {
		t.Error("a posterior of no rounds")
	}
}
