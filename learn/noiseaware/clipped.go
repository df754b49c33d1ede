package noiseaware

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/logistic"
)

// Slices are the terms of single records in curvature rounds: c x x' in slices of Size entries, in the order
// of the upper triangle's rows, each of which is clipped to the norm Bound. Entries off the diagonal count
// twice in its square.
type Slices struct {
	Size  int
	Bound float64
}

// Taken adds what the clips take from the curvature c x x' of a record.
func (s Slices) Taken(sum *mat.SymDense, c float64, x []float64) {
	d := len(x)
	next := func(i, j int) (int, int) {
		if j+1 < d {
			return i, j + 1
		}
		return i + 1, i + 1
	}
	for i, j := 0, 0; i < d; {
		from, at, square := i, j, 0.0
		n := 0
		for ; n < s.Size && i < d; n++ {
			v := c * x[i] * x[j]
			square += v * v
			if i != j {
				square += v * v
			}
			i, j = next(i, j)
		}
		if square <= s.Bound*s.Bound {
			continue
		}
		lost := c * (1 - s.Bound/math.Sqrt(square))
		for ; n > 0; n-- {
			sum.SetSym(from, at, sum.At(from, at)+lost*x[from]*x[at])
			from, at = next(from, at)
		}
	}
}

// drawn is how many records are drawn in the place of all.
const drawn = 2000

// fills is how often what clips take is added to the curvature.
const fills = 4

// unclip replaces the slopes of single weights with those by the curvature with what clips have taken. The
// intercept stays: the bend does not hold for its column, and least for a rare class.
func (t Trace) unclip(single *gauss.Moments, shown estimate) error {
	v, err := t.unclipped(shown)
	if err != nil {
		return err
	}
	whole, err := t.single(v)
	if err != nil {
		return err
	}
	last := len(whole.Mean) - 1
	single.Mean = append(whole.Mean[:last:last], single.Mean[last])
	copy(single.Variance[:last], whole.Variance)
	return nil
}

// unclipped is the view by the curvature with what clips have taken, whose length along the point is that of
// the noisy matrix.
func (t Trace) unclipped(shown estimate) (view, error) {
	shown.raw = &t.Curvature
	if len(t.CurvaturePoint) < 2 {
		return t.view(shown)
	}
	h, _, err := filled(shown, whitened(drawn, len(t.CurvaturePoint)-1), fills, t.columns, t.lost)
	if err != nil {
		return view{}, err
	}
	return t.view(h)
}

// lost adds what clips take of the curvatures of records that are drawn. Where they leave surely more of the
// intercept's entry than the rounds show, records are not as drawn: their columns aren't normal, or a class
// is rare and noise hides it. Then each has as much less.
func (t Trace) lost(sum *mat.SymDense, x [][]float64) {
	c := make([]float64, len(x))
	for n := range x {
		_, c[n] = Predicted(x[n], t.CurvaturePoint, t.CurvatureSpread)
	}
	take := func(into *mat.SymDense, of float64) {
		for n := range x {
			t.Terms.Taken(into, of*c[n], x[n])
		}
	}
	trial := mat.NewSymDense(len(t.CurvaturePoint), nil)
	take(trial, 1)
	take(sum, 1/max(1, t.beyond(c, trial)))
}

// beyond is what drawn records of these curvatures leave of the intercept's entry after what clips take, over
// the most that the rounds may show of it.
func (t Trace) beyond(c []float64, taken *mat.SymDense) float64 {
	last := len(t.CurvaturePoint) - 1
	left := (floats.Sum(c) - taken.At(last, last)) * t.Records / float64(len(c))
	most := (1+slightly)*t.Curvature.Matrix.At(last, last) + surely*math.Sqrt2*t.Curvature.SD
	switch {
	case left <= 0:
		return 0
	case most <= 0:
		return math.Inf(1)
	}
	return left / most
}

// An entry may be so many standard deviations of its noise, and such a share of it, from what it is: normal
// columns are near to others.
const (
	surely   = 2
	slightly = 0.25
)

// each shows records one by one.
func each(taken func(sum *mat.SymDense, x []float64)) func(sum *mat.SymDense, x [][]float64) {
	return func(sum *mat.SymDense, all [][]float64) {
		for _, x := range all {
			taken(sum, x)
		}
	}
}

// Of a linear model, and where Of is known, what clips take is told by up to mostDrawn records, as many as
// leaves their products below drawnEntries numbers, and added manyFills times. Where intervals are as narrow
// as those without privacy an error of a hundredth times the way to the weights is longer than they are.
const (
	mostDrawn    = 20_000
	drawnEntries = 20_000_000
	manyFills    = 12
)

// drawnOf is how many records with d columns tell then what clips take.
func drawnOf(d int) int { return max(drawn, min(mostDrawn, drawnEntries/(d*d))) / 2 * 2 }

// Lengthened is the curvature of a linear model with what the clips of its Terms have taken.
func (t Trace) Lengthened() (Curvature, error) {
	d := len(t.Points[0])
	h, err := t.Curvature.repaired()
	if err != nil || !(h.matrix.At(d-1, d-1) > 0) {
		return t.Curvature, err
	}
	h.raw = &t.Curvature
	h, _, err = filled(h, whitened(drawnOf(d), d-1), manyFills,
		func(h estimate) *columns { return plain(h, t.Observation) },
		each(func(sum *mat.SymDense, x []float64) { t.Terms.Taken(sum, t.Observation, x) }))
	if err != nil {
		return t.Curvature, err
	}
	return *h.raw, nil
}

// plain returns the columns of a linear model whose records have c times the products of theirs.
func plain(h estimate, c float64) *columns {
	d := h.matrix.SymmetricDim()
	at := h.matrix.At(d-1, d-1)
	out := &columns{records: at / c, mean: mat.NewVecDense(d, nil), scatter: mat.NewSymDense(d, nil)}
	for i := range d {
		out.mean.SetVec(i, h.matrix.At(i, d-1)/at)
	}
	out.scatter.ScaleSym(1/at, h.matrix)
	out.scatter.SymRankOne(out.scatter, -1, out.mean)
	out.draw(h.raw.SD / at)
	return out
}

// filled adds so often what is taken from records, one for each normal vector, whose columns follow from the
// curvature.
func filled(shown estimate, normals [][]float64, times int, of func(h estimate) *columns,
	taken func(sum *mat.SymDense, x [][]float64)) (estimate, *recordsLaw, error) {
	h, l := shown, &recordsLaw{}
	for range times {
		c := of(h)
		var err error
		if l.x, err = c.draws(normals); err != nil {
			return shown, nil, err
		}
		l.records = c.records
		sum := mat.NewSymDense(shown.matrix.SymmetricDim(), nil)
		taken(sum, l.x)
		sum.ScaleSym(c.records/float64(len(normals)), sum)
		if h, err = shown.plus(sum); err != nil {
			return shown, nil, err
		}
	}
	return h, l, nil
}

// plus is the estimate with what clips have taken. It is repaired again where the noisy matrix is known,
// whose noise grows as the estimate does: what is taken follows from what is shown.
func (e estimate) plus(taken *mat.SymDense) (estimate, error) {
	sum := mat.NewSymDense(taken.SymmetricDim(), nil)
	if e.raw == nil {
		sum.AddSym(e.matrix, taken)
		return estimate{matrix: sum, noise: e.noise}, nil
	}
	sum.AddSym(e.raw.Matrix, taken)
	raw := &Curvature{sum, e.raw.SD * (1 + mat.Trace(taken)/mat.Trace(e.matrix))}
	out, err := raw.repaired()
	out.raw = raw
	return out, err
}

// Predicted is the mean prediction of a record, and its slope, over a Gaussian of weights ([MacKay92]).
func Predicted(x, mean, variance []float64) (p, slope float64) {
	a, v := 0.0, 0.0
	for i, xi := range x {
		a += xi * mean[i]
		v += xi * xi * variance[i]
	}
	f := 1 / math.Sqrt(1+v/logistic.Probit)
	p = 1 / (1 + math.Exp(-f*a))
	return p, f * p * (1 - p)
}
