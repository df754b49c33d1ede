package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestSaturation: of records whose logits are long the number of records tells their spread, where the noisy
// curvature along the point does not. The root mean square error of their variance over 200 draws of noise is
// below a quarter of it, and without the number it is several times as large.
func TestSaturation(t *testing.T) {
	const n, d, draws = 20_000, 6, 200
	r := rand.New(rand.NewPCG(5, 6))
	point := []float64{2, -2, 1.5, -1, 1, -0.5} // logits of standard deviation 3.5
	curvature := mat.NewSymDense(d, nil)
	for range n {
		x := make([]float64, d)
		for i := range d - 1 {
			x[i] = r.NormFloat64()
		}
		x[d-1] = 1
		_, c := Predicted(x, point, make([]float64, d))
		curvature.SymRankOne(curvature, c, mat.NewVecDense(d, x))
	}
	slopes := slopesOf(point)
	want := mat.Dot(slopes, slopes)
	var errors [2]float64
	for range draws {
		noisy := mat.NewSymDense(d, nil)
		const sd = 60.
		for i := range d {
			for j := i; j < d; j++ {
				e := sd * r.NormFloat64()
				if i == j {
					e *= math.Sqrt2
				}
				noisy.SetSym(i, j, curvature.At(i, j)+e)
			}
		}
		h, err := Curvature{noisy, sd}.repaired()
		if err != nil {
			t.Fatal(err)
		}
		for k, records := range []float64{n, 0} {
			c := normal(h, sd, point, make([]float64, d), records)
			errors[k] += math.Pow(mat.Inner(slopes, c.scatter, slopes)/want-1, 2) / draws
		}
	}
	if !(errors[0] < 0.25*0.25 && errors[1] > 4*errors[0]) {
		t.Errorf("root mean square errors of the variance are %.3f, and %.3f without the number of records",
			math.Sqrt(errors[0]), math.Sqrt(errors[1]))
	}
}
