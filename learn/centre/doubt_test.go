package centre

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDoubts: over 100 sessions of two columns anywhere in their ranges, with deviations of a tenth to half
// of half a range, means and the logarithms of deviations lie as far from the frame as the doubts say: 200
// errors, in doubts or in tenths of a unit, which clips cost, have a root mean square of .7 to 1.25.
func TestDoubts(t *testing.T) {
	const sessions, least = 100, 0.1
	c := Of(ward())
	for _, noise := range []float64{100, 300, 3000} {
		var mean, width float64
		for seed := range uint64(sessions) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			var centres, sds [2]float64
			for j := range centres {
				sds[j] = 0.5 * math.Pow(0.2, rnd.Float64())
				centres[j] = (2*rnd.Float64() - 1) * math.Sqrt(1-sds[j])
			}
			d := at(rnd, 2000, centres, sds)
			for i := range d.Rows() {
				for _, col := range c.columns {
					x := &d.X[i*features+col.at]
					*x = min(col.middle+col.half, max(col.middle-col.half, *x))
				}
			}
			square := noise * noise * float64(1<<18) * float64(1<<18)
			state := measured(t, c, d, 3, noise, rnd)
			f, doubts, own := c.Frame(state, square), c.Doubts(state, square), c.Exact(d.X)
			for j, col := range c.columns {
				doubt := doubts[col.at]
				off := (own.Centres[j] - f.Centres[j]) / f.Units[j] / max(least, doubt.Mean)
				mean += off * off / sessions / 2
				length := (math.Log(own.Units[j]/f.Units[j]) - doubt.Log) / max(least, doubt.LogSD)
				width += length * length / sessions / 2
			}
		}
		mean, width = math.Sqrt(mean), math.Sqrt(width)
		if min(mean, width) < 0.7 || max(mean, width) > 1.25 {
			t.Errorf("noise %g: means are %.2f of their doubts away, lengths %.2f", noise, mean, width)
		}
	}
}

// TestDoubtsBefore: before anything is measured, and where noise hides everything, a mean is anywhere in the
// range. Columns that aren't measured are where they are taken to be.
func TestDoubtsBefore(t *testing.T) {
	c := Of(ward())
	rnd := rand.New(rand.NewPCG(3, 1))
	state := make([]int64, StateLen(ward()))
	hidden := measured(t, c, at(rnd, 100, [2]float64{}, [2]float64{0.3, 0.3}), 3, 1e6, rnd)
	square := 1e12 * float64(1<<18) * float64(1<<18)
	for _, s := range [][]int64{state, hidden} {
		for i, d := range c.Doubts(s, square) {
			ranged := i == 0 || i == 3
			if anywhere := math.Sqrt(1./3) / unit; ranged && !(d.Mean > 0.5*anywhere && d.Mean < 2*anywhere) ||
				ranged && !(d.LogSD > 0.5) || !ranged && d.Mean != 0 {
				t.Errorf("column %d: %+v", i, d)
			}
		}
	}
}
