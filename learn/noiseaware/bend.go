package noiseaware

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/logistic"
)

// bend is how a model's scores depend on the weights: over the public Gaussian of mean m the expected
// score is truth(w) pull w - factor(m) pull m.
type bend struct {
	pull *mat.SymDense
	// factor and truth are relative to the point of the known curvature. variance is that of the
	// public Gaussian, and of what is known of the weights.
	factor, truth func(mean, variance []float64) float64
}

// steepest is the largest share of its limit that an estimate of a logit's variance may have.
const steepest = 0.8

// line is the bend of a linear model: the curvature is the same everywhere.
func line(h *mat.SymDense) bend {
	return bend{h, one, one}
}

func one([]float64, []float64) float64 { return 1 }

// chord takes a logistic model's scores for linear in the weights. Over a Gaussian a logistic
// function of an activation of variance v is about that at the mean times 1/sqrt(1 + pi v/8), so
// that a score is the one at the point times this, and the curvature has it as a factor. Points that lie
// around their mean with variances, since noise moves them, leave what one wider Gaussian there does, and the
// curvature is at one of them.
func chord(h *mat.SymDense, spread, around []float64) bend {
	l := newLogits(h)
	at := func(v float64) float64 { return 1 / math.Sqrt(1+v/logistic.Probit) }
	wide := l.around(around)
	pull := mat.NewSymDense(h.SymmetricDim(), nil)
	pull.ScaleSym(1/at(l.around(spread)+wide), h)
	return bend{pull, func(_, variance []float64) float64 { return at(l.around(variance) + wide) }, one}
}

// arc is the bend of a logistic model whose columns are normal with mean 0 and covariance S. By
// Stein's identity a record's expected score is g(w) S w - g(m) S m, with g the mean slope of the
// logistic function: it is linear but for a factor. With a normal distribution function in the
// place of the logistic one, g depends on the mean and the variance of the logit only, and the
// curvature about the weighted means of the columns, which its last column has, is
// g (S - S m m'S / (8/pi + v + m'S m)) over a Gaussian of activations of variance v, for any bias,
// the last weight.
func arc(e estimate, point, spread []float64, sd, records float64) bend {
	h := e.matrix
	d := h.SymmetricDim()
	l := newLogits(h)
	limit := logistic.Probit + l.around(spread)
	slopes := slopesOf(point)
	mean := mat.NewVecDense(d, nil)
	for i := range d - 1 {
		mean.SetVec(i, h.At(i, d-1)/l.records)
	}
	shift := mat.Dot(mean, slopes)
	pull := mat.NewSymDense(d, nil) // of the slopes: the intercept's column has no part in S
	pull.SymRankOne(h, -l.records, mean)
	for i := range d - 1 {
		pull.SetSym(i, d-1, 0)
	}
	aw := mat.NewVecDense(d, nil)
	aw.MulVec(pull, slopes)
	across := e.along(slopes, l.records, shift*shift, steepest*limit)
	q := e.saturation(sd, records, point[d-1]+shift, limit, slopes).share(across)
	if q != across {
		q = min(max(q, 0), widest*limit)
	}
	if e.raw != nil || q != across {
		lengthen(aw, slopes, q*l.records)
	}
	pull.SymRankOne(pull, 1/(limit*(1-q/limit))/l.records, aw)
	g := func(mean, variance []float64) float64 {
		w := slopesOf(mean)
		v := logistic.Probit + mat.Inner(w, pull, w)/l.records + l.around(variance)
		return math.Exp(-mean[d-1]*mean[d-1]/(2*v)) / math.Sqrt(v)
	}
	at := g(point, spread)
	relative := func(mean, variance []float64) float64 { return g(mean, variance) / at }
	return bend{pull, relative, relative}
}

// lengthen scales v so that its product with w, if positive, is this.
func lengthen(v, w *mat.VecDense, product float64) {
	if p := mat.Dot(v, w); p > 0 {
		v.ScaleVec(product/p, v)
	}
}

// slopesOf are the weights but for the bias.
func slopesOf(w []float64) *mat.VecDense {
	out := mat.NewVecDense(len(w), append([]float64(nil), w...))
	out.SetVec(len(w)-1, 0)
	return out
}

// logits are what a curvature tells of the records' activations.
type logits struct {
	records float64   // times the mean slope of the logistic function
	squares []float64 // mean squares of the columns
}

func newLogits(h *mat.SymDense) logits {
	d := h.SymmetricDim()
	l := logits{h.At(d-1, d-1), diagonal(h)}
	for i := range l.squares {
		l.squares[i] /= l.records
	}
	return l
}

// around is the mean variance of a record's activation over a Gaussian of the weights.
func (l logits) around(variance []float64) float64 {
	v := 0.0
	for i, x := range variance {
		v += x * l.squares[i]
	}
	return v
}

// between is the mixture of two posteriors in equal parts.
func between(a, b *gauss.Moments) *gauss.Moments { return mixture(0.5, a, b) }

// mixture has the moments of a mixture of two laws, with this share of the second. It has covariances if both
// have.
func mixture(share float64, a, b *gauss.Moments) *gauss.Moments {
	d := len(a.Mean)
	m := &gauss.Moments{Mean: make([]float64, d), Variance: make([]float64, d)}
	off := func(i int) float64 { return math.Sqrt(share*(1-share)) * (a.Mean[i] - b.Mean[i]) }
	for i := range d {
		m.Mean[i] = (1-share)*a.Mean[i] + share*b.Mean[i]
		m.Variance[i] = (1-share)*a.Variance[i] + share*b.Variance[i] + off(i)*off(i)
	}
	if a.Covariance == nil || b.Covariance == nil {
		return m
	}
	m.Covariance = mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			c := (1-share)*a.Covariance.At(i, j) + share*b.Covariance.At(i, j) + off(i)*off(j)
			m.Covariance.SetSym(i, j, c)
		}
	}
	return m
}
