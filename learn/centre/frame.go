package centre

import (
	"math"
	"slices"

	"choir/learn/dataset"
	"choir/learn/internal/absent"
)

// spread is what is known of a column, in halves of its range: its mean and its variance, the variances of
// their noise, and what the standard deviation isn't below.
type spread struct{ mean, meanNoise, variance, varianceNoise, least float64 }

// unit is the standard deviation that the column is taken to have: the one before anything is measured,
// unless the column is sure to be narrower, or is likely to be wider.
func (s spread) unit() float64 {
	const guess, wide = unit * unit, 0.3 // of variances before anything is measured, and their spread
	noise := math.Sqrt(s.varianceNoise)
	likely := s.variance + (guess-s.variance)*s.varianceNoise/(s.varianceNoise+wide*wide)
	u := math.Sqrt(max(likely, min(guess, max(0, s.variance)+sure*noise)))
	return min(1, max(u, s.least, narrowest))
}

// learn updates what is known by the sums of a stage whose view was v. records is the number of records in
// them, noise the standard deviation of the noise on each. A mean is a ratio of two noisy sums, and so is a
// mean square; the variance is the mean square less the mean's square.
func (v View) learn(known []spread, sums []int64, records, noise float64) []spread {
	next := make([]spread, len(v.half))
	e := noise / records
	for j, col := range v.of.columns {
		h, w := v.half[j], v.weight[j]
		m := min(1, max(-1, float64(sums[col.at])/records))
		square := min(1, max(0, float64(sums[v.of.features+col.at])/records/w))
		of := e * math.Sqrt(1/(w*w)+4*m*m+(2*m*m-square)*(2*m*m-square))
		k := spread{mean: v.centre[j] + h*m, meanNoise: h * h * e * e * (1 + m*m),
			variance: h * h * (square - m*m), varianceNoise: h * h * of * h * h * of,
			least: h * math.Sqrt(max(0, square-m*m-seen*of))}
		if col.code {
			k.least = max(k.least, unit)
		}
		if known != nil {
			k = known[j].and(k)
		}
		next[j] = k
	}
	return next
}

// and combines the estimates of two stages.
func (s spread) and(o spread) spread {
	s.mean, s.meanNoise = together(s.mean, s.meanNoise, o.mean, o.meanNoise)
	s.variance, s.varianceNoise = together(s.variance, s.varianceNoise, o.variance, o.varianceNoise)
	s.least = max(s.least, o.least)
	return s
}

// together is the mean of two measurements by their precisions, and its variance.
func together(a, ofA, b, ofB float64) (float64, float64) {
	if ofB == 0 {
		return b, 0
	}
	by := ofA / (ofA + ofB)
	return a + by*(b-a), by * ofB
}

// Frame is where columns lie within their ranges: the positions of their centres, in [-1, 1],
// and their units in halves of the range.
type Frame struct{ Centres, Units []float64 }

// Frame returns that of the columns' means and standard deviations, by a state. variance is that of the
// noise on one sum, in units of the grid squared. Without a round, columns are centred at the middle of
// their ranges, in the assumed units.
func (c Columns) Frame(state []int64, variance float64) Frame {
	n := len(c.columns)
	f := Frame{make([]float64, n), slices.Repeat([]float64{unit}, n)}
	_, known := c.look(state, variance, stages)
	for j, k := range shrunk(known) {
		f.Centres[j], f.Units[j] = min(1, max(-1, k.mean)), k.unit()
	}
	return f
}

// hidden reports whether the column is sure to be narrower than it is taken to be where nothing is measured,
// while the noise hides how narrow.
func (s spread) hidden() bool {
	noise := lower * math.Sqrt(s.varianceNoise)
	return s.least < unit && s.variance < noise && max(0, s.variance)+noise < unit*unit
}

// Hidden returns the names of the columns that are narrow in their ranges while the noise hides how narrow:
// their units are too long, and so are their weights, for what the prior expects.
func (c Columns) Hidden(state []int64, variance float64) []string {
	var names []string
	_, known := c.look(state, variance, stages)
	for j, k := range known {
		if k.hidden() {
			names = append(names, c.columns[j].name)
		}
	}
	return names
}

// Longer returns, for each encoded column, how many times as long as in a frame's units a weight may be: 1
// unless the column is hidden.
func (c Columns) Longer(state []int64, variance float64) []float64 {
	out := slices.Repeat([]float64{1}, c.features)
	_, known := c.look(state, variance, stages)
	for j, k := range shrunk(known) {
		if known[j].hidden() {
			out[c.columns[j].at] = k.unit() / narrowest
		}
	}
	return out
}

// Finest approximates the least unit, in halves of the range, that can be measured in this number of rounds:
// the unit of columns of one value, where all noise happens to be 0. vectors is the number of terms in a sum,
// clip the bound on each of them in units of the grid, and variance that of the noise on a sum.
func (c Columns) Finest(vectors, clip, variance float64, rounds int) float64 {
	state := make([]int64, stages*(1+c.Dim()))
	for round := 1; round <= rounds; round++ {
		v := c.View(state, variance, round, rounds)
		of := state[stage(round, rounds)*(1+c.Dim()):]
		of[0]++
		of[c.features] += int64(vectors * clip / v.length())
	}
	return slices.Max(append(c.Frame(state, variance).Units, 0))
}

// Exact returns the frame of encoded records themselves, which is not public.
func (c Columns) Exact(x []float64) Frame {
	f := Frame{make([]float64, len(c.columns)), make([]float64, len(c.columns))}
	for j, col := range c.columns {
		square, n := 0.0, 0.0
		for at := col.at; at < len(x); at += c.features {
			if !absent.Is(x[at]) {
				p := (x[at] - col.middle) / col.half
				f.Centres[j] += p
				square += p * p
				n++
			}
		}
		f.Centres[j] /= max(1, n)
		square /= max(1, n)
		f.Units[j] = spread{variance: square - f.Centres[j]*f.Centres[j]}.unit()
	}
	return f
}

// shrunk has means and variances that are shrunk towards those of all columns.
func shrunk(known []spread) []spread {
	known = slices.Clone(known)
	shrink(known, func(s *spread) (value *float64, noise float64) { return &s.mean, s.meanNoise })
	shrink(known, func(s *spread) (value *float64, noise float64) { return &s.variance, s.varianceNoise })
	return known
}

// shrink moves values towards their mean by what their noise explains of their spread.
func shrink(known []spread, of func(*spread) (value *float64, noise float64)) {
	n := float64(len(known))
	pool, apart := 0.0, 0.0
	for j := range known {
		value, _ := of(&known[j])
		pool += *value / n
	}
	for j := range known {
		value, noise := of(&known[j])
		apart += ((*value-pool)*(*value-pool) - noise) / n
	}
	for j := range known {
		value, noise := of(&known[j])
		kept := 0.0
		if apart > 0 {
			kept = apart / (apart + noise)
		}
		*value = pool + kept*(*value-pool)
	}
}

// Recode returns encoded records with the columns centred, in their units. A missing number is at its
// column's centre.
func (c Columns) Recode(x []float64, f Frame) []float64 {
	x = slices.Clone(x)
	for from := 0; from < len(x); from += c.features {
		for j, col := range c.columns {
			v := &x[from+col.at]
			if absent.Is(*v) {
				continue
			}
			*v = ((*v-col.middle)/col.half - f.Centres[j]) / f.Units[j]
		}
	}
	return x
}

// Weights returns the weights that predict of recoded records what these do of encoded ones. The last is the
// intercept's.
func (c Columns) Weights(w []float64, f Frame) []float64 {
	w = slices.Clone(w)
	for j, col := range c.columns {
		w[len(w)-1] += w[col.at] * (col.middle + col.half*f.Centres[j])
		w[col.at] *= col.half * f.Units[j]
	}
	return w
}

// Schema returns the schema that encodes records as Recode does. Without a frame columns are
// centred at the middle of their ranges, in the assumed units.
func Schema(s *dataset.Schema, f *Frame) *dataset.Schema {
	out := *s
	out.Columns = slices.Clone(s.Columns)
	k := 0
	for i, col := range out.Columns {
		if !Off(col) {
			continue
		}
		r := *col.Numeric
		r.Center = (r.Lo + r.Hi) / 2
		half := (r.Hi - r.Lo) / 2
		r.Scale = unit * half
		if f != nil {
			r.Center += f.Centres[k] * half
			r.Scale = f.Units[k] * half
		}
		out.Columns[i].Numeric = &r
		k++
	}
	return &out
}
