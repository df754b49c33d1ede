package stats

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// frame is what a round of statistics has of a record: its columns in scaled units and, with a line, its
// residual in the place of the target.
type frame struct {
	scales []scale
	line   []float64 // weights in scaled units; nil: the target itself
	length float64   // of a residual's unit, in the target's
}

// residualRound reports whether a round's statistics have residuals in the place of targets.
func (c Config) residualRound(round int) bool { return c.ResidualFrom > 0 && round >= c.ResidualFrom }

// frame returns the frame of the rounds of residuals: around the weights that the statistics of targets
// determine, in units with which residuals are as long as targets are in theirs. Noise on X'X costs weights
// times their distance from 0, and noise on X'y a unit of the target; here they are the distance from these
// weights and a unit of the residuals, both far smaller once targets are known. Sensitivity is that of every
// round, since a record is as long as the radius at most with any public line. Noise alone has no
// line: the frame is the targets'.
func (c Config) frame(s state, noise float64) (frame, error) {
	f := frame{scales: c.scales(s, noise)}
	if s.targets.rounds == 0 {
		return f, nil
	}
	m := c.moments(s.targets, noise)
	if m.drowned() {
		return f, nil
	}
	fit, err := m.fit(c, c.mapped(f), c.prior(s, noise))
	if err != nil {
		return f, err
	}
	var missed mat.Dense
	missed.Mul(fit.covariance, m.gram)
	records := max(m.gram.At(c.Features-1, c.Features-1), math.Sqrt2*m.sd, 1)
	square := fit.variance + max(0, mat.Trace(&missed))/records
	f.line, f.length = fit.mean, min(1, math.Sqrt(square)/c.targetWeight())
	return f, nil
}
