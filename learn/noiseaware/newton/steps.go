package newton

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
	"choir/learn/noiseaware"
	"choir/learn/noiseaware/internal/shrink"
)

// Steps is what R rounds revealed of d weights, if each party answers with a bounded step from a
// public point towards where its own records have their maximum.
type Steps struct {
	Prior float64 // precision of every weight, around 0
	// Scale is the largest standard deviation that weights are expected to have; 0: the prior's.
	Scale  float64
	Points [][]float64 // R x d: where the parties started
	Sums   [][]float64 // R x d: of the parties' steps, with noise
	Slopes [][]float64 // R x d: of the derivatives of each step by minus the point, with noise
	// SumNoise and SlopeNoise are the variances of the noise of a round's sum and slope in one
	// coordinate.
	SumNoise, SlopeNoise []float64
	Bounds               []float64 // R: of the length of a party's step
	Parties              []float64 // R
	Records              float64   // of a party; 0: not known
	// Observed is the variance of an observation by the plan, of a linear model; 0: of classes.
	Observed float64
	Squares  *Squares // nil: nothing is told of residuals
	// Expected is the slope of a party's steps without the bound that the plan expects, in (0, 1), and Kept the
	// share of it that the least bound is expected to keep near the true weights, in (0, 1].
	Expected, Kept float64
	// Chance is by how many standard deviations of its squared length the noise on a mean is taken for
	// longer than expected.
	Chance float64
	// Bent is the error of steps by changes of the curvature, relative to the way from the last point.
	Bent float64
	// Ranged: some columns have nothing public but a range, within which a deviation may be of any length.
	Ranged bool
	// Doubts are those of the columns, but for the intercept's; nil: none.
	Doubts []Doubt
}

// Constants of the law of slopes, by their log odds.
const (
	doubt  = 0.25 // relative standard deviation of Expected
	blur   = 0.6  // most of that, of classes
	looser = 0.4  // of numbers: what that adds, since plans do not know how long residuals are
	closer = 0.7  // of numbers: plans expect residuals that are as long as the target
	uneven = 0.4  // standard deviation between the weights
	ranged = 0.8  // the same where columns' deviations differ, by factors of up to about three
)

// SlopeKept is about the share of a vector's slope that a bound of r times its expected length keeps: the
// derivative of E min(1, r/|u|) u by the mean of u near 0, for normal vectors u of mean square length 1. It
// is r (1-1/d) E 1/|u| for short bounds and 1 for long ones. Ranges: r > 0.
func SlopeKept(r float64) float64 {
	if r > 1 {
		return 1 / math.Sqrt(math.Sqrt(1+math.Pow(r, -4)))
	}
	return r / math.Sqrt(math.Sqrt(1+math.Pow(r, 4)))
}

// uncut is the largest Kept that tells how long a step is.
const uncut = 0.99

// common are the log odds of all slopes, by a standard normal number. They are the logarithm of what the
// records tell over the prior.
func (t Steps) common(z float64) float64 {
	odds := math.Log(t.Expected / (1 - t.Expected))
	sd := min(blur, doubt/(1-t.Expected))
	if t.Bent == 0 {
		return odds + closer + (sd+looser)*z
	}
	return odds + sd*z
}

// left is a (1-a) for the slope a of these log odds: the variance of a party's own error along a weight, in
// prior variances.
func left(odds float64) float64 {
	a := 1 / (1 + math.Exp(-odds))
	return a * (1 - a)
}

// own is the length of a party's own error that the plan expects.
func (t Steps) own() float64 {
	k := min(t.Kept, uncut)
	return slices.Min(t.Bounds) * math.Sqrt(math.Sqrt(1-math.Pow(k, 4))) / k
}

// Posterior returns the posterior that predicts, each weight by itself, and the means and variances of single
// weights: of a linear model about its means, of a logistic one about their own, since its predictions need
// shorter ones. docs/noise-aware.md has the law of the sums. Single weights have
// the prior N(0, 1/Prior), and in predictions a smaller scale of which nothing else is known. The mean
// is at most as long as what the estimate of James and Stein keeps [JS61]. One of classes is also sure not to
// lose. Errors: gauss.ErrImproper.
func (t Steps) Posterior() (m, single *gauss.Moments, err error) {
	if len(t.Points) == 0 {
		return nil, nil, fmt.Errorf("no rounds: %w", gauss.ErrImproper)
	}
	whole := 1 / math.Sqrt(t.Prior)
	d := float64(len(t.Points[0]))
	high := whole
	if t.Scale > 0 {
		high = min(whole, t.Scale)
	}
	low := high / math.Pow(d, 0.25)
	var weights [][]float64 // of classes
	m, wide, noise := t.moments(low, high, whole, func(w []float64) {
		if t.Bent != 0 {
			weights = append(weights, slices.Clone(w))
		}
	})
	share, length := t.kept(wide, noise)
	if own := t.length(m.Mean); own > 0 {
		floats.Scale(min(1, share*length/own), m.Mean)
	}
	if t.Bent != 0 {
		if t.Doubts != nil {
			shortenPlaced(m, weights, t.Doubts)
		} else {
			shorten(m, weights, t.Ranged)
		}
		t.unskew(wide)
		return m, wide, nil
	}
	if d == 1 {
		return m, shortened(m, wide, t.Prior), nil
	}
	back := nearly * whole * whole
	if high < whole {
		back = givenBack(low, high, whole)
	}
	if single = shortened(m, wide, t.Prior); t.few() {
		doubtful := &gauss.Moments{Mean: m.Mean, Variance: slices.Clone(m.Variance)}
		widen(doubtful.Variance, math.Sqrt(1-share), back)
		single = shrink.About(doubtful, wide, t.Prior)
	}
	if high == whole {
		return t.sure(m, single), single, nil
	}
	widen(m.Variance, 1-share, back)
	return m, single, nil
}

// moments are those that predict, with a scale between low and high, those of single weights, and the
// variances of these weights' means by noise. It shows draws of weights that predict.
func (t Steps) moments(low, high, whole float64, each func([]float64)) (m, wide *gauss.Moments,
	noise []float64) {
	d := len(t.Points[0])
	wide, noise, near := t.sample(prior{whole / math.Pow(float64(d), 0.25), whole, true}, func([]float64) {})
	if near {
		m, _, near = t.sample(prior{low: low, high: high}, each)
	} else {
		wide = t.alone(prior{whole, whole, true}, func([]float64) {})
		precisions := noiseaware.Scales(nil).Precisions(t.Prior, d)
		noise = shrink.Lengths(wide.Variance, precisions, precisions)
	}
	if !near {
		m = t.alone(prior{low: low, high: high}, each)
	}
	return m, wide, noise
}

// kept is the share that is kept of a mean, and the mean's length.
func (t Steps) kept(m *gauss.Moments, noise []float64) (share, length float64) {
	of := t.judged(m.Mean)
	prior := noiseaware.Scales(nil).Precisions(t.Prior, len(of))
	return shrink.Kept(shrink.Square(of, prior), noise[:len(of)], t.Chance), floats.Norm(of, 2)
}

// length is that of a mean.
func (t Steps) length(mean []float64) float64 { return floats.Norm(t.judged(mean), 2) }

// judged are the weights by which a mean's length is judged: an intercept that makes up for columns off their
// centres is as long as they are far.
func (t Steps) judged(mean []float64) []float64 {
	if t.Doubts != nil {
		return mean[:len(mean)-1]
	}
	return mean
}

// sureNumbers is by how many standard deviations the gain of numbers may be less than expected. Their errors
// are squared, and means that noise has moved lose by far more than those of classes.
const sureNumbers = 2.5

// sure are moments of numbers whose predictions are sure not to lose to those of a prior of nearly the
// variance. Columns have the mean square 1: precisions of 1 are those of as many records as Observed.
func (t Steps) sure(m, single *gauss.Moments) *gauss.Moments {
	observed := t.Observed
	if t.Squares != nil {
		observed, _, _ = t.Squares.Variance(m)
	}
	none := make([]float64, len(m.Mean))
	n := noiseaware.Numbers{Diagonal: noiseaware.Diagonal{Prior: t.Prior / nearly,
		Precision: make([]float64, len(m.Mean)), PrecisionNoise: none}, Weights: m, Single: single,
		Assumed: t.Observed, Observed: observed, Records: t.Observed, Margin: sureNumbers}
	floats.AddConst(1, n.Precision)
	return n.Sure()
}

// few reports whether parties have fewer records than about twice the weights. Then slopes of some directions
// are far below the mean, which the law does not know: intervals count all doubts in full.
func (t Steps) few() bool { return t.Expected < 0.625 }

// shortened has the means of m, and the mean squares of weights with the law wide about its own means made as
// short, at most the prior's variance. Both laws are of chains: the errors of their draws don't count twice.
func shortened(m, wide *gauss.Moments, prior float64) *gauss.Moments {
	whole := floats.Norm(wide.Mean, 2)
	lost := 0.0
	if whole > 0 {
		lost = max(0, 1-floats.Norm(m.Mean, 2)/whole)
	}
	out := make([]float64, len(m.Mean))
	for i, v := range wide.Variance {
		away := lost * wide.Mean[i]
		out[i] = min(v+away*away, 1/prior)
	}
	return &gauss.Moments{Mean: m.Mean, Variance: out}
}

const (
	// nearly is the share s of the prior's variance that predictions have at most. By (log s + r/s - r)/2
	// they lose .01 of a log-likelihood where the weights' mean square r is 1.35 times the prior's.
	nearly = 0.95
	longer = 1.25 // mean square of weights over that of the public scale, for which predictions lose nothing
)

// givenBack is the variance of weights that predictions have where noise hides these, of a scale between low
// and high, the largest that public ranges allow, below the prior's. It is the mean of all scales if that
// doesn't lose to the prior's predictive, of the standard deviation whole, for weights somewhat longer than
// the largest scale; or the least that doesn't, at most that of the largest scale.
func givenBack(low, high, whole float64) float64 {
	square := longer * high * high
	out := (high*high - low*low) / (2 * math.Log(high/low))
	for out < high*high && math.Log(out/(whole*whole))+square*(1/out-1/(whole*whole)) > 0 {
		out *= 1.01
	}
	return min(out, high*high)
}

// widen gives variances of a linear model back to the prior's by the square of the mean's share that is
// noise, since predictions err by the square of a mean's error. Classes are predicted by the mean's length,
// and lose little.
func widen(variance []float64, noise, prior float64) {
	for i, v := range variance {
		variance[i] = max(v, v+noise*noise*(prior-v))
	}
}

// prior is that of weights and slopes: weights have a standard deviation between low and high. Where columns
// are in doubt the intercept makes up for their means, and a single weight is in its column's own length,
// which is in the slope twice.
type prior struct {
	low, high float64
	single    bool
}

const (
	rough = 0.1 // relative error of slopes by the law of bounded steps
	spare = 1.2 // of a party's own error over what a plan expects
	// sparer is the same where directions have slopes of their own, which leaves less to other doubts.
	sparer = 1.3
	// skew is the distance between the mean of parties' estimates of a weight of classes and the point from
	// which shortened steps add up to 0, over the parts of the slopes that the prior and the bound take. With
	// n records of a party it was .66/sqrt(n) of the estimates' standard deviation for short bounds. Half of
	// that is in doubt where it is taken out.
	skew = 0.15
)
