package noiseaware

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/gauss"
	"choir/learn/noiseaware/internal/logistic"
)

// columns are a logistic model's records as normal columns, the last of which is 1. With a normal
// distribution function Phi of variance probit in the place of the logistic one, the mean
// prediction at the weights w is Phi(a/sqrt(v)) for the mean logit a = mu'w and v = probit + w'S w,
// with mu and S the mean and the covariance of the columns. Over a Gaussian of weights v grows by
// the variance of the logit.
type columns struct {
	records float64
	mean    *mat.VecDense
	scatter *mat.SymDense // covariance; zero for the last column
	doubt   float64       // standard deviation of the error of an entry of the mean, and of scatter
}

// normal returns the columns whose curvature at a point, over a Gaussian of these variances, is h.
// The entry of the last column is positive. The curvature is the records times the derivative of
// Phi by a, times their second moments under weights that are normal in the logit: these have the
// means mu - a/v S w and the covariance S - S w w'S/v. Means within the noise on h, of standard
// deviation sd, are taken for 0. records is 0 if not known: then it is what h tells.
func normal(e estimate, sd float64, point, spread []float64, records float64) *columns {
	h := e.matrix
	d := h.SymmetricDim()
	at := h.At(d-1, d-1)
	limit := logistic.Probit
	for i, x := range spread {
		limit += x * h.At(i, i) / at
	}
	c := &columns{records: records, mean: mat.NewVecDense(d, nil), scatter: mat.NewSymDense(d, nil)}
	weighted := mat.NewVecDense(d, nil)
	for i := range d {
		weighted.SetVec(i, h.At(i, d-1)/at)
	}
	c.scatter.ScaleSym(1/at, h)
	c.scatter.SymRankOne(c.scatter, -1, weighted)
	w := mat.NewVecDense(d, point)
	pull := mat.NewVecDense(d, nil)
	pull.MulVec(c.scatter, w)
	slopes := slopesOf(point)
	shift := mat.Dot(weighted, slopes)
	shown := e.along(slopes, at, shift*shift, steepest*limit)
	q := e.saturation(sd, records, point[d-1]+shift, limit, slopes).share(shown)
	if e.raw != nil || q != shown {
		lengthen(pull, slopes, q)
	}
	v := limit / (1 - q/limit)
	c.scatter.SymRankOne(c.scatter, v/(limit*limit), pull)
	c.mean.AddScaledVec(weighted, point[d-1]/limit, pull)
	c.draw(sd / at)
	c.doubt = sd / at * (v / limit) * (v / limit)
	if records == 0 {
		u := mat.Dot(c.mean, w) / math.Sqrt(v)
		c.records = at * math.Sqrt(2*math.Pi*v) * math.Exp(u*u/2)
	}
	return c
}

// logit returns the mean logit a over a Gaussian of the weights, and v. The covariance is diagonal
// if nil.
func (c *columns) logit(weights, variance []float64, covariance *mat.SymDense) (a, v float64) {
	w := mat.NewVecDense(len(weights), weights)
	a, v = mat.Dot(c.mean, w), logistic.Probit+mat.Inner(w, c.scatter, w)
	for i := range variance {
		if covariance == nil {
			v += variance[i] * (c.scatter.At(i, i) + c.mean.AtVec(i)*c.mean.AtVec(i))
			continue
		}
		for j := range variance {
			v += covariance.At(i, j) * (c.scatter.At(i, j) + c.mean.AtVec(i)*c.mean.AtVec(j))
		}
	}
	return a, max(v, logistic.Probit) // a noisy covariance may not be one
}

// off is what the columns' means add to the mean logit at these weights, without the intercept.
func (c *columns) off(weights []float64) float64 {
	last := len(weights) - 1
	return floats.Dot(c.mean.RawVector().Data[:last], weights[:last])
}

// rate returns the mean prediction over a Gaussian of independent weights, and the standard
// deviation of its error by that of the columns' mean and covariance.
func (c *columns) rate(weights, variance []float64) (rate, sd float64) {
	a, v := c.logit(weights, variance, nil)
	u := a / math.Sqrt(v)
	slopes := floats.Norm(weights[:len(weights)-1], 2)
	spread := math.Sqrt2 * slopes * slopes * u / (2 * math.Sqrt(v))
	sd = math.Exp(-u*u/2) / math.Sqrt(2*math.Pi*v) * c.doubt * math.Hypot(slopes, spread)
	return logistic.Cumulative(u), sd
}

// near is how many standard deviations of its error a mean prediction may be from the rate that
// rounds revealed.
const near = 1.5

// rarest is the smallest rate that a noisy one is taken for.
const rarest = 1e-4

// shift is what the intercept of a posterior lacks for a mean prediction near the rate of class
// one, which is known up to a normal error of standard deviation sd.
func (c *columns) shift(m *gauss.Moments, rate, sd float64) float64 {
	rate, sd = share(rate, sd)
	a, v := c.logit(m.Mean, m.Variance, m.Covariance)
	own := logistic.Cumulative(a / math.Sqrt(v))
	low, high := max(rarest, rate-near*sd), min(1-rarest, rate+near*sd)
	if own >= low && own <= high {
		return 0
	}
	want := min(max(own, low), high)
	return -math.Sqrt2*math.Erfcinv(2*want)*math.Sqrt(v) - a
}

// Share returns the mean of a share of which x is known, with a normal error of standard deviation sd.
func Share(x, sd float64) float64 {
	mean, _ := share(x, sd)
	return mean
}

// share returns the mean and the standard deviation of a share of which x is known, with a normal
// error of standard deviation sd: those of the normal law between 0 and 1.
func share(x, sd float64) (mean, left float64) {
	if sd == 0 {
		return min(max(x, 0), 1), 0
	}
	const steps = 1000
	mode := min(max(x, 0), 1)
	low, high := max(0, mode-8*sd), min(1, mode+8*sd)
	var mass, first, second float64
	for i := range steps {
		r := low + (high-low)*(float64(i)+0.5)/steps
		p := math.Exp(((mode-x)*(mode-x) - (r-x)*(r-x)) / (2 * sd * sd))
		mass += p
		first += p * r
		second += p * r * r
	}
	mean = first / mass
	return mean, math.Sqrt(max(second/mass-mean*mean, 0))
}

// rate returns the rate of class one that the rounds' scores reveal, and the standard deviation of
// its error: at each point it is the mean prediction and the score of the intercept over the
// records.
func (t Trace) rate(c *columns, weights []float64) (rate, sd float64) {
	last := len(t.Points[0]) - 1
	for s := range t.Points {
		at := 0.0
		t.parts(s, func(share float64, p, spread []float64) {
			mean, doubt := c.rate(p, spread)
			at += share * mean
			sd += math.Abs(weights[s]) * share * doubt
		})
		rate += weights[s] * (at + t.Scores[s][last]/c.records)
	}
	noise := t.Variance(weights)[last] + t.errors(weights)*max(0, t.Curvature.Matrix.At(last, last))
	return rate, math.Hypot(sd, math.Sqrt(noise)/c.records)
}

// A class is called rare if its rate is at most rareRate and within rareDoubt standard deviations of
// its error from 0.
const (
	rareRate  = 0.15
	rareDoubt = 2
)

// Rare reports whether one of a logistic model's classes is rare, and the noise hides how rare.
func (t Trace) Rare() (bool, error) {
	if len(t.Points) == 0 || t.Spread == nil {
		return false, nil
	}
	h, err := t.Curvature.repaired()
	if err != nil {
		return false, err
	}
	if d := h.matrix.SymmetricDim(); !(h.matrix.At(d-1, d-1) > 0) {
		return false, nil
	}
	weights, err := t.weights(h.matrix, t.last(), 0)
	if err != nil {
		return false, err
	}
	return unknown(share(t.rate(t.columns(h), weights))), nil
}

// columns are those of a logistic model.
func (t Trace) columns(h estimate) *columns {
	sd := t.Curvature.SD
	if h.raw != nil {
		sd = h.raw.SD
	}
	return normal(h, sd, t.CurvaturePoint, t.CurvatureSpread, t.Records)
}

// Class is what the score of an intercept at a point tells of the rate of class one, given what is
// known of the columns, the last of which is 1.
type Class struct {
	Records float64
	// Products has the mean products of the columns, and Doubt the standard deviation of the error of
	// an entry.
	Products *mat.SymDense
	Doubt    float64
	Point    []float64
	// Score is the derivative of the log-likelihood by the intercept at the point, and ScoreSD the
	// standard deviation of its noise.
	Score, ScoreSD float64
}

// Correct returns what the intercept of a posterior lacks for predictions that agree with the rate,
// and reports whether a class is rare and the noise hides how rare.
func (c Class) Correct(m *gauss.Moments) (shift float64, rare bool) {
	k, rate, sd := c.rate()
	return k.shift(m, rate, sd), unknown(share(rate, sd))
}

// Start returns the intercept's score where all weights are 0: the records times what the rate of class one
// is from 1/2, for the mean rate that the noise leaves possible.
func (c Class) Start() float64 {
	_, rate, _ := c.rate()
	return c.Records * (Share(rate, c.ScoreSD/c.Records) - 0.5)
}

// rate returns the columns, the rate of class one, and the standard deviation of its error.
func (c Class) rate() (k *columns, rate, sd float64) {
	d := len(c.Point)
	k = &columns{records: c.Records, mean: mat.NewVecDense(d, nil), scatter: mat.NewSymDense(d, nil),
		doubt: c.Doubt}
	for i := range d - 1 {
		k.mean.SetVec(i, c.Products.At(i, d-1))
	}
	k.draw(c.Doubt)
	k.scatter.SymRankOne(c.Products, -1, k.mean)
	for i := range d {
		k.scatter.SetSym(i, d-1, 0)
	}
	at, doubt := k.rate(c.Point, make([]float64, d))
	return k, at + c.Score/c.Records, math.Hypot(doubt, c.ScoreSD/c.Records)
}

// draw takes means within their noise, of standard deviation sd, for 0, but for the last, which is 1.
func (c *columns) draw(sd float64) {
	d := c.mean.Len()
	c.mean.SetVec(d-1, 0)
	if length := mat.Dot(c.mean, c.mean); length > 0 { // [JS61]
		c.mean.ScaleVec(max(0, 1-float64(d-1)*sd*sd/length), c.mean)
	}
	c.mean.SetVec(d-1, 1)
}

// unknown reports whether a rate may be next to 0 or to 1, given its error.
func unknown(rate, sd float64) bool { return min(rate, 1-rate) < min(rareRate, rareDoubt*sd) }
