package terms

import (
	"math"

	"choir/learn/defaults"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// fill enters defaults for what isn't named and returns the number of rounds.
func (l LearningConfig) fill(d *draft, f defaults.Facts) int {
	known := d.cfg.Model != pvi.External && d.cfg.Model != pvi.BNN
	switch {
	case d.name == pvi.NameVirtual && known:
		if l.Shards == 0 && l.ShardPower == 0 && l.ShardRows == 0 {
			d.p.ShardRows = 1
			d.p.Shards = pvi.MaxShards
			if l.Records > 0 {
				d.p.Shards = int(min(l.Records, pvi.MaxShards))
			}
		}
		return l.shards(d, f, defaults.Facts.Virtual)
	case l.newton(d, f):
		return l.steps(d, f)
	case byParty(d.name) && known:
		return l.shards(d, f, defaults.Facts.Dataset)
	case bySteps(d.name) && d.cfg.Model != pvi.External && d.cfg.Model != pvi.Linear:
		return l.optimisation(d, f)
	}
	d.cfg.PrecisionFloor = orElse(d.cfg.PrecisionFloor, d.cfg.PriorPrecision)
	return orElse(f.Rounds, defaults.RoundsOf(d.name))
}

// byParty reports whether one term of a sum is what all of a party's records lead to.
func byParty(name pvi.StrategyName) bool {
	return name == pvi.NameDataset || name == pvi.NameAveraging || name == pvi.NamePerturbation
}

// bySteps reports whether a strategy takes noisy steps.
func bySteps(name pvi.StrategyName) bool {
	return name == pvi.NameOptimisation || name == pvi.NameBCMSame || name == pvi.NameBCMSplit
}

// named reports whether the configuration names an optimiser or a part of one.
func (l LearningConfig) named() bool { return l.Steps != 0 || l.LearningRate != 0 || l.Optimiser != "" }

// shards fills in the strategies whose terms are shards' updates.
func (l LearningConfig) shards(d *draft, f defaults.Facts, way func(defaults.Facts) defaults.Shards) int {
	c := &d.cfg
	curvature := l.curvature(d, f, way(f).Wanted)
	if f.Rounds > 0 {
		f.Rounds -= curvature
	}
	rule := way(f)
	total := rule.Rounds + curvature
	c.Damping = orElse(c.Damping, rule.Damping)
	if f.Noise > 0 {
		c.Clip = orElse(c.Clip, rule.Clip)
	}
	if c.Model == pvi.Linear {
		c.NoiseSD = orElse(c.NoiseSD, defaults.NoiseSD)
		if l.Clip == 0 && f.Noise > 0 {
			c.Clip = defaults.LinearClip(rule.Clip, c.NoiseSD)
		}
	} else if !l.named() {
		d.p.Optimiser = pvi.Natural
		d.p.Steps = 1
		d.p.LearningRate = 1
	}
	if d.p.Optimiser == pvi.Natural || c.Model == pvi.Linear {
		s := f.Noise * math.Sqrt(float64(total+f.Centre)) * c.Clip * travelled(*c, rule.Rounds)
		p := f.Precisions(s, d.name != pvi.NameVirtual)
		c.StartPrecision = orElse(c.StartPrecision, p.Start)
		c.PrecisionFloor = orElse(c.PrecisionFloor, p.Floor)
	}
	c.PrecisionFloor = orElse(c.PrecisionFloor, c.PriorPrecision)
	c.CurvatureFrom = 0
	c.CurvatureBound = 0
	if curvature > 0 {
		c.CurvatureFrom = rule.Rounds + 1
		c.CurvatureBound = l.curvatureBound(d, f)
	}
	return total
}

// newton reports whether parties send Newton steps: the default at the dataset level under joint
// noise.
func (l LearningConfig) newton(d *draft, f defaults.Facts) bool {
	if l.Optimiser == string(pvi.Newton) {
		return true
	}
	return d.name == pvi.NameDataset && (d.cfg.Model == pvi.Logistic || d.cfg.Model == pvi.Linear) &&
		!l.named() && f.Noise > 0 && !d.p.Local && d.cfg.Family == gauss.MeanField && d.cfg.Beta == 0 &&
		l.Factors == ""
}

// steps fills in Newton steps.
func (l LearningConfig) steps(d *draft, f defaults.Facts) int {
	c := &d.cfg
	d.p.Optimiser = pvi.Newton
	if c.Model == pvi.Linear {
		c.NoiseSD = orElse(c.NoiseSD, defaults.NoiseSD)
	} else {
		d.p.Steps = 1
		d.p.LearningRate = 1
	}
	rule := f.Newton(curvatureOf(*c))
	c.Clip = orElse(c.Clip, rule.Clip)
	if c.StepBound == 0 {
		c.StepBound = rule.StepBound
		c.StepDoublings = orElse(c.StepDoublings, rule.Doublings)
	}
	c.Damping = orElse(c.Damping, rule.Damping)
	c.DampingDecay = orElse(c.DampingDecay, rule.Decay)
	c.StartPrecision = orElse(c.StartPrecision, rule.Precision)
	c.PrecisionFloor = orElse(c.PrecisionFloor, c.PriorPrecision)
	return rule.Rounds
}

// curvature is how many rounds reveal the curvature; wanted is how many should learn.
func (l LearningConfig) curvature(d *draft, f defaults.Facts, wanted int) int {
	if l.CurvatureRounds != 0 {
		return max(0, l.CurvatureRounds)
	}
	whole := d.cfg.CurvatureSlices()
	fits := 2*whole <= wanted && (f.Rounds == 0 || 3*whole <= f.Rounds)
	natural := d.cfg.Model == pvi.Linear || !l.named()
	if !fits || !natural || f.Noise == 0 || !f.ShowsCurvature() || d.name != pvi.NameVirtual || d.p.Local ||
		d.cfg.Family != gauss.MeanField {
		return 0
	}
	return whole
}

// curvatureBound is the norm of a shard's slice of the curvature that becomes the clip, which
// few exceed: a record's curvature is c x x' with c at most 1/4 for a logistic model, and less
// for most records, and c = 1/noise_sd^2 for a linear one.
func (l LearningConfig) curvatureBound(d *draft, f defaults.Facts) float64 {
	size := logisticCurvature * f.Norm * f.Norm
	if d.cfg.Model == pvi.Linear {
		size = 1.5 * f.Norm * f.Norm / (d.cfg.NoiseSD * d.cfg.NoiseSD)
	}
	rows := float64(max(1, d.p.ShardRows))
	if d.p.ShardRows == 0 {
		rows = max(1, float64(f.AssumedRecords())/float64(f.Parties*d.p.Shards))
	}
	v := size * rows / math.Sqrt(float64(d.cfg.CurvatureSlices()))
	return short(v)
}

// logisticCurvature is the curvature of a record in squares of its norm that few records exceed.
const logisticCurvature = 0.2

// short is a number of few digits in a plan.
func short(v float64) float64 { return math.Ldexp(math.Round(math.Ldexp(v, 10)), -10) }

// travelled is the root of the sum of the squared dampings of a run: the noise of its states
// in units of that on a sum.
func travelled(c pvi.Config, rounds int) float64 {
	sum := 0.0
	for s := range rounds {
		a := c.Damping / (1 + c.DampingDecay*float64(s))
		sum += a * a
	}
	return math.Sqrt(sum)
}

// optimisation fills in DP optimisation.
func (l LearningConfig) optimisation(d *draft, f defaults.Facts) int {
	rule := f.Optimisation(d.cfg.Model == pvi.BNN)
	if defaults.RoundsOf(d.name) == 1 {
		rule = rule.Once()
	}
	c := &d.cfg
	if !l.named() {
		d.p.Optimiser = rule.Optimiser
		d.p.Steps = rule.Steps
		d.p.LearningRate = rule.LearningRate
		d.p.SDUnit = orElse(d.p.SDUnit, rule.SDUnit)
		c.StartPrecision = orElse(c.StartPrecision, rule.StartPrecision)
		c.StartSpread = orElse(c.StartSpread, rule.StartSpread)
		c.PrecisionFloor = orElse(c.PrecisionFloor, rule.PrecisionFloor)
		c.DampingDecay = orElse(c.DampingDecay, rule.DampingDecay)
		c.Hidden = orElse(c.Hidden, rule.Hidden)
		c.Samples = orElse(c.Samples, rule.Samples)
		if l.Sampling == "" && l.SampleRate == 0 {
			d.p.Sampling = pvi.SamplingPoisson
			d.p.SampleRate = rule.SampleRate
		}
	}
	c.Clip = orElse(c.Clip, rule.Clip)
	c.Damping = orElse(c.Damping, rule.Damping)
	c.PrecisionFloor = orElse(c.PrecisionFloor, c.PriorPrecision)
	return orElse(f.Rounds, defaults.RoundsOf(d.name))
}
