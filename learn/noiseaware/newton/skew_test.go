package newton

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// clinic has the records of one party: standard normal columns, a 1, and classes by the true weights.
type clinic struct{ x, y *mat.Dense }

func clinics(g *rand.Rand, parties, records int, weights []float64) []clinic {
	d := len(weights)
	out := make([]clinic, parties)
	for k := range out {
		x, y := mat.NewDense(records, d, nil), mat.NewDense(records, 1, nil)
		for i := range records {
			row := x.RawRowView(i)
			for j := range d - 1 {
				row[j] = g.NormFloat64()
			}
			row[d-1] = 1
			if g.Float64() < 1/(1+math.Exp(-floats.Dot(row, weights))) {
				y.Set(i, 0, 1)
			}
		}
		out[k] = clinic{x, y}
	}
	return out
}

// step is the party's step from a point under a prior of precision 1 around it, and its slopes.
func (c clinic) step(point []float64) (step *mat.VecDense, slopes *mat.Dense) {
	n, d := c.x.Dims()
	gradient, h, own := mat.NewVecDense(d, nil), mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	for i := range n {
		row := c.x.RowView(i)
		p := 1 / (1 + math.Exp(-floats.Dot(c.x.RawRowView(i), point)))
		gradient.AddScaledVec(gradient, c.y.At(i, 0)-p, row)
		h.SymRankOne(h, p*(1-p), row)
	}
	own.CopySym(h)
	for i := range d {
		own.SetSym(i, i, own.At(i, i)+1)
	}
	var root mat.Cholesky
	root.Factorize(own)
	step, slopes = mat.NewVecDense(d, nil), new(mat.Dense)
	if root.SolveVecTo(step, gradient) != nil || root.SolveTo(slopes, h) != nil {
		panic("singular")
	}
	return step, slopes
}

// settle moves a point to where steps of this length at most add up to 0, and returns their root mean square.
func settle(all []clinic, point []float64, bound float64) (length float64) {
	d := len(point)
	for range 8 {
		sum, slope, square := mat.NewVecDense(d, nil), mat.NewDense(d, d, nil), 0.0
		for _, c := range all {
			s, a := c.step(point)
			l := mat.Norm(s, 2)
			square += l * l
			sum.AddScaledVec(sum, min(1, bound/l), s)
			a.Scale(min(1, bound/l), a)
			slope.Add(slope, a)
		}
		var move mat.VecDense
		if move.SolveVec(slope, sum) != nil {
			panic("singular")
		}
		floats.Add(point, move.RawVector().Data)
		length = math.Sqrt(square / float64(len(all)))
	}
	return length
}

// TestSkewedSteps: the point where shortened steps of parties with few records add up to 0 has longer weights
// than the one without a bound, by what excess tells, within a quarter and the draws' errors. Both are
// of the same records, so that the distance errs by about a tenth of either's error, .004 of the slopes.
func TestSkewedSteps(t *testing.T) {
	for i, c := range []struct {
		records, columns int
		sd, intercept, r float64
	}{
		{30, 5, 1.5, 0, 0.6}, {30, 5, 1.5, -1.5, 0.6}, {60, 5, 0.7, 0, 0.3}, {20, 5, 1.5, 0, 1},
		{15, 12, 1.5, 0, 0.7},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			truth := make([]float64, c.columns+1)
			for j := range c.columns {
				truth[j] = c.sd / math.Sqrt(float64(c.columns))
			}
			truth[c.columns] = c.intercept
			all := clinics(rand.New(rand.NewPCG(5, uint64(i))), 4000, c.records, truth)
			plain := append([]float64(nil), truth...)
			length := settle(all, plain, math.Inf(1))
			bounded := append([]float64(nil), plain...)
			settle(all, bounded, c.r*length)

			a := 0.0
			for _, clinic := range all {
				_, slopes := clinic.step(plain)
				a += mat.Trace(slopes) / float64(len(truth)*len(all))
			}
			s := Steps{Prior: 1, Bent: 1, Expected: a, Bounds: []float64{c.r * length},
				Records: float64(c.records)}
			e := s.excess(plain)
			before := along(bounded, c.columns) - along(plain, c.columns)
			nearer(t, "slopes", before-e.slopes*along(plain, c.columns), before, 0.004*c.sd)
			before = bounded[c.columns] - plain[c.columns]
			nearer(t, "intercept", before-e.intercept, before, 0.006)
			if away := along(bounded, c.columns)/along(plain, c.columns) - 1; away < 0.01 {
				t.Errorf("slopes are longer by %.4f only: the case shows nothing", away)
			}
		})
	}
}

func along(weights []float64, columns int) float64 {
	return floats.Sum(weights[:columns]) / math.Sqrt(float64(columns))
}

func nearer(t *testing.T, what string, left, whole, chance float64) {
	t.Helper()
	t.Logf("%s: off by %.4f, and by %.4f before", what, left, whole)
	if math.Abs(left) > math.Abs(whole)/4+chance {
		t.Errorf("%s are off by %.4f, and by %.4f before", what, left, whole)
	}
}
