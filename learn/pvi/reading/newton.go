package reading

import (
	"fmt"
	"math"

	"choir/learn/bayes"
	"choir/learn/noiseaware/newton"
	"choir/learn/pvi"
)

// steepest is the largest mean slope that is expected of a party.
const steepest = 0.99

// bent is the error of a step of a logistic model, relative to the way that curvatures change on.
const bent = 0.25

// chance is by how many standard deviations of its squared length the noise on a mean of numbers is taken for
// longer than expected. A mean of classes is sure not to lose in any case.
const chance = 0.5

// stepsPosterior is NoiseAware of Newton steps.
func stepsPosterior(c pvi.Config, trace []Observation) (*bayes.Posterior, error) {
	t := newton.Steps{Prior: c.PriorPrecision}
	if c.Model == bayes.Logistic {
		t.Bent = bent
	} else {
		t.Chance = chance
		t.Observed = c.NoiseSD * c.NoiseSD
	}
	for _, o := range trace {
		if o.Others {
			continue // the noise of a round is not in later ones' sums
		}
		add := addSteps
		if c.ResidualRound(o.Round) {
			add = addSquares
		}
		if err := add(c, &t, o); err != nil {
			return nil, fmt.Errorf("observation of round %d: %w", o.Round, err)
		}
	}
	m, single, err := t.Posterior()
	if err != nil {
		return nil, fmt.Errorf("noise-aware posterior: %w", err)
	}
	q, err := c.Likelihood().With(m, single, false)
	if err == nil && t.Squares != nil {
		v, lower, upper := t.Squares.Variance(m)
		q = q.WithNoise(math.Sqrt(v), &bayes.Measured{Assumed: c.NoiseSD, Lower: math.Sqrt(lower),
			Upper: math.Sqrt(upper)})
	}
	return q, err
}

// addSquares adds a residual round.
func addSquares(c pvi.Config, t *newton.Steps, o Observation) error {
	if len(o.Raw) != c.Dim() || len(o.Sum) != c.Dim() || o.Parties <= 0 {
		return bayes.ErrShape
	}
	q, err := c.Posterior(o.Raw)
	if err != nil {
		return err
	}
	reachUnits, lessUnits, _, err := c.ResidualTerm()
	if err != nil {
		return err
	}
	if t.Squares == nil {
		t.Squares = &newton.Squares{Limit: pvi.ResidualLimit * c.NoiseSD * c.NoiseSD,
			Assumed: c.NoiseSD * c.NoiseSD}
	}
	reach, less, parties := float64(reachUnits), float64(lessUnits), float64(o.Parties)
	share := float64(o.Sum[0])/(reach*parties) + less/reach
	t.Squares.Add(q.Mean(), share, math.Sqrt(o.Variance)/(reach*parties), max(parties, o.Records))
	return nil
}

// addSteps adds a round.
func addSteps(c pvi.Config, t *newton.Steps, o Observation) error {
	if len(o.Raw) != c.Dim() || len(o.Sum) != c.Dim() {
		return bayes.ErrShape
	}
	if o.Parties <= 0 {
		return fmt.Errorf("%d parties: %w", o.Parties, bayes.ErrShape)
	}
	q, err := c.Posterior(o.Raw)
	if err != nil {
		return err
	}
	d := c.Weights()
	bound, stepNorm, slopeNorm := c.NewtonUnits(o.Round)
	unit := bound * math.Ldexp(1, -int(c.FracBits)) / stepNorm
	slopeUnit := math.Sqrt(float64(d)) * math.Ldexp(1, -int(c.FracBits)) / slopeNorm
	sum, slopes := make([]float64, d), make([]float64, d)
	for i := range d {
		sum[i] = float64(o.Sum[i]) * unit
		slopes[i] = float64(o.Sum[d+i]) * slopeUnit
	}
	t.Points = append(t.Points, q.Mean())
	t.Sums = append(t.Sums, sum)
	t.Slopes = append(t.Slopes, slopes)
	t.SumNoise = append(t.SumNoise, o.Variance*unit*unit)
	t.SlopeNoise = append(t.SlopeNoise, o.Variance*slopeUnit*slopeUnit)
	t.Bounds = append(t.Bounds, bound)
	t.Parties = append(t.Parties, float64(o.Parties))
	expected := (c.PriorPrecision + c.StartPrecision) * c.StepBound / (stepNorm * c.StepKept)
	t.Expected = min(steepest, expected/float64(o.Parties))
	t.Kept = c.StepKept
	t.Records = o.Records / float64(o.Parties)
	t.Scale = o.Scale
	t.Ranged = o.Ranged && c.Model == bayes.Logistic
	if t.Ranged {
		t.Doubts = o.Doubts
	}
	return nil
}
