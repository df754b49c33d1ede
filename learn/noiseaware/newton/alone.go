package newton

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"choir/learn/gauss"
	"choir/learn/internal/ellipse"
	"choir/learn/noiseaware/internal/logistic"
)

// alone returns the moments of the weights under a prior, each by itself: by the law of sums in which a slope
// is that of its weight in all directions. It counts exactly what bounds leave of steps. It shows each draw.
func (t Steps) alone(p prior, each func(weights []float64)) *gauss.Moments {
	d := len(t.Points[0])
	g := guess{weights: make([]float64, d), slopes: make([]float64, d)}
	start := make([]float64, 2*d+2)
	for i, w := range t.Points[len(t.Points)-1] {
		start[i] = w / math.Sqrt(p.low*p.high)
	}
	l := law{Steps: t}
	l.sums, l.slopes = t.doubts()
	c := ellipse.New(start, func(x []float64) float64 {
		t.decode(&g, x, p)
		return l.logLikelihood(&g)
	})
	m := &gauss.Moments{Mean: make([]float64, d), Variance: make([]float64, d)}
	c.Run(func(x []float64) {
		t.decode(&g, x, p)
		each(g.weights)
		for j, w := range g.weights {
			m.Mean[j] += w / ellipse.Draws
			m.Variance[j] += w * w / ellipse.Draws
		}
	})
	for j, v := range m.Mean {
		m.Variance[j] = max(m.Variance[j]-v*v, 0)
	}
	return m
}

// guess are weights, the slopes of a party's steps in their coordinates without bounds, and what the bound of
// each round keeps of them near the weights.
type guess struct{ weights, slopes, kept []float64 }

// decode makes a guess of standard normal numbers: d of the weights, d of the slopes, one of the scale
// and one of all slopes.
func (t Steps) decode(g *guess, x []float64, p prior) {
	d := len(g.weights)
	scale := p.low * math.Pow(p.high/p.low, logistic.Cumulative(x[2*d]))
	between := uneven
	if t.Ranged {
		between = ranged
	}
	common := t.common(x[2*d+1])
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
	g.kept = g.kept[:0]
	own := t.own() * math.Sqrt(left(common)/(t.Expected*(1-t.Expected)))
	for _, b := range t.Bounds {
		g.kept = append(g.kept, SlopeKept(b/own))
	}
}

// doubts are the variances of a round's sum and slope in one coordinate: of their noise, and of the law's
// errors. Without noise the steps near the true weights add up to the parties' own errors, at most as long
// as a round's bound, and to what shortening skewed errors leaves. These and the error of slopes are the
// same in all rounds. Curvatures change on the way.
func (t Steps) doubts() (sums, slopes []float64) {
	rounds := float64(len(t.Points))
	last := t.Points[len(t.Points)-1]
	off := 0.0
	if t.Bent != 0 {
		off = skew * (1 - t.Expected) * (1 - t.Kept) * t.Expected
	}
	for s, p := range t.Points {
		own := min(t.Bounds[s], spare*t.own())
		kept := SlopeKept(t.Bounds[s] / t.own())
		k, way := t.Parties[s], kept*t.Bent*floats.Distance(p, last, 2)
		sums = append(sums, t.SumNoise[s]+(rounds*k*own*own+k*k*way*way)/float64(len(p))+
			rounds*math.Pow(k*kept*off, 2))
		slopes = append(slopes, t.SlopeNoise[s]+
			k*k*(rounds*rough*rough*kept*kept+way*way/float64(len(p))))
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
		bound, kept := l.Bounds[s], g.kept[s]
		length := 0.0 // squared, in bounds
		for i, w := range g.weights {
			v := kept * g.slopes[i] * (w - p[i]) / bound
			length += v * v
		}
		scale := l.Parties[s] / math.Sqrt(1+length)
		var sums, slopes float64
		for i, w := range g.weights {
			v := kept * g.slopes[i] * (w - p[i]) / bound
			e := l.Sums[s][i] - scale*bound*v
			sums += e * e
			e = l.Slopes[s][i] - scale*kept*g.slopes[i]*(1-v*v/(1+length))
			slopes += e * e
		}
		total -= sums/(2*l.sums[s]) + slopes/(2*l.slopes[s])
	}
	return total
}
