package reading

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/noiseaware"
	"choir/learn/pvi"
)

// tellsWho reports whether an observation is of a round of learning by known parties.
func tellsWho(c pvi.Config, o Observation) bool {
	return o.Set != nil && !o.Others && o.Round <= c.Learning(o.Round)
}

// sparse reports whether, of the parties that some round counts, the rounds of learning count less than
// half on average. Most factors in a sum are then from points of earlier rounds, and have hardly moved as
// far as their clips let them.
func sparse(c pvi.Config, trace []Observation) bool {
	parties := map[int]bool{}
	counted, rounds := 0, 0
	for _, o := range trace {
		if !tellsWho(c, o) {
			continue
		}
		rounds++
		counted += len(o.Set)
		for _, k := range o.Set {
			parties[k] = true
		}
	}
	return (c.Model == bayes.Logistic || c.Clip > 0) && 2*counted < rounds*len(parties)
}

// missed bounds the variance of the weighted scores by what rounds lack, in curvatures. Scores that lack
// the share f of the parties' best factors, over 1 - f, err by that of a sample at most: f/(1-f). The
// same parties are missing in many rounds, so that errors add up.
func missed(lacks, weights []float64) float64 {
	sum := 0.0
	for s, f := range lacks {
		sum += math.Abs(weights[s]) * math.Sqrt(f/(1-f))
	}
	return sum * sum
}

// without adds to the variances of weighted scores what rounds lack, by the diagonal of the curvature.
func (r *climbing) without(variance, weights []float64, h noiseaware.Curvature) []float64 {
	by := missed(r.lacks, weights)
	for i := range variance {
		variance[i] += by * max(0, h.Matrix.At(i, i))
	}
	return variance
}

// doubtful adds what rounds lack to the noise by which they are weighed.
func (r *climbing) doubtful(noise *mat.SymDense, h noiseaware.Curvature) {
	typical := max(0, mat.Trace(h.Matrix)/float64(h.Matrix.SymmetricDim()))
	for s, f := range r.lacks {
		noise.SetSym(s, s, noise.At(s, s)+f/(1-f)*typical)
	}
}
