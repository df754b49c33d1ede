package newton

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// stepsWorld is 40 parties' steps over 12 rounds of 6 weights.
type stepsWorld struct {
	noise float64 // standard deviation of the noise on a sum, in bounds
	own   float64 // standard deviation of a party's own optimum in a coordinate
	bound float64
	near  float64 // standard deviation of the points around the truth; 0: points are 0
	wider int     // factors of 2 on the first rounds' bounds, of which every third round loses one
}

func (w stepsWorld) draw(r *rand.Rand) (Steps, []float64) {
	const d, rounds, parties, slope = 6, 12, 40, 0.7
	normal := func(n int, mean []float64, sd float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = sd * r.NormFloat64()
		}
		if mean != nil {
			floats.Add(v, mean)
		}
		return v
	}
	truth := normal(d, nil, 1)
	var optima [parties][]float64
	for k := range optima {
		optima[k] = normal(d, truth, w.own)
	}
	t := Steps{Prior: 1, Expected: 0.75, Kept: SlopeKept(w.bound / (slope * w.own * math.Sqrt(d)))}
	for s := range rounds {
		bound := math.Ldexp(w.bound, max(0, w.wider-s/3))
		point := make([]float64, d)
		if w.near > 0 {
			point = normal(d, truth, w.near)
		}
		sum, slopes := normal(d, nil, w.noise*bound), normal(d, nil, 2*w.noise)
		for _, o := range optima {
			step := make([]float64, d)
			floats.SubTo(step, o, point)
			floats.Scale(slope, step)
			length := floats.Norm(step, 2)
			short := min(1, bound/length)
			floats.AddScaled(sum, short, step)
			for i, v := range step {
				slopes[i] += short * slope
				if short < 1 {
					slopes[i] -= short * slope * v * v / (length * length)
				}
			}
		}
		t.Points, t.Sums, t.Slopes = append(t.Points, point), append(t.Sums, sum), append(t.Slopes, slopes)
		t.SumNoise = append(t.SumNoise, w.noise*w.noise*bound*bound)
		t.SlopeNoise = append(t.SlopeNoise, 4*w.noise*w.noise)
		t.Bounds = append(t.Bounds, bound)
		t.Parties = append(t.Parties, parties)
	}
	return t, truth
}

// TestStepsCover: 90 % intervals cover, whether the noise or the parties' own optima decide, and where
// the points are so far that all steps are cut. The draws are fixed.
func TestStepsCover(t *testing.T) {
	for _, tc := range []struct {
		name  string
		world stepsWorld
		most  float64 // mean standard deviation
	}{
		{"noise decides", stepsWorld{20, 0.1, 0.5, 0.2, 0}, 0.5},
		{"parties decide", stepsWorld{0.5, 0.5, 1.2, 0.2, 0}, 0.2},
		{"bounds bind", stepsWorld{3, 0.1, 0.5, 0, 0}, 0.5},
		{"bounds hide", stepsWorld{40, 0.1, 0.1, 0, 0}, 1},
		{"bounds are tight", stepsWorld{10, 1, 0.7, 0.2, 0}, 0.5},
		{"first bounds are wide", stepsWorld{10, 1, 0.7, 0.2, 3}, 0.6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			in, all, sd := 0.0, 0.0, 0.0
			for range 5 {
				s, truth := tc.world.draw(r)
				_, single, err := s.Posterior()
				if err != nil {
					t.Fatal(err)
				}
				for i, w := range truth {
					if math.Abs(single.Mean[i]-w) <= 1.6449*math.Sqrt(single.Variance[i]) {
						in++
					}
					sd += math.Sqrt(single.Variance[i])
					all++
				}
			}
			t.Logf("cover %.3f, sd %.3f", in/all, sd/all)
			if got := in / all; got < 0.8 || sd/all > tc.most {
				t.Errorf("90 %% intervals cover %.3f, mean standard deviation %.3f", got, sd/all)
			}
		})
	}
}

// TestStepsOfNoise: sums that cannot be distinguished from noise leave the prior to single weights, and
// predictions are those of weights of an expected scale, the largest if shorter ones would lose to the prior.
func TestStepsOfNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	least := map[float64]float64{0.3: 0.03, 0.9: 0.75}
	for _, scale := range []float64{0.3, 0.3, 0.9, 0.9} {
		s, _ := stepsWorld{4000, 0.1, 0.5, 0, 0}.draw(r)
		s.Scale = scale
		m, single, err := s.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range m.Variance {
			own := single.Variance[i]
			if math.Abs(m.Mean[i]) > 0.05 || v < least[scale] || v > scale*scale+1e-9 || own < 0.85 || own > 1 {
				t.Fatalf("weight %d: %v, variances %v and %v", i, m.Mean[i], v, own)
			}
		}
	}
	if _, _, err := (Steps{}).Posterior(); err == nil {
		t.Error("a posterior of no rounds")
	}
}

// TestSlopeKept: what a bound keeps of the slope of normal vectors is within .11 of the mean of 20,000 draws,
// the error of which is .004, and within .08 for short bounds. Of many coordinates the draws are all of one
// length, as parties' errors are not.
func TestSlopeKept(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(11, 12))
	for _, d := range []int{2, 6, 20, 60} {
		for _, bound := range []float64{0.2, 0.6, 0.9, 1.2, 2} {
			mean := 0.0
			for range n {
				square, first := 0.0, 0.0
				for i := range d {
					x := r.NormFloat64() / math.Sqrt(float64(d))
					square += x * x
					if i == 0 {
						first = x
					}
				}
				kept := 1.0
				if length := math.Sqrt(square); length > bound {
					kept = bound / length * (1 - first*first/square)
				}
				mean += kept / n
			}
			allowed := 0.11
			if bound <= 0.6 {
				allowed = 0.08
			}
			if got := SlopeKept(bound); math.Abs(got-mean) > allowed {
				t.Errorf("%d coordinates, bound %v: %.3f, draws %.3f", d, bound, got, mean)
			}
		}
	}
}

// TestWideBoundsKeepMore: a law that takes what the last bound keeps for what wide ones do finds weights
// that are farther than they are, since the first sums are longer than it expects.
func TestWideBoundsKeepMore(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	away, alike := 0.0, 0.0
	for range 6 {
		s, truth := stepsWorld{1, 1, 0.7, 0.4, 3}.draw(r)
		_, single, err := s.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		away += math.Pow(floats.Distance(single.Mean, truth, 2), 2)
		alike += floats.Sum(single.Variance)
	}
	if away > 2*alike {
		t.Errorf("squared errors %.4f, variances %.4f", away, alike)
	}
}
