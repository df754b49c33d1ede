package noiseaware

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
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
	// Observed is the variance of an observation by the plan, of a linear model; 0: of classes.
	Observed float64
	// Expected is the slope of a party's steps without the bound that the plan expects, in (0, 1).
	Expected float64
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
	blur   = 1.5  // most of that
	uneven = 0.4  // standard deviation between the weights
	ranged = 0.8  // the same where columns' deviations differ, by factors of up to about three
)

// Posterior returns the posterior that predicts, each weight by itself, and the means and variances of single
// weights: of a linear model about its means, of a logistic one about their own, since its predictions need
// shorter ones. docs/methods.md, section 14, has the law of the sums. Single weights have
// the prior N(0, 1/Prior), and in predictions a smaller scale of which nothing else is known. The mean
// is at most as long as what the estimate of James and Stein keeps [JS61]. One of classes is also sure not to
// lose. Errors: gauss.ErrImproper.
func (t Steps) Posterior() (m, single *gauss.Moments, err error) {
	if len(t.Points) == 0 {
		return nil, nil, fmt.Errorf("no rounds: %w", gauss.ErrImproper)
	}
	whole := 1 / math.Sqrt(t.Prior)
	wide := t.sample(prior{whole, whole, true}, func([]float64) {})
	share, length := t.kept(wide)
	high := whole
	if t.Scale > 0 {
		high = min(whole, t.Scale)
	}
	d := float64(len(wide.Mean))
	low := high / math.Pow(d, 0.25)
	var weights [][]float64 // of classes
	m = t.sample(prior{low: low, high: high}, func(w []float64) {
		if t.Bent != 0 {
			weights = append(weights, slices.Clone(w))
		}
	})
	if own := t.length(m.Mean); own > 0 {
		floats.Scale(min(1, share*length/own), m.Mean)
	}
	if t.Bent != 0 {
		if t.Doubts != nil {
			shortenPlaced(m, weights, t.Doubts)
		} else {
			shorten(m, weights, t.Ranged)
		}
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
		single = about(doubtful, wide, t.Prior)
	}
	if high == whole {
		return t.sure(m, single), single, nil
	}
	widen(m.Variance, 1-share, back)
	return m, single, nil
}

// kept is the share that is kept of a mean, and the mean's length.
func (t Steps) kept(m *gauss.Moments) (share, length float64) {
	of := t.judged(m.Mean)
	prior := Scales(nil).Precisions(t.Prior, len(of))
	return kept(square(of, prior), lengths(m.Variance[:len(of)], prior, prior), t.Chance), floats.Norm(of, 2)
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

// sure are moments of numbers whose predictions are sure not to lose to those of a prior of nearly the
// variance. Columns have the mean square 1: precisions of 1 are those of as many records as Observed.
func (t Steps) sure(m, single *gauss.Moments) *gauss.Moments {
	n := Numbers{Diagonal: Diagonal{Prior: t.Prior / nearly, Precision: make([]float64, len(m.Mean)),
		PrecisionNoise: make([]float64, len(m.Mean))}, Weights: m, Single: single, Assumed: t.Observed,
		Observed: t.Observed, Records: t.Observed}
	floats.AddConst(1, n.Precision)
	return n.Sure()
}

// few reports whether parties have fewer records than about twice the weights. Then slopes of some directions
// are far below the mean, which the law does not know: intervals count all doubts in full.
func (t Steps) few() bool { return t.Expected < 0.5 }

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

// sample returns the moments of the weights under a prior. It shows each draw.
func (t Steps) sample(p prior, each func(weights []float64)) *gauss.Moments {
	d := len(t.Points[0])
	g := guess{weights: make([]float64, d), slopes: make([]float64, d)}
	start := make([]float64, 2*d+2)
	for i, w := range t.Points[len(t.Points)-1] {
		start[i] = w / math.Sqrt(p.low*p.high)
	}
	l := law{Steps: t}
	l.sums, l.slopes = t.doubts()
	c := newChain(start, func(x []float64) float64 {
		t.decode(&g, x, p)
		return l.logLikelihood(&g)
	})
	m := &gauss.Moments{Mean: make([]float64, d), Variance: make([]float64, d)}
	c.run(func(x []float64) {
		t.decode(&g, x, p)
		each(g.weights)
		for j, w := range g.weights {
			m.Mean[j] += w / draws
			m.Variance[j] += w * w / draws
		}
	})
	for j, v := range m.Mean {
		m.Variance[j] = max(m.Variance[j]-v*v, 0)
	}
	return m
}

// guess are weights, and the slopes of a party's steps in their coordinates.
type guess struct{ weights, slopes []float64 }

// prior is that of weights and slopes: weights have a standard deviation between low and high. Where columns
// are in doubt the intercept makes up for their means, and a single weight is in its column's own length,
// which is in the slope twice.
type prior struct {
	low, high float64
	single    bool
}

// decode makes a guess of standard normal numbers: d of the weights, d of the slopes, one of the scale
// and one of all slopes.
func (t Steps) decode(g *guess, x []float64, p prior) {
	d := len(g.weights)
	scale := p.low * math.Pow(p.high/p.low, cumulative(x[2*d]))
	between := uneven
	if t.Ranged {
		between = ranged
	}
	common := math.Log(t.Expected/(1-t.Expected)) + min(blur, doubt/(1-t.Expected))*x[2*d+1]
	off := 0.0
	for i := range d {
		g.weights[i] = scale * x[i]
		odds := common + between*x[d+i]
		if t.Doubts != nil {
			c := t.Doubts[i]
			if p.single {
				g.weights[i] /= math.Exp(c.Log + c.LogSD*x[d+i])
				odds = common + 2*c.Log + math.Hypot(between, 2*c.LogSD)*x[d+i]
			}
			off += g.weights[i] * g.weights[i] * c.Mean * c.Mean
		}
		g.slopes[i] = 1 / (1 + math.Exp(-odds))
	}
	g.weights[d-1] = math.Sqrt(scale*scale+off) * x[d-1]
}

const (
	rough = 0.1 // relative error of slopes by the law of bounded steps
	spare = 1.2 // the last rounds' bound over a step near the true weights, by a plan's defaults
)

// doubts are the variances of a round's sum and slope in one coordinate: of their noise, and of the law's
// errors. Without noise the steps near the true weights add up to the parties' own errors, as long as a
// plan expects such steps to be, for a logistic model as long as their bound. These and the error of slopes
// are the same in all rounds. Curvatures change on the way.
func (t Steps) doubts() (sums, slopes []float64) {
	rounds := float64(len(t.Points))
	last := t.Points[len(t.Points)-1]
	b := slices.Min(t.Bounds)
	if t.Bent == 0 && !t.few() {
		b /= spare
	}
	for s, p := range t.Points {
		k, way := t.Parties[s], t.Bent*floats.Distance(p, last, 2)
		own := rounds*k*b*b + k*k*way*way
		sums = append(sums, t.SumNoise[s]+own/float64(len(p)))
		slopes = append(slopes, t.SlopeNoise[s]+rounds*rough*rough*k*k+k*k*way*way/float64(len(p)))
	}
	return sums, slopes
}

// law is the density of all rounds' sums and slopes.
type law struct {
	Steps
	sums, slopes []float64 // variances
}

func (l law) logLikelihood(g *guess) float64 {
	total := 0.0
	for s, p := range l.Points {
		bound := l.Bounds[s]
		length := 0.0 // squared, in bounds
		for i, w := range g.weights {
			v := g.slopes[i] * (w - p[i]) / bound
			length += v * v
		}
		scale := l.Parties[s] / math.Sqrt(1+length)
		var sums, slopes float64
		for i, w := range g.weights {
			v := g.slopes[i] * (w - p[i]) / bound
			e := l.Sums[s][i] - scale*bound*v
			sums += e * e
			e = l.Slopes[s][i] - scale*g.slopes[i]*(1-v*v/(1+length))
			slopes += e * e
		}
		total -= sums/(2*l.sums[s]) + slopes/(2*l.slopes[s])
	}
	return total
}
