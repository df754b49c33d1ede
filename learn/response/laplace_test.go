package response

import (
	"math"
	"math/rand/v2"
	"testing"
)

// law is the law of a report of a level with noise, from the definition of the discrete Laplace distribution.
func (n Noise) law(level, levels int) []float64 {
	a, c := float64(n.Keep)/unit, int(n.Margin)
	mass := func(z int) float64 { return (1 - a) / (1 + a) * math.Pow(a, math.Abs(float64(z))) }
	beyond := func(z int) float64 { return math.Pow(a, float64(z)) / (1 + a) } // of noise of at least z > 0
	row := make([]float64, n.cells(levels))
	for y := range row {
		row[y] = mass(y - c - level)
	}
	row[0], row[len(row)-1] = beyond(level+c), beyond(levels-1+c-level)
	return row
}

// TestNoisyReports: reports have the law of discrete Laplace noise between the ends of the margin, by
// chi-squared with fixed seeds (a fresh one fails with a probability below 10^-9), and no two levels' laws
// have a larger ratio than the local guarantee, which is the one asked for.
func TestNoisyReports(t *testing.T) {
	const draws = 20_000
	for _, c := range []struct {
		noise  Noise
		levels int
	}{{Noise{1 << 31, 3}, 3}, {Noise{unit - unit/8, 2}, 4}, {Noise{1, 1}, 2}} {
		for level := range c.levels {
			random := rand.NewChaCha8([32]byte{byte(level), 7})
			seen := make([]float64, c.noise.cells(c.levels))
			for range draws {
				y, err := c.noise.Report(level, c.levels, random)
				if err != nil {
					t.Fatal(err)
				}
				seen[y]++
			}
			square := 0.0
			for y, p := range c.noise.law(level, c.levels) {
				if p*draws > 1 {
					square += math.Pow(seen[y]-p*draws, 2) / (p * draws)
				}
			}
			if square > 70 {
				t.Errorf("%+v, level %d: chi-squared %v of %v", c.noise, level, square, seen)
			}
		}
	}
	for _, eps0 := range []float64{0.05, 1, 7} {
		const levels = 9
		n, err := NewNoise(levels, eps0)
		if err != nil {
			t.Fatal(err)
		}
		local, worst := n.Local(levels), 0.0
		p, q := n.law(0, levels), n.law(levels-1, levels)
		for y := range p {
			worst = max(worst, math.Abs(math.Log(p[y]/q[y])))
		}
		if !(worst <= local*(1+1e-9) && worst >= local*(1-1e-9) && local <= eps0 && local >= eps0*(1-1e-6)) {
			t.Errorf("ratios up to %v of reports with the guarantee %v, and %v was asked for", worst, local, eps0)
		}
	}
	if _, err := (Noise{1 << 31, 3}).Report(3, 3, rand.NewChaCha8([32]byte{})); err == nil {
		t.Error("a level that is none was reported")
	}
}
