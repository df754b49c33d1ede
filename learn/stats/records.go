package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// clipped is the law of records whose weighted products are known, with what the radius takes of them.
type clipped struct {
	normals
	taken    *taken
	records  float64
	variance float64 // of residuals
	lost     float64 // what the radius takes of their mean square
	miss     []float64
	given    float64 // the share of what the radius takes that counts
	weight   float64 // mean weight of a record
	moves    bool    // the last pass changed it
}

// settled is how far, as a share, a law may move in the last pass.
const settled = 1e-4

// renew follows a fit with the law. Noise is the standard deviation of the noise on the fit's variance. What
// the radius takes counts by the share of the weights that the sums determine, and of the variance's square
// that is above its noise's: noise alone has no law that is worth to be followed.
func (l *clipped) renew(radius float64, m noisy, x spectrum, f fitted, prior *mat.SymDense,
	noise float64) error {
	d := len(f.mean)
	given, weight := l.given, l.weight
	l.given, l.moves = 0, false
	if x.gram.At(d-1, d-1) <= clear*m.sd {
		return nil
	}
	takes, err := l.follow(radius, x.gram, f)
	if err != nil || !takes {
		l.scatter = nil
		return err
	}
	var drawn mat.Dense
	drawn.Mul(f.covariance, prior)
	known := max(0, (float64(d)-mat.Trace(&drawn))/float64(len(x.values)))
	l.given = known * max(0, 1-noise*noise/(f.variance*f.variance))
	l.weight = 1 - l.taken.share
	l.moves = math.Abs(l.given-given)+math.Abs(l.weight-weight) > settled
	return nil
}

// follow moves the law towards the weighted products of the features, with the weights and the variance of a
// fit. It reports whether the radius takes anything.
func (l *clipped) follow(radius float64, gram *mat.SymDense, f fitted) (bool, error) {
	d := len(f.mean)
	if l.scatter == nil {
		l.normals = normals{mat.NewVecDense(d+1, nil), mat.NewSymDense(d+1, nil)}
		mean, scatter := split(gram)
		for i := range d {
			l.mean.SetVec(i, mean.AtVec(i))
			for j := i; j < d; j++ {
				l.scatter.SetSym(i, j, scatter.At(i, j))
			}
		}
	} else if !l.move(gram) {
		return false, nil
	}
	w, line := mat.NewVecDense(d, f.mean), mat.NewVecDense(d+1, nil)
	var cross mat.VecDense
	cross.MulVec(l.scatter.SliceSym(0, d), w)
	for i, x := range f.mean {
		l.scatter.SetSym(i, d, cross.AtVec(i))
		line.SetVec(i, -x)
	}
	line.SetVec(d, 1)
	l.scatter.SetSym(d, d, mat.Dot(&cross, w)+f.variance)
	l.mean.SetVec(d, mat.Dot(l.mean.SliceVec(0, d), w))
	l.variance = f.variance
	var err error
	if l.taken, err = l.normals.taken(radius, line); err != nil || l.taken == nil {
		return false, err
	}
	l.records = gram.At(d-1, d-1) / (1 - l.taken.share)
	var miss mat.VecDense
	miss.MulVec(l.taken.products, line)
	l.miss, l.lost = miss.RawVector().Data[:d], mat.Dot(&miss, line)
	return true, nil
}

// split returns the mean and the covariance of features with such products, up to a factor. The last is the
// bias.
func split(gram mat.Symmetric) (*mat.VecDense, *mat.SymDense) {
	d := gram.SymmetricDim()
	bias := gram.At(d-1, d-1)
	mean, scatter := mat.NewVecDense(d, nil), mat.NewSymDense(d, nil)
	for i := range d {
		mean.SetVec(i, gram.At(i, d-1)/bias)
		for j := i; j < d-1; j++ {
			scatter.SetSym(i, j, (gram.At(i, j)-gram.At(i, d-1)*gram.At(j, d-1)/bias)/bias)
		}
	}
	return mean, scatter
}

// move adds to the features' mean what their weighted mean lacks, and changes their covariance as the
// weighted one must change. It reports whether both are regular.
func (l *clipped) move(gram *mat.SymDense) bool {
	d := gram.SymmetricDim()
	left := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			left.SetSym(i, j, l.scatter.At(i, j)+l.mean.AtVec(i)*l.mean.AtVec(j)-l.taken.products.At(i, j))
		}
	}
	mean, scatter := split(gram)
	weightedMean, weighted := split(left)
	for i := range d - 1 {
		l.mean.SetVec(i, l.mean.AtVec(i)+mean.AtVec(i)-weightedMean.AtVec(i))
	}
	if d == 1 {
		return true
	}
	var to, from mat.Cholesky
	if !to.Factorize(ridged(scatter)) || !from.Factorize(ridged(weighted)) {
		return false
	}
	var wanted, inverse, lower mat.TriDense
	to.LTo(&wanted)
	from.LTo(&lower)
	if inverse.InverseTri(&lower) != nil {
		return false
	}
	var way, half, full mat.Dense
	way.Mul(&wanted, &inverse)
	half.Mul(&way, l.scatter.SliceSym(0, d-1))
	full.Mul(&half, way.T())
	for i := range d - 1 {
		for j := i; j < d-1; j++ {
			l.scatter.SetSym(i, j, full.At(i, j))
		}
	}
	return true
}

// ridge is the least variance of features in any direction, as a share of their mean one.
const ridge = 1e-6

// ridged is the covariance without the bias, with a ridge.
func ridged(m *mat.SymDense) *mat.SymDense {
	d := m.SymmetricDim() - 1
	out := mat.NewSymDense(d, nil)
	out.CopySym(m.SliceSym(0, d))
	by := ridge * mat.Trace(out) / float64(d)
	for i := range d {
		out.SetSym(i, i, out.At(i, i)+by)
	}
	return out
}

// score is what the law tells of X'y in the coordinates of eigenvectors of X'X.
type score struct {
	slopes  *mat.Dense // by the weights, a column for each coordinate
	lacking []float64  // what is to be added to the coordinates
	spread  []float64  // their variance by sampling
}

// score returns the law of X'y - X'X w near the weights.
func (l *clipped) score(x spectrum, f fitted) score {
	d, r := x.vectors.Dims()
	s := score{mat.NewDense(d, r, nil), make([]float64, r), make([]float64, r)}
	s.slopes.Apply(func(_, j int, v float64) float64 { return v * x.values[j] }, x.vectors)
	for i, v := range x.values {
		s.spread[i] = v * f.variance
	}
	if l.given == 0 {
		return s
	}
	bent := mat.NewDense(d, r, nil)
	bent.Mul(l.taken.slope.SliceSym(0, d), x.vectors)
	bent.Scale(l.given*l.records, bent)
	s.slopes.Sub(s.slopes, bent)
	w, miss := mat.NewVecDense(d, f.mean), mat.NewVecDense(d, l.miss)
	features, squares := l.scatter.SliceSym(0, d), l.taken.squares.SliceSym(0, d)
	for i := range r {
		v := x.vectors.ColView(i)
		s.lacking[i] = l.given*l.records*mat.Dot(v, miss) - mat.Dot(bent.ColView(i), w)
		mean := mat.Dot(l.mean.SliceVec(0, d), v)
		left := l.variance*(mat.Inner(v, features, v)+mean*mean) - mat.Inner(v, squares, v)
		s.spread[i] += l.given * (l.records*left - s.spread[i])
	}
	return s
}

// longer is the variance of residuals over the mean of the weighted ones.
func (l *clipped) longer() float64 {
	if l.given == 0 {
		return 1
	}
	return 1 + l.given*(l.variance*l.weight/(l.variance-l.lost)-1)
}

// largest is the largest mean of the records' weighted squares, over the square of the radius.
func (l *clipped) largest() float64 {
	if l.given == 0 {
		return 1
	}
	return 1 / (1 - l.given*l.taken.share)
}
