package reading

import (
	"gonum.org/v1/gonum/floats"

	"choir/learn/bayes"
	"choir/learn/noiseaware"
)

// leastAnswer is the least share of scores that is counted on.
const leastAnswer = 0.1

// readings is how often what clips leave of scores follows from the weights by the reading before. The first
// of them are up to a tenth of the way short.
const readings = 3

// again reads scores by the weights of the last reading.
func (r *reading) again(trace []Observation, q *bayes.Posterior) (*bayes.Posterior, error) {
	var err error
	for range readings {
		noise := q.Likelihood().NoiseSD
		r.observed = noise * noise / (r.c.NoiseSD * r.c.NoiseSD)
		r.near = q.Mean()
		if q, err = r.solved(); err != nil {
			return nil, err
		}
		if q, err = r.withResiduals(trace, q); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// unclip makes the curvature and, once the weights have been read, scores what they are without clips on
// average; see Lengthened and Answers of noiseaware.Trace.
func (r *reading) unclip(t *noiseaware.Trace) error {
	if r.c.PrecisionUnit == 0 || r.c.Strategy.Params().ShardRows != 1 {
		return nil
	}
	t.Observation = 1 / (r.c.NoiseSD * r.c.NoiseSD)
	if r.lengthened == nil {
		t.Terms = &noiseaware.Slices{Size: r.c.Dim(), Bound: r.c.CurvatureBound}
		whole, err := t.Lengthened()
		if err != nil {
			return err
		}
		r.lengthened = &whole
	}
	t.Curvature, t.Terms = *r.lengthened, nil
	if r.near == nil {
		return nil
	}
	left, beside, err := t.Answers(r.near, r.clips, r.c.PrecisionUnit, leastAnswer)
	if err != nil || left == nil {
		return err
	}
	for s, a := range left {
		floats.Scale(1/a, t.Scores[s])
		floats.Sub(t.Scores[s], beside[s])
		for j := s; j < len(left); j++ {
			t.Noise.SetSym(s, j, t.Noise.At(s, j)/(a*left[j]))
		}
	}
	return nil
}
