package noiseaware

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestScales: of noise alone weights have the scales in predictions and the prior by themselves, and where
// the data decide scales change nothing.
func TestScales(t *testing.T) {
	const d = 3
	scales := Scales{0.05, 0.05, 0.4}
	trace := func(noise float64, scales Scales) Trace {
		out := Trace{Prior: 1, Scales: scales, Points: [][]float64{make([]float64, d)},
			Scores: [][]float64{{30, -60, 90}}, Noise: mat.NewSymDense(1, []float64{noise * noise}),
			Curvature: Curvature{Matrix: mat.NewSymDense(d, nil)}}
		for i := range d {
			out.Curvature.Matrix.SetSym(i, i, 1e6)
		}
		out.Variance = func([]float64) []float64 { return []float64{noise * noise, noise * noise, noise * noise} }
		return out
	}
	diagonal := func(noise float64, scales Scales) Diagonal {
		v := []float64{noise * noise, noise * noise, noise * noise}
		return Diagonal{Prior: 1, Scales: scales, Scores: []float64{30, -60, 90}, ScoreNoise: v,
			Precision: []float64{1e6, 1e6, 1e6}, PrecisionNoise: make([]float64, d),
			Point: make([]float64, d), Origin: make([]float64, d)}
	}
	for name, of := range map[string]func(noise float64, scales Scales) (mean, predicts, single []float64){
		"curvature": func(noise float64, scales Scales) (mean, predicts, alone []float64) {
			m, single, err := trace(noise, scales).Posterior()
			if err != nil {
				t.Fatal(err)
			}
			return m.Mean, m.Variance, single.Variance
		},
		"diagonal": func(noise float64, scales Scales) (mean, predicts, alone []float64) {
			m, single := diagonal(noise, scales).Posterior()
			return m.Mean, m.Variance, single.Variance
		},
	} {
		_, predicts, single := of(1e12, scales)
		for i, s := range scales {
			if math.Abs(math.Sqrt(predicts[i])/s-1) > 1e-3 || math.Abs(single[i]-1) > 1e-3 {
				t.Errorf("%s: weight %d has the variances %v and %v of noise alone", name, i, predicts[i], single[i])
			}
		}
		mean, predicts, _ := of(1, scales)
		other, wide, _ := of(1, nil)
		for i := range scales {
			if math.Abs(mean[i]/other[i]-1) > 1e-3 || math.Abs(predicts[i]/wide[i]-1) > 1e-3 {
				t.Errorf("%s: weight %d is N(%v, %v) with scales, N(%v, %v) without", name, i, mean[i], predicts[i],
					other[i], wide[i])
			}
		}
	}
}

// TestScalesKeepCoverage: weights from the prior, far longer than the scales, have 90 % intervals that cover
// at least nine in ten. Of 900 intervals .03 is three standard errors.
func TestScalesKeepCoverage(t *testing.T) {
	const d, worlds = 3, 300
	r := rand.New(rand.NewPCG(3, 4))
	covered := 0
	for range worlds {
		out := Diagonal{Prior: 1, Scales: Scales{0.1, 0.1, 0.1}, PrecisionNoise: make([]float64, d),
			Point: make([]float64, d), Origin: make([]float64, d)}
		truth := make([]float64, d)
		for i := range truth {
			truth[i] = r.NormFloat64()
			out.Precision = append(out.Precision, 100)
			out.ScoreNoise = append(out.ScoreNoise, 1e4)
			out.Scores = append(out.Scores, 100*truth[i]+math.Sqrt(100+1e4)*r.NormFloat64())
		}
		_, single := out.Posterior()
		for i, w := range truth {
			if math.Abs(w-single.Mean[i]) <= 1.645*math.Sqrt(single.Variance[i]) {
				covered++
			}
		}
	}
	if share := float64(covered) / (d * worlds); share < 0.87 {
		t.Errorf("90 %% intervals cover %.3f", share)
	}
}
