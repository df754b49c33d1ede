package noiseaware

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/noiseaware/internal/logistic"
)

// TestArcWithIntercept: for normal columns of mean 0 and exact curvatures the arc has the change of scores
// along the weights, for intercepts of 0 to -3.
func TestArcWithIntercept(t *testing.T) {
	const n = 1000.0
	for _, b := range []float64{0, -1, -2, -3} {
		S := mat.NewSymDense(2, []float64{1, 0.3, 0.3, 1})
		w := []float64{1.5, 1}
		sw := mat.NewVecDense(2, nil)
		sw.MulVec(S, mat.NewVecDense(2, w))
		s := sw.AtVec(0)*w[0] + sw.AtVec(1)*w[1]
		g := func(k float64) float64 {
			v := logistic.Probit + k*k*s
			return math.Exp(-b*b/2/v) / math.Sqrt(2*math.Pi*v)
		}
		v := logistic.Probit + s
		h := mat.NewSymDense(3, nil)
		x := []float64{-b / v * sw.AtVec(0), -b / v * sw.AtVec(1), 1}
		for i := range 3 {
			for j := i; j < 3; j++ {
				second := x[i] * x[j]
				if j < 2 {
					second += S.At(i, j) - sw.AtVec(i)*sw.AtVec(j)/v
				}
				h.SetSym(i, j, n*g(1)*second)
			}
		}
		point, to := []float64{w[0], w[1], b}, []float64{1.2 * w[0], 1.2 * w[1], b}
		arc := arc(estimate{matrix: h}, point, make([]float64, 3), 0.01, n)
		var from, got mat.VecDense
		from.MulVec(arc.pull, mat.NewVecDense(3, point))
		got.MulVec(arc.pull, mat.NewVecDense(3, to))
		got.AddScaledVec(&from, -1, times(&got, arc.truth(to, make([]float64, 3))))
		want := n * (1.2*g(1.2) - g(1)) * sw.AtVec(0)
		if ratio := -got.AtVec(0) / want; math.Abs(ratio-1) > 0.05 {
			t.Errorf("intercept %v: %.2f of the change of the score", b, ratio)
		}
	}
}

func times(v *mat.VecDense, f float64) *mat.VecDense {
	out := mat.NewVecDense(v.Len(), nil)
	out.ScaleVec(f, v)
	return out
}
