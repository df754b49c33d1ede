package reading

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/noiseaware"
	"choir/learn/pvi"
)

// cutRecords is what records of a logistic model leave in rounds whose terms are a clipped update of one
// record.
type cutRecords struct {
	r          *reading
	attendance *attendance
	start      float64     // a record's share of the precision that factors start with
	rests      [][]float64 // by party and observation: what is left of it
	ups        []float64   // sums of the known parties' shares
}

// recorded is what records leave, where terms are single records'.
func (r *reading) recorded() *cutRecords {
	c := r.c
	single := c.Strategy.Name() == pvi.NameVirtual && c.Strategy.Params().ShardRows == 1
	if c.Model != bayes.Logistic || !single || c.Clip == 0 || r.records == 0 || c.Beta != 0 {
		return nil
	}
	k := &cutRecords{r: r, attendance: r.attendance, start: c.StartPrecision / r.records}
	if k.attendance == nil {
		if c.Released() {
			return nil
		}
		k.attendance = r.together()
	}
	total := 0.0
	for p, known := range k.attendance.known {
		if known {
			total += k.attendance.shares[p]
		}
		k.ups = append(k.ups, total)
		var rests []float64
		for _, round := range r.rounds {
			rests = append(rests, k.attendance.each(round, p, func(int, float64) {}))
		}
		k.rests = append(k.rests, rests)
	}
	return k
}

// together is the attendance of all parties as one, where every round of theirs counts them all.
func (r *reading) together() *attendance {
	t := &attendance{kept: 1, known: []bool{true}, declared: []float64{1}, shares: []float64{1}}
	for j := range r.means {
		s := slices.Index(r.rounds, j)
		moved := 0.
		if s >= 0 {
			moved = r.dampings[s]
		}
		t.counted = append(t.counted, []bool{s >= 0})
		t.moved = append(t.moved, moved)
	}
	return t
}

// party is that in whose share a number lies.
func (k *cutRecords) party(at float64) int {
	for p, up := range k.ups {
		if at < up && k.attendance.known[p] {
			return p
		}
	}
	for p := len(k.ups) - 1; ; p-- {
		if k.attendance.known[p] {
			return p
		}
	}
}

// Score implements noiseaware.Records.
func (k *cutRecords) Score(x []float64, y, at float64, weights []float64) []float64 {
	r, party := k.r, k.party(at)
	d := len(x)
	factor, left, step := make([]float64, 2*d), make([]float64, 2*d), make([]float64, 2*d)
	floats.AddConst(-k.start/2, factor[d:])
	out := make([]float64, d)
	s := 0
	for j, m := range r.means {
		copy(left, factor)
		if k.attendance.counted[j][party] {
			k.best(step, x, y, m, r.wides[j])
			floats.Sub(step, factor)
			floats.Scale(min(1, r.c.Clip/floats.Norm(step, 2)), step)
			floats.Add(left, step)
			floats.AddScaled(factor, k.attendance.moved[j], step)
		}
		if s == len(r.rounds) || r.rounds[s] != j {
			continue
		}
		for i := range out {
			precision := -2*left[d+i] - k.rests[party][s]*k.start
			out[i] += weights[s] / r.whole(s) * (left[i] - precision*r.points[s][i])
		}
		s++
	}
	return out
}

// best is a record's best factor at a public posterior.
func (k *cutRecords) best(dst, x []float64, y float64, mean, variance []float64) {
	p, slope := noiseaware.Predicted(x, mean, variance)
	d := len(x)
	for i, v := range x {
		dst[i] = v*(y-p) + v*v*slope*mean[i]
		dst[d+i] = -v * v * slope / 2
	}
}

// Taken implements noiseaware.Records.
func (k *cutRecords) Taken(sum *mat.SymDense, x []float64) {
	_, c := noiseaware.Predicted(x, k.r.at, k.r.spread)
	noiseaware.Slices{Size: k.r.c.Dim(), Bound: k.r.c.CurvatureBound}.Taken(sum, c, x)
}
