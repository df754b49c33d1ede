package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Twins draws synthetic records from a public schema: a stand-in for files that may not
// be seen. Numbers are Gaussian around the centre, cut to the range, with correlations of
// 0.3^|i-j|; categories have random frequencies. The target depends on the encoded row by
// random weights, the same for all records of a seed:
//
//	two classes:  P(positive) = 1 / (1 + exp(-(Signal z + Shift - 0.7)))
//	a number:     C + S (Signal z + noise) / sqrt(1 + Signal^2), cut to the range
//
// where C and S are the target's centre and scale, or the middle and an eighth of a range alone, and z is the
// weighted sum, standardised; noise is standard Gaussian. Joint twins have one factor in all columns, with a
// correlation of 0.6 between any two, categories included, and the target grows with it.
type Twins struct {
	Schema *Schema
	Signal float64 // strength of what there is to learn; 2 is much, 0.5 little
	Shift  float64 // of the log-odds of two classes
	Joint  bool    // one factor is in all columns and in the target
	Seed   uint64  // of the weights and the frequencies
}

// Correlations of neighbouring numbers and of joint columns, intercept of the log-odds, rows that
// standardise z.
const (
	twinCorrelation  = 0.3
	jointCorrelation = 0.6
	twinIntercept    = -0.7
	twinPilot        = 1000
)

// Records draws rows; part numbers independent draws of the same population.
func (t Twins) Records(part uint64, rows int) (*Records, error) {
	switch {
	case rows < 1 || rows > maxCells/(len(t.Schema.Columns)+1):
		return nil, fmt.Errorf("dataset: twins: %d rows of %d columns", rows, len(t.Schema.Columns))
	case !(t.Signal >= 0 && t.Signal <= 100):
		return nil, fmt.Errorf("dataset: twins: signal %g is not in [0, 100]", t.Signal)
	case !(math.Abs(t.Shift) <= 100):
		return nil, fmt.Errorf("dataset: twins: shift %g is not in [-100, 100]", t.Shift)
	}
	w := t.world()
	rec := &Records{Name: fmt.Sprintf("synthetic twin %d", part+1)}
	for _, c := range t.Schema.Columns {
		rec.Header = append(rec.Header, c.Name)
	}
	rec.Header = append(rec.Header, t.Schema.Target.Name)
	r := rand.New(rand.NewPCG(t.Seed, streamTwins+part))
	for i := range rows {
		cells, score := w.row(r)
		z := (score - w.mean) / w.sd
		rec.Cells = append(rec.Cells, append(cells, t.target(z, r)))
		rec.Lines = append(rec.Lines, i+2)
	}
	return rec, nil
}

// Noise is the standard deviation of the noise in an encoded target that is a number.
func (t Twins) Noise() float64 {
	_, scale := t.Schema.Target.Numeric.where(targetParts)
	return scale / t.Schema.Target.Numeric.Scale / math.Sqrt(1+t.Signal*t.Signal)
}

func (t Twins) target(z float64, r *rand.Rand) string {
	c := t.Schema.Target
	if c.Numeric == nil {
		if r.Float64() < 1/(1+math.Exp(-(t.Signal*z+t.Shift+twinIntercept))) {
			return c.Categories[1]
		}
		return c.Categories[0]
	}
	y := (t.Signal*z + r.NormFloat64()) / math.Sqrt(1+t.Signal*t.Signal)
	center, scale := c.Numeric.where(targetParts)
	return c.Numeric.cell(c.Numeric.cut(center + scale*y))
}

// twinWorld is a population.
type twinWorld struct {
	joint    bool
	columns  []Column
	weights  []float64   // on encoded columns
	shares   [][]float64 // of categories, cumulative; of a number that is 0 or 1
	mean, sd float64     // of the weighted sum
}

func (t Twins) world() *twinWorld {
	r := rand.New(rand.NewPCG(t.Seed, streamTwinWorld))
	w := &twinWorld{joint: t.Joint, columns: t.Schema.Columns, sd: 1}
	for range t.Schema.Dim() {
		w.weights = append(w.weights, r.NormFloat64())
	}
	if t.Joint {
		w.align()
	}
	for _, c := range w.columns {
		w.shares = append(w.shares, shares(max(2, len(c.Categories)), r))
	}
	sum, square := 0.0, 0.0
	for range twinPilot {
		_, score := w.row(r)
		sum += score / twinPilot
		square += score * score / twinPilot
	}
	w.mean = sum
	w.sd = math.Sqrt(max(square-sum*sum, 1e-12))
	return w
}

// align makes the weights grow with the factor of joint columns.
func (w *twinWorld) align() {
	at := 0
	for _, c := range w.columns {
		if c.Numeric != nil {
			w.weights[at] = math.Abs(w.weights[at])
			if c.Numeric.flag() {
				w.weights[at] *= -1 // 1 where the factor is low
			}
			at++
			continue
		}
		slices.Sort(w.weights[at : at+len(c.Categories)])
		at += len(c.Categories)
	}
}

// shares are cumulative frequencies of n categories, none of them rare.
func shares(n int, r *rand.Rand) []float64 {
	all := make([]float64, n)
	sum := 0.0
	for k := range all {
		sum += 0.3 + r.Float64()
		all[k] = sum
	}
	for k := range all {
		all[k] /= sum
	}
	return all
}

// next draws the standard Gaussian under a column, after that of the one before it.
func (w *twinWorld) next(z, factor float64, r *rand.Rand) float64 {
	if w.joint {
		return math.Sqrt(jointCorrelation)*factor + math.Sqrt(1-jointCorrelation)*r.NormFloat64()
	}
	return twinCorrelation*z + math.Sqrt(1-twinCorrelation*twinCorrelation)*r.NormFloat64()
}

// row draws the features of one record and their weighted sum.
func (w *twinWorld) row(r *rand.Rand) (cells []string, score float64) {
	z, factor := 0.0, 0.0
	at := 0
	if w.joint {
		factor = r.NormFloat64()
	}
	for j, c := range w.columns {
		z = w.next(z, factor, r)
		if c.Numeric != nil {
			v := c.Numeric.draw(z, w.shares[j][0])
			e, _ := c.Numeric.encode(v)
			cells = append(cells, c.Numeric.cell(v))
			score += w.weights[at] * e
			at++
			continue
		}
		u, k := r.Float64(), 0
		if w.joint {
			u = min(0.5*math.Erfc(-z/math.Sqrt2), math.Nextafter(1, 0))
		}
		for u > w.shares[j][k] {
			k++
		}
		cells = append(cells, c.Categories[k])
		score += w.weights[at+k]
		at += len(c.Categories)
	}
	return cells, score
}

// flag reports whether a range is that of a yes-no code.
func (r *Range) flag() bool { return r.Lo == 0 && r.Hi == 1 }

// draw maps a standard Gaussian to a number in the range: 1 with the given probability
// if it is a code; around the centre if that is far from the ends; else around mid-range.
func (r *Range) draw(z, share float64) float64 {
	if r.flag() {
		if 0.5*math.Erfc(-z/math.Sqrt2) < share {
			return 1
		}
		return 0
	}
	center, scale := r.where(6)
	return r.cut(center + scale*z)
}

// targetParts is the range of a target that is a range alone, in standard deviations.
const targetParts = 8

// where is the centre and the scale of numbers that are drawn: the range's own if the ends are far from the
// centre, else its middle and that part of it.
func (r *Range) where(parts float64) (center, scale float64) {
	if alone := (Column{Numeric: r}).RangeAlone(); !alone && r.bound() >= 2 {
		return r.Center, r.Scale
	}
	return r.Lo/2 + r.Hi/2, (r.Hi - r.Lo) / parts
}

func (r *Range) cut(v float64) float64 { return math.Min(math.Max(v, r.Lo), r.Hi) }

// cell writes a number: a whole one if the range is one of whole numbers and wide.
func (r *Range) cell(v float64) string {
	if r.Lo == math.Trunc(r.Lo) && r.Hi == math.Trunc(r.Hi) && (r.Hi-r.Lo >= 50 || r.flag()) {
		v = math.Round(v)
	}
	return format(v)
}
