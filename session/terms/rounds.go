package terms

import "choir/protocol"

// solveRounds returns the plan with the largest number of rounds for which the noise
// on a coordinate of a sum has a standard deviation of at most perClip clips, at full
// attendance (NoiseUse.PerClip). build returns the plan of a number of rounds with the
// least noise for its budget. The noise grows with the rounds, so that bisection finds
// the number. A number for which build fails (the grid has no headroom for its noise)
// is too large.
func solveRounds(perClip float64, build func(rounds int) (*protocol.Plan, error)) (*protocol.Plan, error) {
	if !(perClip > 0) {
		return nil, protocol.Fail(protocol.ClassInput, "config: privacy.noise_per_clip: %v isn't positive", perClip)
	}
	best, err := build(1)
	if err != nil {
		return nil, err
	}
	if _, ok := best.Release(); !ok {
		return nil, protocol.Fail(protocol.ClassInput,
			"config: privacy.noise_per_clip: the plan claims no epsilon, so no number of rounds follows from it")
	}
	if use := noiseUse(best).PerClip; use > perClip {
		return nil, protocol.Fail(protocol.ClassInput,
			"config: privacy.noise_per_clip: a single round needs %.4g, more than %g: allow more noise, a larger "+
				"epsilon or fewer colluders and drop-outs", use, perClip)
	}
	lo, hi := 1, 2 // lo is possible, hi perhaps not
	within := func(rounds int) bool {
		p, err := build(rounds)
		if err != nil || noiseUse(p).PerClip > perClip {
			return false
		}
		best = p
		return true
	}
	for hi <= protocol.MaxRounds && within(hi) {
		lo, hi = hi, 2*hi
	}
	for hi = min(hi, protocol.MaxRounds+1); hi-lo > 1; {
		if mid := (lo + hi) / 2; within(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return best, nil
}
