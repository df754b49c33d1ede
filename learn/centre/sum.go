package centre

import (
	"io"
	"math"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/internal/absent"
	"choir/learn/internal/coin"
	"choir/learn/pvi"
)

// Sample draws each record with this probability by rand, which must be secret, as a round of a method that
// samples does. At rate 1 it reads nothing. Errors: rand's.
func Sample(d bayes.Data, rate float64, rand io.Reader) (bayes.Data, error) {
	if rate >= 1 {
		return d, nil
	}
	drawn, err := coin.New(rate).Draw(d.Rows(), rand)
	if err != nil {
		return bayes.Data{}, err
	}
	return d.Pick(drawn), nil
}

// Sum adds a party's records to sum, which has twice the length of an encoded record. Positions are those of
// the view. Each record is in one of at most groups groups, whose mean has norm at most clip, and at most
// bound in units of the grid. A missing number is where the sums before have the column's mean. It returns
// the share of groups that were clipped.
func (v View) Sum(sum []int64, d bayes.Data, groups int, grid fixedpoint.Grid, clip float64,
	bound uint64) (clipped float64, err error) {
	c := v.of
	terms := pvi.NewTerms(grid, clip, bound)
	groups = min(groups, d.Rows())
	x := make([]float64, 2*c.features)
	by := clip / v.length()
	for k := range groups {
		clear(x)
		n := float64((d.Rows() - k + groups - 1) / groups)
		for i := k; i < d.Rows(); i += groups {
			row := d.X[i*c.features : (i+1)*c.features]
			for j, col := range c.columns {
				at := v.absent[j]
				if p := row[col.at]; !absent.Is(p) {
					at = min(1, max(-1, ((p-col.middle)/col.half-v.centre[j])/v.half[j]))
				}
				x[col.at] += at * by / n
				x[c.features+col.at] += v.weight[j] * at * at * by / n
			}
		}
		x[c.features-1] = by
		cut, err := terms.Add(sum, x)
		if err != nil {
			return 0, err
		}
		if cut {
			clipped += 1 / float64(groups)
		}
	}
	return clipped, nil
}

// length is the norm that a record's vector is clipped to before it is scaled to the clip: the root mean
// square of what is expected, with the fourth moment of a normal number.
func (v View) length() float64 {
	square := 1.0
	for j, m := range v.moment {
		square += m + v.weight[j]*v.weight[j]*m*min(1, 3*m)
	}
	return math.Sqrt(square)
}
