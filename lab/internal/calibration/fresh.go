package calibration

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"choir/lab/study"
)

// fresh is the world of a seed: each number is drawn between 500 and 50,000 rows, 5 and 60 columns,
// correlations of 0 and .8, 3 and 100 parties and epsilon .3 and 8, on a logarithmic scale but for
// correlations. A third are linear.
func fresh(seed int) world {
	drawn := 0
	uniform := func() float64 { // by a hash of the seed
		h := sha256.Sum256(fmt.Appendf(nil, "world %d, number %d", seed, drawn))
		drawn++
		return math.Ldexp(float64(binary.BigEndian.Uint64(h[:])>>11), -53)
	}
	between := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, uniform()) }
	w := world{Name: fmt.Sprintf("world %d", seed), Linear: uniform() < 1.0/3}
	w.Rows = 4 * int(between(500, 50_000)/4)
	w.Columns = int(between(5, 61))
	w.Correlation = math.Round(80*uniform()) / 100
	w.Parties = int(between(3, 101))
	w.Epsilon = math.Round(100*between(0.3, 8)) / 100
	return w
}

// freshly is the study of one world for each seed.
func freshly(ctx context.Context, o study.Options) (*study.Result, error) {
	var all []world
	for _, seed := range o.Each() {
		w := fresh(seed)
		if o.Quick {
			w.Rows, w.Columns = 400, 5
		}
		all = append(all, w)
	}
	o.First, o.Seeds = 1, 1
	return each(ctx, o, "calibration-fresh", all, func(at int) int { return 1000 * at }, world.load)
}

// corners are worlds of 500 rows whose other numbers are the least or the largest, and of 50,000 rows of few
// columns: with many they would take hours.
func corners(quick bool) (all []world) {
	for _, linear := range []bool{false, true} {
		for _, size := range []struct{ rows, columns int }{{500, 5}, {500, 60}, {50_000, 5}} {
			for _, correlation := range []float64{0, 0.8} {
				for _, parties := range []int{3, 100} {
					for _, epsilon := range []float64{0.3, 8} {
						w := world{Linear: linear, Rows: size.rows, Columns: size.columns,
							Correlation: correlation, Parties: parties, Epsilon: epsilon}
						w.Name = fmt.Sprintf("%s, %d rows, %d columns, correlation %g, %d parties, epsilon %g",
							w.model(), w.Rows, w.Columns, correlation, parties, epsilon)
						all = append(all, w)
					}
				}
			}
		}
	}
	if quick {
		return all[:1]
	}
	return all
}
