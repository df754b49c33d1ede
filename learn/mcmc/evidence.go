package mcmc

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// evidence is a noisy Gaussian approximation of a likelihood: log p(data | At + u) =
// Gradient'u - u'Curvature u / 2 up to a constant, with what is known of its errors.
type evidence struct {
	At, Gradient []float64
	Curvature    *mat.SymDense
	// Noise is the variance of the error of a coordinate of Gradient; errors are independent.
	Noise float64
	// CurvatureNoise is the standard deviation of the error of a diagonal entry of
	// Curvature; other entries have sqrt(1/2) of it, independently. Products weighted 5 and 7
	// have almost that.
	CurvatureNoise float64
	// Logits is the standard deviation of the records' logits at a point at distance 1 from 0.
	Logits float64
	// Even is Query.even for records of mean norm 1, or 0.
	Even float64
	// Prior is the precision of the prior, which has mean 0.
	Prior *mat.SymDense
}

// ErrSingular: a matrix has no inverse to working precision.
var ErrSingular = errors.New("singular matrix")

// approximation is the Gaussian with the moments of the posterior of noisy evidence, the share of its mean to
// keep, and how gradients depend on the weights by the mean curvature.
type approximation struct {
	mean       []float64
	covariance *mat.SymDense
	keep       float64
	by         relation
}

// curvatures are draws of what the noisy one leaves possible (likely), and their mean, under any prior of the
// weights. Errors: ErrSingular.
func (e evidence) curvatures(r random) (draws []curved, average curved, err error) {
	draws = make([]curved, curvatureDraws)
	if e.CurvatureNoise == 0 {
		draws = draws[:1]
	}
	average = curved{h: mat.NewSymDense(len(e.At), nil)}
	for k := range draws {
		if draws[k], err = e.likely(r); err != nil {
			return nil, average, err
		}
		if draws[k].h, err = bounded(draws[k].h); err != nil {
			return nil, average, err
		}
		var part mat.SymDense
		part.ScaleSym(1/float64(len(draws)), draws[k].h)
		average.h.AddSym(average.h, &part)
		average.lost += draws[k].lost / float64(len(draws))
	}
	return draws, average, nil
}

// posterior returns the posterior, the mixture of those by the arcs of all draws. If H is the curvature and
// gradients are linear each is N(At + S (V^-1 H^-1 Gradient - Prior At), S), where V = H^-1 + H^-1 Noise H^-1
// and S = (Prior + V^-1)^-1. H is known up to noise, and has draws and their average from curvatures: a
// direction whose curvature can't be told from 0 keeps the prior's width. The prior enters once.
// docs/mcmc.md has the derivation. Errors: ErrSingular.
func (e evidence) posterior(draws []curved, average curved) (*approximation, error) {
	all := newMoments(len(e.At))
	length := math.Sqrt(dot(e.At, e.At))
	for _, c := range draws {
		l, err := newArcLaw(e, c)
		if err != nil {
			return nil, err
		}
		var m *moments
		if m, length, err = l.moments(length); err != nil {
			return nil, err
		}
		all.n++
		all.mix(m, 1/all.n)
	}
	by := e.arc(average, steepness(e.Logits, all.mean)/steepness(e.Logits, e.At))
	keep, err := e.kept(by)
	return &approximation{all.mean, all.covariance, keep, by}, err
}

// kept is the share of a mean that the errors of a relation's start leave: the positive part of James and
// Stein's estimate ([JS61]) in coordinates in which they are independent with variance 1.
func (e evidence) kept(r relation) (float64, error) {
	if len(e.At) < 3 {
		return 1, nil
	}
	total := r.total(e.Noise)
	var whitened mat.VecDense
	if whitened.SolveVec(total, r.start) != nil {
		return 0, fmt.Errorf("trace posterior: %w", ErrSingular)
	}
	return max(0, 1-float64(len(e.At)-2)/mat.Dot(&whitened, r.start)), nil
}

// moments are those of a mixture of n laws.
type moments struct {
	n          float64
	mean       []float64
	covariance *mat.SymDense
}

func newMoments(d int) *moments { return &moments{0, make([]float64, d), mat.NewSymDense(d, nil)} }

// mix replaces a share of the mixture by another one.
func (m *moments) mix(o *moments, share float64) {
	away := append([]float64(nil), o.mean...)
	add(away, -1, m.mean)
	add(m.mean, share, away)
	var part mat.SymDense
	part.ScaleSym(share, o.covariance)
	m.covariance.ScaleSym(1-share, m.covariance)
	m.covariance.AddSym(m.covariance, &part)
	m.covariance.SymRankOne(m.covariance, share*(1-share), mat.NewVecDense(len(away), away))
}

const (
	curvatureDraws = 100  // of the curvature: the moments' relative error is about a tenth
	leastCurvature = 0.02 // of eigenvalues; the metric's is 1
)

// likely draws a curvature from what the noisy one leaves possible. Before it was measured it has a Wishart
// law around the curvature of standard normal records, m (I - (1 - radial) rr'), where r is the direction of
// At: logits of a large spread saturate along it. m lies between 0 and 1, with standard deviation 0.25 around
// 0.4. The entries have the spread that the measured matrix shows beyond its noise: one for which eigenvalues
// lie within m/2 at least, and at most what eigenvalues from 0 to 1 with mean m allow.
func (e evidence) likely(r random) (curved, error) {
	n := float64(len(e.At))
	noise := e.CurvatureNoise * e.CurvatureNoise
	if noise == 0 {
		return curved{e.Curvature, e.lost(e.Curvature, 0)}, nil
	}
	mean := e.shape(math.Exp(0.15 * r.normal()))
	size := mat.Trace(mean)
	m, share := meanCurvature(mat.Trace(e.Curvature), size, len(e.At), noise)
	distance := 0.0
	for i := range e.At {
		for j := range e.At {
			v := e.Curvature.At(i, j) - m*mean.At(i, j)
			distance += v * v
		}
	}
	spread := min(max(2*distance/(n*(n+1))-noise, m*m/(8*n)), 2*m*(1-m)/n)
	m = min(1, max(0.05, m+math.Sqrt(share*noise*n)/size*r.normal()))
	mean.ScaleSym(m, mean)
	law, err := newWishart(mean, m, spread)
	if err != nil {
		return curved{}, err
	}
	h, err := law.given(e.Curvature, noise, r)
	if err != nil {
		return curved{}, err
	}
	return curved{h, e.lost(h, m*(n-size))}, nil
}

// abnormal is the standard deviation, of itself, of what large logits take from a curvature by the law of
// normal records, if they aren't normal.
const abnormal = 0.2

// lost is what a curvature lacks along At: that by which the arc has this curvature there, and by normal
// records as far as its noise, which counts as often as logits are long, hides that.
func (e evidence) lost(h *mat.SymDense, normal float64) float64 {
	at := mat.NewVecDense(len(e.At), e.At)
	length := dot(e.At, e.At)
	if length == 0 {
		return 0
	}
	times := e.Logits * e.Logits * length / probit
	own := times * mat.Inner(at, h, at) / length
	noise, doubt := times*e.CurvatureNoise, abnormal*normal
	if noise == 0 {
		return own
	}
	part := doubt * doubt / (doubt*doubt + noise*noise)
	return part*own + (1-part)*normal
}

// shape is I - (1 - radial) rr', for logits of a spread times that at At.
func (e evidence) shape(times float64) *mat.SymDense {
	d := len(e.At)
	h := mat.NewSymDense(d, nil)
	for i := range d {
		h.SetSym(i, i, 1)
	}
	square := dot(e.At, e.At)
	if square > 0 {
		h.SymRankOne(h, (radial(times*e.Logits*math.Sqrt(square), e.Even)-1)/square, mat.NewVecDense(d, e.At))
	}
	return h
}

// radial is the curvature of a logistic likelihood along the weights over that across them,
// E w p(1-p) z^2 / (s^2 E w p(1-p)), for standard normal records, logits z of standard deviation s, and the
// weights w of records of norm 1 by Query.even.
func radial(s, even float64) float64 {
	if s < 1e-3 {
		return 1
	}
	along, across := 0.0, 0.0
	for i := -200; i <= 200; i++ {
		z := float64(i) / 40 // standard deviations
		q := 1 / (1 + math.Exp(-s*z))
		w := q * (1 - q) * math.Exp(-z*z/2) * Query{even: even}.weight(max(q, 1-q))
		across += w
		along += w * z * z
	}
	return along / across
}

// curved is a curvature at At, and what it lacks along At of that across it, because large logits
// saturate.
type curved struct {
	h    *mat.SymDense
	lost float64
}

// relation is how gradients depend on the weights: start ~ N(pull w, scatter + Noise).
type relation struct {
	start         *mat.VecDense
	pull, scatter *mat.SymDense
}

// total is the covariance of the start.
func (r relation) total(noise float64) *mat.SymDense {
	out := mat.NewSymDense(r.scatter.SymmetricDim(), nil)
	out.CopySym(r.scatter)
	for i := range r.scatter.SymmetricDim() {
		out.SetSym(i, i, out.At(i, i)+noise)
	}
	return out
}

// arc takes records for normal: by Stein's identity a gradient is linear in the weights but for the
// mean slope of the logistic function, which is f times the one at At.
func (e evidence) arc(c curved, f float64) relation {
	d := len(e.At)
	full, scatter := mat.NewSymDense(d, nil), mat.NewSymDense(d, nil)
	full.CopySym(c.h)
	at := mat.NewVecDense(d, e.At)
	if square := dot(e.At, e.At); square > 0 {
		full.SymRankOne(full, c.lost/square, at)
	}
	start := mat.NewVecDense(d, nil)
	start.MulVec(full, at)
	start.AddVec(start, mat.NewVecDense(d, e.Gradient))
	full.ScaleSym(f, full)
	scatter.ScaleSym(f, c.h)
	return relation{start, full, scatter}
}

// symmetric is the symmetric part of a square matrix.
func symmetric(a *mat.Dense) *mat.SymDense {
	d, _ := a.Dims()
	sym := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			sym.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	return sym
}

// bounded raises the eigenvalues of a noisy curvature to leastCurvature, and lowers them to 1, the metric's.
func bounded(h *mat.SymDense) (*mat.SymDense, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(h, true) {
		return nil, fmt.Errorf("trace posterior: eigenvalues: %w", ErrSingular)
	}
	var q, scaled, out mat.Dense
	eigen.VectorsTo(&q)
	values := eigen.Values(nil)
	scaled.Apply(func(_, j int, v float64) float64 { return v * min(1, max(values[j], leastCurvature)) }, &q)
	out.Mul(&scaled, q.T())
	return symmetric(&out), nil
}
