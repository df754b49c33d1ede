package newton

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// turned is a world of parties' steps without bounds, whose slopes are those of random directions.
type turned struct {
	directions *mat.Dense // columns
	slopes     []float64
	parties    float64
	moved      float64
	sd         float64 // of a round's noise
	others     float64 // of a move by others before each round; 0: none
}

func newTurned(r *rand.Rand, d int, odds, spread float64) turned {
	g := mat.NewDense(d, d, nil)
	for i := range d {
		for j := range d {
			g.Set(i, j, r.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(g)
	w := turned{directions: new(mat.Dense), parties: 50, moved: 0.01, sd: 6}
	qr.QTo(w.directions)
	for range d {
		w.slopes = append(w.slopes, 1/(1+math.Exp(-odds-spread*r.NormFloat64())))
	}
	return w
}

// run returns the sums of rounds for weights that are N(0, 1), which it returns too.
func (w turned) run(r *rand.Rand, rounds int) (t Steps, weights []float64) {
	d := len(w.slopes)
	normal := func(sd float64) []float64 {
		v := make([]float64, d)
		for i := range v {
			v[i] = sd * r.NormFloat64()
		}
		return v
	}
	weights = normal(1)
	at := make([]float64, d)
	t = Steps{Prior: 1, Expected: 0.5, Kept: 0.98}
	for range rounds {
		floats.Add(at, normal(w.others))
		way := make([]float64, d)
		floats.SubTo(way, weights, at)
		var parts, sum mat.VecDense
		parts.MulVec(w.directions.T(), mat.NewVecDense(d, way))
		for i, a := range w.slopes {
			parts.SetVec(i, w.parties*a*parts.AtVec(i))
		}
		sum.MulVec(w.directions, &parts)
		noisy, slopes := normal(w.sd), make([]float64, d)
		floats.Add(noisy, sum.RawVector().Data)
		for i := range slopes {
			row := w.directions.RawRowView(i)
			for j, a := range w.slopes {
				slopes[i] += w.parties * a * row[j] * row[j]
			}
		}
		t.Points = append(t.Points, append([]float64(nil), at...))
		t.Sums, t.Slopes = append(t.Sums, noisy), append(t.Slopes, slopes)
		t.SumNoise, t.SlopeNoise = append(t.SumNoise, w.sd*w.sd), append(t.SlopeNoise, 4)
		t.Bounds, t.Parties = append(t.Bounds, 0.01), append(t.Parties, w.parties)
		floats.AddScaled(at, w.moved, noisy)
	}
	return t, weights
}

// TestSumsOfDirections: means of weights given the sums of random directions err as the law says, and across
// directions by what their columns count. Most of the errors are in the few directions of least slope, ten of
// 40 or so: in 600 runs a mean square has a relative standard error of about root(2/6000) = .02, and the
// bound is five of them.
func TestSumsOfDirections(t *testing.T) {
	const odds, spread, d = 0.5, 1.0, 40
	for name, others := range map[string]float64{"sums move the point": 0, "others move it too": 0.3} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(21, 22))
			var errs, expected, along, counted float64
			for range 600 {
				w := newTurned(r, d, odds, spread)
				w.others = others
				s, weights := w.run(r, 6)
				l := newSeries(s, true)
				c := common{odds: odds, spread: spread, scale: 1, own: 1e-9}
				for range s.Points {
					c.rate = append(c.rate, w.parties)
				}
				v := l.respond(c, 1, 0)
				g := l.groups[0]
				seen := l.left(g, v)
				off := append([]float64(nil), weights...)
				for j, m := range g.members {
					off[m] -= floats.Dot(v.filter, mat.Col(nil, j, seen))
				}
				off[d-1] = 0
				errs += floats.Dot(off, off)
				expected += v.variance * (d - 1)
				var parts mat.VecDense
				parts.MulVec(w.directions.T(), mat.NewVecDense(d, off))
				columns := 0.0
				for _, a := range w.slopes {
					columns += a / (1 - a) / d
				}
				for i, a := range w.slopes {
					along += a / (1 - a) / columns * parts.AtVec(i) * parts.AtVec(i)
				}
				counted += v.predicted * (d - 1)
			}
			if got := errs / expected; math.Abs(got-1) > 0.1 {
				t.Errorf("squared errors are %.3f of the law's", got)
			}
			if got := along / counted; math.Abs(got-1) > 0.1 {
				t.Errorf("by columns squared errors are %.3f of the law's", got)
			}
		})
	}
}

// TestSumsWithoutNoise: sums of more rounds than directions have no law without noise, and the posterior is
// that of each weight by itself.
func TestSumsWithoutNoise(t *testing.T) {
	s, _ := stepsWorld{1, 0.1, 0.5, 0, 0}.draw(rand.New(rand.NewPCG(25, 26)))
	s.SumNoise = make([]float64, len(s.Points))
	if m, _, near := s.sample(prior{1, 1, true}, func([]float64) {}); near || m != nil {
		t.Error("a law of sums without noise")
	}
	m, single, err := s.Posterior()
	if err != nil || floats.HasNaN(m.Mean) || floats.HasNaN(single.Variance) {
		t.Errorf("posterior %v, %v, error %v", m, single, err)
	}
}

// TestNoLaw: a mixture of coordinates without a law has no weights.
func TestNoLaw(t *testing.T) {
	none := math.Inf(-1)
	m := mixture{weights: []float64{none, none}, means: make([]float64, 2), responses: make([]*response, 2)}
	m.normalise()
	if mean, variance := m.moments(true); m.log != none || mean != 0 || variance != 0 || m.noise() != 0 {
		t.Errorf("log density %v, moments %v and %v", m.log, mean, variance)
	}
}
