package newton

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/noiseaware/internal/logistic"
)

// series is the law of the sums of Steps, coordinate by coordinate. Parties' records tell of some
// directions of the weights more than of others, and a coordinate has a share in each direction. The slopes
// of directions have normal log odds around those of the coordinate. In a direction of slope a the way e from
// the public point to the weights has the sum K k a e and noise, by which the point moves; noise that is the
// same in all directions has a coordinate's share of each. So a coordinate's sums of all rounds are normal,
// whichever directions these are.
type series struct {
	Steps
	sums, slopes []float64   // variances of a round's sum and slope in a coordinate, by noise and curvatures
	moved        []float64   // by which the point moves for a unit of a round's sum
	others       [][]float64 // R x d: other moves of the point, just before a round, from 0
	apart        []float64   // R: mean squares of these
	groups       []group
	// far are the squared lengths that steps without bounds would have by their slopes near the weights, over
	// the squared bounds, and blurred the standard deviations of the logarithms of these lengths.
	far, blurred []float64
}

// group are coordinates that have the same law.
type group struct {
	members   []int
	doubt     Doubt
	intercept bool
	seen      *mat.Dense // R x members: their sums
	told      *mat.Dense // their slopes
}

// alongSums is the largest part of a squared move that is taken for rounding.
const alongSums = 1e-6

// newSeries returns the law of the sums of t, of weights in their columns' own lengths or as they predict.
func newSeries(t Steps, single bool) *series {
	n, d := len(t.Points), len(t.Points[0])
	l := &series{Steps: t, moved: make([]float64, n), apart: make([]float64, n)}
	own, last, before := t.own(), t.Points[n-1], make([]float64, d)
	for s, p := range t.Points {
		move := make([]float64, d)
		floats.SubTo(move, p, before)
		whole := floats.Dot(move, move)
		if s > 0 {
			if square := floats.Dot(t.Sums[s-1], t.Sums[s-1]); square > 0 {
				l.moved[s-1] = floats.Dot(move, t.Sums[s-1]) / square
				floats.AddScaled(move, -l.moved[s-1], t.Sums[s-1])
			}
		}
		if square := floats.Dot(move, move); square > alongSums*whole {
			l.apart[s] = square / float64(d)
		}
		l.others = append(l.others, move)
		before = p
		k, kept := t.Parties[s], SlopeKept(t.Bounds[s]/own)
		way := k * kept * t.Expected * t.Bent * floats.Distance(p, last, 2)
		l.sums = append(l.sums, t.SumNoise[s]+way*way/float64(d))
		l.slopes = append(l.slopes, t.SlopeNoise[s]+float64(n)*math.Pow(k*rough*kept, 2)+way*way/float64(d))
	}
	l.far, l.blurred = make([]float64, n), make([]float64, n)
	l.group(single)
	return l
}

// alike is how far apart logarithms of columns' lengths are that have laws of their own.
const alike = 0.1

// group makes the groups: the intercept is the last one's.
func (l *series) group(single bool) {
	d := len(l.Points[0])
	for i := range d {
		g := group{intercept: i == d-1}
		if l.Doubts != nil && single && !g.intercept {
			g.doubt = Doubt{Log: alike * math.Round(l.Doubts[i].Log/alike),
				LogSD: alike * math.Round(l.Doubts[i].LogSD/alike)}
		}
		at := slices.IndexFunc(l.groups, func(o group) bool { return o.doubt == g.doubt })
		if at < 0 || g.intercept {
			at = len(l.groups)
			l.groups = append(l.groups, g)
		}
		l.groups[at].members = append(l.groups[at].members, i)
	}
	for i := range l.groups {
		g := &l.groups[i]
		g.seen = mat.NewDense(len(l.Points), len(g.members), nil)
		g.told = mat.NewDense(len(l.Points), len(g.members), nil)
		for s := range l.Points {
			for j, m := range g.members {
				g.seen.Set(s, j, l.Sums[s][m])
				g.told.Set(s, j, l.Slopes[s][m])
			}
		}
	}
}

// common is what all coordinates have in common.
type common struct {
	odds   float64 // mean of the directions' log odds
	spread float64 // and their standard deviation
	scale  float64 // standard deviation of a weight before the sums
	own    float64 // length of a party's own error
	// rate is what parties' slopes of 1 add up to in each round, and turned the share of it that single slopes
	// keep where steps are far longer than the bound.
	rate, turned []float64
}

// decode makes it of four standard normal numbers, of the scale, of the mean slope, of the spread, and of how
// far the first points are. The columns' mean square is known, and what the records tell over the prior has
// the same mean for any spread. Steps that would be L bounds long are shortened to 1/root(1+L^2).
func (l *series) decode(x []float64, p prior) common {
	c := common{scale: p.low * math.Pow(p.high/p.low, logistic.Cumulative(x[0])),
		spread: apartSD * math.Abs(x[2])}
	c.odds = l.common(x[1]) - c.spread*c.spread/2
	errors := 0.0
	for _, n := range seven {
		errors += n.weight * left(c.odds+c.spread*n.x)
	}
	c.own = l.own() * math.Sqrt(errors/(l.Expected*(1-l.Expected)))
	for s, b := range l.Bounds {
		far := l.far[s] * math.Exp(2*l.blurred[s]*x[3])
		c.rate = append(c.rate, l.Parties[s]*SlopeKept(b/c.own)/math.Sqrt(1+far))
		c.turned = append(c.turned, 1-far/((1+far)*float64(len(l.Points[0]))))
	}
	return c
}

// apartSD is the standard deviation, before the sums, of the spread of the directions' log odds with a random
// sign. Neighbouring columns that are correlated by .4 and .8 spread what records tell by .6 and 1.25.
const apartSD = 0.5

// direction is a direction of the weights in a coordinate.
type direction struct {
	share   float64 // of the coordinate
	slope   float64
	columns float64 // the mean square of the columns there, in those of the coordinate
	error   float64 // variance of what all parties' records err by
}

// directions are those of a coordinate whose log odds are off the mean.
func (l *series) directions(c common, off float64) []direction {
	last := len(l.Points) - 1
	d := float64(len(l.Points[0]))
	own := min(l.Bounds[last], sparer*c.own) / (SlopeKept(l.Bounds[last]/c.own) * c.own) * l.own()
	own *= own / (d * l.Expected * (1 - l.Expected) * l.Parties[last])
	skewed := 0.0
	if l.Bent != 0 {
		skewed = skew * (1 - l.Kept)
		if l.several() {
			skewed /= 2
		}
	}
	out, mean := make([]direction, len(seven)), 0.0
	for i, n := range seven {
		odds := c.odds + off + c.spread*n.x
		a := 1 / (1 + math.Exp(-odds))
		out[i] = direction{share: n.weight, slope: a, columns: math.Exp(odds),
			error: own*(1-a)/a + math.Pow(skewed*(1-a), 2)}
		mean += n.weight * out[i].columns
	}
	for i := range out {
		out[i].columns /= mean
	}
	return out
}

// response is the law of a coordinate's sums given what all have in common and its log odds.
type response struct {
	square     float64 // variance of the weight before the sums
	directions []direction
	covariance *mat.SymDense // of the sums
	root       *root
	slope      float64   // mean of the directions'
	filter     []float64 // the weight's mean is that of the sums with this
	variance   float64   // of the weight
	predicted  float64   // the same, with directions by their columns: what counts in predictions
	noise      float64   // of the mean, by what isn't the weight
	// turns has in row t what a move by others just before round t takes from the sums.
	turns [][]float64
}

// respond returns it; nil if sums are not normal, by rounding.
func (l *series) respond(c common, square, off float64) *response {
	n := len(l.Points)
	r := &response{square: square, directions: l.directions(c, off), covariance: mat.NewSymDense(n, nil)}
	cross := make([]float64, n) // of the sums with the weight
	for _, q := range r.directions {
		r.slope += q.share * q.slope
		l.covary(r, c, q)
		f := square * q.share * q.slope
		for s, k := range c.rate {
			cross[s] += k * f
			f *= 1 - l.moved[s]*k*q.slope
		}
	}
	l.known(r, c)
	if r.root = rootOf(r.covariance); r.root == nil {
		return nil
	}
	r.filter = r.root.solve(mat.NewDense(n, 1, cross)).RawMatrix().Data
	for _, q := range r.directions {
		l.err(r, c, q)
	}
	return r
}

// covary adds a direction's part to the covariance of the sums.
func (l *series) covary(r *response, c common, q direction) {
	way := r.square + q.error
	all := r.covariance.RawSymmetric()
	for s, k := range c.rate {
		way += l.apart[s]
		row := all.Data[s*all.Stride : s*all.Stride+len(c.rate)]
		row[s] += q.share * (k*q.slope*k*q.slope*way + l.sums[s])
		stays := 1 - l.moved[s]*k*q.slope
		f := stays*way*k*q.slope - l.moved[s]*l.sums[s]
		for u := s + 1; u < len(c.rate); u++ {
			later := c.rate[u] * q.slope
			row[u] += q.share * f * later
			f *= 1 - l.moved[u]*later
		}
		way = stays*stays*way + l.moved[s]*l.moved[s]*l.sums[s]
	}
}

// known takes from the covariance what is known of moves by others: their lengths in the coordinate.
func (l *series) known(r *response, c common) {
	r.turns = make([][]float64, len(c.rate))
	for t, square := range l.apart {
		if square == 0 {
			continue
		}
		turn := make([]float64, len(c.rate))
		for _, q := range r.directions {
			f := q.share * q.slope
			for s := t; s < len(turn); s++ {
				turn[s] += c.rate[s] * f
				f *= 1 - l.moved[s]*c.rate[s]*q.slope
			}
		}
		all := r.covariance.RawSymmetric()
		for s := t; s < len(turn); s++ {
			row := all.Data[s*all.Stride : s*all.Stride+len(turn)]
			for u := s; u < len(turn); u++ {
				row[u] -= square * turn[s] * turn[u]
			}
		}
		r.turns[t] = turn
	}
}

// err adds a direction's part to the variances.
func (l *series) err(r *response, c common, q direction) {
	along, noise, moves := 0.0, 0.0, 0.0
	for s := len(c.rate) - 1; s >= 0; s-- {
		at := r.filter[s] - l.moved[s]*along
		noise += l.sums[s] * at * at
		along = r.filter[s]*c.rate[s]*q.slope + (1-l.moved[s]*c.rate[s]*q.slope)*along
		if r.turns[s] != nil {
			away := along - floats.Dot(r.filter, r.turns[s])
			moves += l.apart[s] * away * away
		}
	}
	noise += q.error * along * along
	e := r.square*(1-along)*(1-along) + noise + moves
	r.noise += q.share * noise
	r.variance += q.share * e
	r.predicted += q.share * q.columns * e
}

// left are the group's sums over what moves by others leave.
func (l *series) left(g group, r *response) *mat.Dense {
	out := g.seen
	for t, turn := range r.turns {
		if turn == nil {
			continue
		}
		if out == g.seen {
			out = mat.DenseCopyOf(g.seen)
		}
		for j, m := range g.members {
			for s := t; s < len(turn); s++ {
				out.Set(s, j, out.At(s, j)+turn[s]*l.others[t][m])
			}
		}
	}
	return out
}

// mixture is the posterior of a weight given what all coordinates have in common: a mixture over log odds.
type mixture struct {
	log       float64 // density of its sums and slopes
	weights   []float64
	means     []float64
	responses []*response
}

// moments are those of the weight, or as it predicts.
func (m *mixture) moments(single bool) (mean, variance float64) {
	for n, w := range m.weights {
		if w == 0 {
			continue
		}
		v := m.responses[n].predicted
		if single {
			v = m.responses[n].variance
		}
		mean += w * m.means[n]
		variance += w * (v + m.means[n]*m.means[n])
	}
	return mean, max(0, variance-mean*mean)
}

// noise is the variance of the mean by what isn't the weight.
func (m *mixture) noise() (v float64) {
	for n, w := range m.weights {
		if w > 0 {
			v += w * m.responses[n].noise
		}
	}
	return v
}

// mixtures are those of all weights.
func (l *series) mixtures(c common) []mixture {
	out := make([]mixture, len(l.Points[0]))
	between := uneven
	if l.Ranged {
		between = ranged
	}
	off := 0.0
	for _, g := range l.groups {
		responses := make([]*response, len(five))
		for n, at := range five {
			square := c.scale * c.scale * math.Exp(-2*(g.doubt.Log+g.doubt.LogSD*at.x))
			if g.intercept {
				square += off
			}
			responses[n] = l.respond(c, square, 2*g.doubt.Log+math.Hypot(between, 2*g.doubt.LogSD)*at.x)
		}
		l.mix(out, g, c, responses)
		if l.Doubts == nil || g.intercept {
			continue
		}
		for _, m := range g.members {
			mean, variance := out[m].moments(true)
			off += (mean*mean + variance) * l.Doubts[m].Mean * l.Doubts[m].Mean
		}
	}
	return out
}

// mix makes the mixtures of a group.
func (l *series) mix(out []mixture, g group, c common, responses []*response) {
	for _, m := range g.members {
		out[m] = mixture{responses: responses,
			weights: make([]float64, len(five)), means: make([]float64, len(five))}
	}
	for n, r := range responses {
		if r == nil {
			for _, m := range g.members {
				out[m].weights[n] = math.Inf(-1)
			}
			continue
		}
		seen := l.left(g, r)
		solved := r.root.solve(seen)
		for j, m := range g.members {
			log := math.Log(five[n].weight) - r.root.logDet()/2
			for s, k := range c.rate {
				y := seen.At(s, j)
				log -= y * solved.At(s, j) / 2
				out[m].means[n] += r.filter[s] * y
				e := g.told.At(s, j) - k*c.turned[s]*r.slope
				log -= e * e / (2 * l.slopes[s])
			}
			out[m].weights[n] = log
		}
	}
	for _, m := range g.members {
		out[m].normalise()
	}
}

// normalise makes weights of log densities: all are 0 if no log odds have a law.
func (m *mixture) normalise() {
	if m.log = slices.Max(m.weights); !math.IsInf(m.log, -1) {
		m.log = floats.LogSumExp(m.weights)
	}
	for n, w := range m.weights {
		if m.weights[n] = 0; !math.IsInf(w, -1) {
			m.weights[n] = math.Exp(w - m.log)
		}
	}
}
