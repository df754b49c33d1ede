package mcmc

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// arcLaw is the density of the weights w by an arc (relation), in the eigenvectors of the curvature H: the
// start is N(f K w, f H + Noise), with K = H + lost axis axis'. f follows from the length of w alone, so that
// on a sphere the density is that of a normal law. As a whole it isn't normal where logits are long: as
// lengths grow so do the ways across that tell as much.
type arcLaw struct {
	logits, slope, noise float64 // slope is that at At
	values, axis, start  []float64
	lost                 float64
	prior                *mat.SymDense
	vectors              mat.Dense
}

// newArcLaw returns that of a curvature. Errors: ErrSingular.
func newArcLaw(e evidence, c curved) (*arcLaw, error) {
	d := len(e.At)
	l := &arcLaw{logits: e.Logits, slope: steepness(e.Logits, e.At), noise: e.Noise, lost: c.lost}
	var eigen mat.EigenSym
	if !eigen.Factorize(c.h, true) {
		return nil, fmt.Errorf("trace posterior: eigenvalues: %w", ErrSingular)
	}
	eigen.VectorsTo(&l.vectors)
	l.values = eigen.Values(nil)
	turn := func(v mat.Vector) []float64 {
		out := mat.NewVecDense(d, nil)
		out.MulVec(l.vectors.T(), v)
		return out.RawVector().Data
	}
	l.axis = turn(mat.NewVecDense(d, e.At))
	if n := math.Sqrt(dot(e.At, e.At)); n > 0 {
		scale(l.axis, 1/n)
	}
	l.start = turn(e.arc(c, 1).start)
	var p mat.Dense
	p.Product(l.vectors.T(), e.Prior, &l.vectors)
	l.prior = symmetric(&p)
	return l, nil
}

// sphere is all weights of one length: the normal law that has their density, and what they have of the
// posterior.
type sphere struct {
	length, log    float64 // log is the logarithm of the density of log(length), up to a constant
	mean, moved    []float64
	covariance     *mat.SymDense // moved is it times the mean
	square, spread float64       // mean and variance of the square of the normal law's length
}

// sphere returns that of a length. Errors: ErrSingular.
func (l *arcLaw) sphere(length float64) (*sphere, error) {
	d := len(l.values)
	f := steepness(l.logits, []float64{length}) / l.slope
	precision, way, log := l.given(f)
	s := &sphere{length: length, covariance: mat.NewSymDense(d, nil)}
	var chol mat.Cholesky
	if !chol.Factorize(precision) || chol.InverseTo(s.covariance) != nil {
		return nil, fmt.Errorf("trace posterior: %w", ErrSingular)
	}
	var mean, moved mat.VecDense
	mean.MulVec(s.covariance, way)
	moved.MulVec(s.covariance, &mean)
	s.mean, s.moved = mean.RawVector().Data, moved.RawVector().Data
	s.log = log + (mat.Dot(way, &mean)-chol.LogDet())/2
	norm := mat.Norm(s.covariance, 2)
	s.square = dot(s.mean, s.mean) + mat.Trace(s.covariance)
	s.spread = 4*dot(s.mean, s.moved) + 2*norm*norm
	// The square of a normal vector's length is about gamma-distributed.
	shape, scale := s.square*s.square/s.spread, s.spread/s.square
	gamma, _ := math.Lgamma(shape)
	s.log += shape*math.Log(length*length/scale) - length*length/scale - gamma
	return s, nil
}

// given are the precision of the normal law for an f, the precision times its mean, and the logarithm of the
// density at 0 but for the prior's.
func (l *arcLaw) given(f float64) (precision *mat.SymDense, way *mat.VecDense, log float64) {
	d := len(l.values)
	precision, way = mat.NewSymDense(d, nil), mat.NewVecDense(d, nil)
	precision.CopySym(l.prior)
	inverse, bent := make([]float64, d), make([]float64, d)
	along, cross := 0.0, 0.0
	for i, h := range l.values {
		inverse[i] = 1 / (f*h + l.noise)
		bent[i] = h * inverse[i] * l.axis[i]
		along += l.axis[i] * inverse[i] * l.axis[i]
		cross += l.axis[i] * inverse[i] * l.start[i]
		log += (math.Log(inverse[i]) - l.start[i]*inverse[i]*l.start[i]) / 2
	}
	by := f * f * l.lost
	for i, h := range l.values {
		way.SetVec(i, f*(h*inverse[i]*l.start[i]+l.lost*cross*l.axis[i]))
		precision.SetSym(i, i, precision.At(i, i)+f*f*h*inverse[i]*h)
		for j := i; j < d; j++ {
			v := bent[i]*l.axis[j] + l.axis[i]*bent[j] + l.lost*along*l.axis[i]*l.axis[j]
			precision.SetSym(i, j, precision.At(i, j)+by*v)
		}
	}
	return precision, way, log
}

// moments are those of the sphere, by the regression of the normal law's weights, and of their products, on
// the square of their length.
func (s *sphere) moments() *moments {
	d := len(s.mean)
	z := (s.length*s.length - s.square) / s.spread
	m := &moments{1, append([]float64(nil), s.mean...), mat.NewSymDense(d, nil)}
	add(m.mean, 2*z, s.moved)
	m.covariance.SymOuterK(2*z, s.covariance)
	m.covariance.AddSym(m.covariance, s.covariance)
	m.covariance.SymRankOne(m.covariance, -4/s.spread, mat.NewVecDense(d, s.moved))
	return m
}

const (
	climbs = 50   // to the likeliest length
	most   = 12   // lengths on each side of it
	faint  = 0.01 // density over the likeliest's at which lengths end
)

// likeliest is the likeliest length, from another one on, and the standard deviation of the logarithms of
// lengths near it.
func (l *arcLaw) likeliest(from float64) (top *sphere, sd float64, err error) {
	first, err := l.sphere(from)
	if err != nil {
		return nil, 0, err
	}
	if top, err = l.sphere(math.Sqrt(first.square)); err != nil {
		return nil, 0, err
	}
	step := math.Sqrt(top.spread) / (2 * top.square)
	for range climbs {
		up, err := l.sphere(top.length * math.Exp(step))
		if err != nil {
			return nil, 0, err
		}
		down, err := l.sphere(top.length * math.Exp(-step))
		if err != nil {
			return nil, 0, err
		}
		switch bend := 2*top.log - up.log - down.log; {
		case up.log > top.log && up.log >= down.log:
			top, step = up, 2*step
		case down.log > top.log:
			top, step = down, 2*step
		case bend > 4: // more than two standard deviations
			step /= 2
		default:
			return top, step / math.Sqrt(max(0.05, bend)), nil
		}
	}
	return top, step, nil
}

// moments are those of the law, as a sum over lengths a standard deviation apart, and the likeliest length;
// from is one near it. Errors: ErrSingular.
func (l *arcLaw) moments(from float64) (*moments, float64, error) {
	top, sd, err := l.likeliest(from)
	if err != nil {
		return nil, 0, err
	}
	if l.logits == 0 { // f is the same for all lengths
		return l.outward(&moments{1, top.mean, top.covariance}), top.length, nil
	}
	out := newMoments(len(l.values))
	take := func(s *sphere) float64 {
		density := math.Exp(s.log - top.log)
		out.n += density
		out.mix(s.moments(), density/out.n)
		return density
	}
	take(top)
	for _, side := range []float64{sd, -sd} {
		for k := 1; k <= most; k++ {
			s, err := l.sphere(top.length * math.Exp(side*float64(k)))
			if err != nil {
				return nil, 0, err
			}
			if take(s) < faint {
				break
			}
		}
	}
	return l.outward(out), top.length, nil
}

// outward are moments in the eigenvectors of H in those of phi.
func (l *arcLaw) outward(m *moments) *moments {
	var mean mat.VecDense
	var cov mat.Dense
	mean.MulVec(&l.vectors, mat.NewVecDense(len(m.mean), m.mean))
	cov.Product(&l.vectors, m.covariance, l.vectors.T())
	return &moments{1, mean.RawVector().Data, symmetric(&cov)}
}
