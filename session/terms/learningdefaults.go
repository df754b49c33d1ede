package terms

import (
	"math"

	"choir/learn/bayes"
	"choir/learn/defaults"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// fill enters defaults for what isn't named and returns the number of rounds.
func (l LearningConfig) fill(d *draft, f defaults.Facts) int {
	c := &d.cfg
	if c.Model == bayes.External {
		c.PrecisionFloor = orElse(c.PrecisionFloor, c.PriorPrecision)
		return orElse(f.Rounds, defaults.RoundsOf(d.name))
	}
	if c.Model == bayes.Linear {
		c.NoiseSD = orElse(c.NoiseSD, f.NoiseSD())
	}
	if c.Model == bayes.BNN {
		c.Hidden = orElse(c.Hidden, f.Network().Hidden)
		c.Samples = orElse(c.Samples, f.Network().Samples)
	}
	rounds := l.strategy(d, f)
	c.PrecisionFloor = orElse(c.PrecisionFloor, c.PriorPrecision)
	if l.StartPrecision == 0 {
		c.StartPrecision = min(c.StartPrecision, largestStart(*c))
	}
	if l.PrecisionFloor == 0 {
		c.PrecisionFloor = min(c.PrecisionFloor, largestStart(*c))
	}
	if c.Model == bayes.BNN && c.PriorSpread == 0 && c.StartSpread == 0 {
		if c.StartPrecision > 0 {
			c.StartSpread = f.Network().Spread
		} else {
			c.PriorSpread = f.Network().Spread
		}
	}
	return rounds
}

// largestStart is the largest start precision that fits on the grid of the factors with some room: a start
// that follows from the records grows with them, and the grid does not.
func largestStart(c pvi.Config) float64 {
	return math.Ldexp(1, 58-int(GridFor(c.Clip))-int(c.DampingBits))
}

// strategy fills in what the strategy has.
func (l LearningConfig) strategy(d *draft, f defaults.Facts) int {
	switch {
	case d.name == pvi.NameVirtual:
		if l.Shards == 0 && l.ShardPower == 0 && l.ShardRows == 0 {
			d.p.ShardRows = 1
			d.p.Shards = pvi.MaxShards
			if l.Records > 0 {
				d.p.Shards = int(min(l.Records, pvi.MaxShards))
			}
		}
		return l.shards(d, f, virtualRule(d.cfg.Model))
	case l.newton(d, f):
		return l.steps(d, f)
	case byParty(d.name):
		return l.shards(d, f, defaults.Facts.Dataset)
	case d.name == pvi.NameAnalytic:
		return l.analytic(d, f)
	}
	return l.records(d, f)
}

// virtualRule is the rule of virtual clients.
func virtualRule(m bayes.Model) func(defaults.Facts) defaults.Shards {
	if m == bayes.Logistic {
		return defaults.Facts.VirtualClasses
	}
	return defaults.Facts.Virtual
}

// ties reports whether linear regression has scores of single records by default, with factors that are tied
// to the public posterior: then a sum has no noise of earlier rounds. That pays where records tell more than
// noise, which is where rounds reveal the curvature. Scores of classes are clipped by a law that depends on
// the class.
func (l LearningConfig) ties(d *draft, curvature int) bool {
	return d.name == pvi.NameVirtual && d.cfg.Model == bayes.Linear && curvature > 0 && l.Factors == "" &&
		l.Beta == 0 && l.PrecisionUnit == 0 && d.cfg.Family == gauss.MeanField && !d.p.Local &&
		d.p.ShardRows == 1
}

// byParty reports whether one term of a sum is what all of a party's records lead to.
func byParty(name pvi.StrategyName) bool {
	return name == pvi.NameDataset || name == pvi.NameAveraging || name == pvi.NamePerturbation
}

// byRecords reports whether one term of a sum is a single record's.
func byRecords(name pvi.StrategyName) bool { return name.Local() && name != pvi.NamePerturbation }

// named reports whether the configuration names an optimiser or a part of one.
func (l LearningConfig) named() bool { return l.Steps != 0 || l.LearningRate != 0 || l.Optimiser != "" }

// shards fills in the strategies whose terms are shards' updates.
func (l LearningConfig) shards(d *draft, f defaults.Facts, way func(defaults.Facts) defaults.Shards) int {
	c := &d.cfg
	curvature := l.curvature(d, f, way(f).Wanted)
	residual := l.residual(d, f, way(f).Wanted+curvature)
	if f.Rounds > 0 {
		f.Rounds -= curvature + residual
	}
	rule := way(f)
	total := rule.Rounds + curvature + residual
	c.Damping = orElse(c.Damping, rule.Damping)
	if f.Noise > 0 {
		c.Clip = orElse(c.Clip, rule.Clip)
	}
	tied := l.ties(d, curvature)
	if tied {
		c.Beta, c.PrecisionUnit = 1, defaults.PrecisionUnit
	}
	if c.Model == bayes.Linear {
		if l.Clip == 0 && f.Noise > 0 {
			c.Clip = defaults.LinearClip(rule.Clip, c.NoiseSD)
			if c.PrecisionUnit > 0 {
				c.Clip = defaults.ScoreClip(rule.Clip, c.NoiseSD)
			}
		}
	} else {
		l.step(d)
	}
	if d.p.Optimiser == pvi.Natural || c.Model == bayes.Linear {
		s := f.Noise * math.Sqrt(float64(total+f.Centre)) * c.Clip * travelled(*c, rule.Rounds)
		p := f.Precisions(s, d.name != pvi.NameVirtual)
		if c.Model == bayes.Linear {
			p = f.LinearPrecisions(s, d.like())
		}
		c.StartPrecision = orElse(c.StartPrecision, p.Start)
		c.PrecisionFloor = orElse(c.PrecisionFloor, p.Floor)
	}
	f.Rounds = rule.Rounds
	l.last(d, f, curvature)
	if tied {
		c.ClipHalvings = defaults.ClipHalvings
	}
	c.ResidualFrom = 0
	if residual > 0 {
		c.ResidualFrom = total - residual + 1
	}
	return total
}

// Steps of an optimiser that is named, on a shard's free energy.
const (
	adamSteps = 50
	adamRate  = 0.05
)

// step fills in how a shard's update is computed.
func (l LearningConfig) step(d *draft) {
	if !l.named() {
		d.p.Optimiser = pvi.Natural
	}
	steps, rate := adamSteps, adamRate
	if d.p.Optimiser == pvi.Natural {
		steps, rate = 1, 1
	}
	d.p.Steps = orElse(d.p.Steps, steps)
	d.p.LearningRate = orElse(d.p.LearningRate, rate)
}

// newton reports whether parties send Newton steps: the default at the dataset level under joint
// noise.
func (l LearningConfig) newton(d *draft, f defaults.Facts) bool {
	if l.Optimiser == string(pvi.Newton) {
		return true
	}
	return d.name == pvi.NameDataset && (d.cfg.Model == bayes.Logistic || d.cfg.Model == bayes.Linear) &&
		!l.named() && f.Noise > 0 && !d.p.Local && d.cfg.Family == gauss.MeanField && d.cfg.Beta == 0 &&
		l.Factors == ""
}

// steps fills in Newton steps.
func (l LearningConfig) steps(d *draft, f defaults.Facts) int {
	c := &d.cfg
	d.p.Optimiser = pvi.Newton
	if c.Model != bayes.Linear {
		d.p.Steps = 1
		d.p.LearningRate = 1
	}
	total := orElse(f.Rounds, f.Newton(curvatureOf(*c), c.StepBound).Rounds+partyResiduals)
	residual := l.squares(d, f, total)
	if residual > 0 {
		f.Rounds = max(1, total-residual)
		f.Noise *= math.Sqrt(float64(total) / float64(f.Rounds))
	}
	rule := f.Newton(curvatureOf(*c), c.StepBound)
	c.Clip = orElse(c.Clip, rule.Clip)
	if c.StepBound == 0 {
		c.StepBound = rule.StepBound
		c.StepDoublings = orElse(c.StepDoublings, rule.Doublings)
	}
	c.StepKept = orElse(c.StepKept, rule.Kept)
	c.Damping = orElse(c.Damping, rule.Damping)
	c.DampingDecay = orElse(c.DampingDecay, rule.Decay)
	c.StartPrecision = orElse(c.StartPrecision, rule.Precision)
	c.ResidualFrom = 0
	if residual > 0 {
		c.ResidualFrom = rule.Rounds + 1
	}
	return rule.Rounds + residual
}

// partyResiduals is how many rounds sum squares of residuals after Newton steps.
const partyResiduals = 2

// squares is how many of the rounds of Newton steps sum squares of residuals.
func (l LearningConfig) squares(d *draft, f defaults.Facts, rounds int) int {
	switch {
	case l.ResidualRounds != 0:
		return max(0, l.ResidualRounds)
	case d.cfg.Model == bayes.Linear && f.Noise > 0 && f.PartiesShowResiduals(rounds, pvi.ResidualLimit):
		return partyResiduals
	}
	return 0
}

// curvature is how many rounds reveal the curvature; wanted is how many should learn.
func (l LearningConfig) curvature(d *draft, f defaults.Facts, wanted int) int {
	if l.CurvatureRounds != 0 {
		return max(0, l.CurvatureRounds)
	}
	whole := d.cfg.CurvatureSlices()
	fits := 2*whole <= wanted && (f.Rounds == 0 || 3*whole <= f.Rounds)
	regression := d.cfg.Model == bayes.Linear || d.cfg.Model == bayes.Logistic
	shards := d.name == pvi.NameVirtual && !d.p.Local && (d.cfg.Model == bayes.Linear || !l.named())
	records := (d.name == pvi.NameOptimisation || d.name == pvi.NameHybrid) && d.p.Optimiser == pvi.Natural
	if !fits || !regression || !shards && !records || f.Noise == 0 || !f.ShowsCurvature() ||
		d.cfg.Family != gauss.MeanField {
		return 0
	}
	return whole
}

// residual is how many rounds sum squares of residuals; others is how many others there should be. One is
// enough: its share of the budget is small where rounds are many.
func (l LearningConfig) residual(d *draft, f defaults.Facts, others int) int {
	if l.ResidualRounds != 0 {
		return max(0, l.ResidualRounds)
	}
	virtual := d.name == pvi.NameVirtual && d.p.ShardRows > 0 && !d.p.Local && d.cfg.Factors != pvi.FactorsNoisy
	if !virtual || d.cfg.Model != bayes.Linear || f.Noise == 0 ||
		!f.ShowsResiduals(orElse(f.Rounds, others+1), pvi.ResidualLimit) {
		return 0
	}
	return 1
}

// last fills in the rounds that reveal the curvature, after those that learn.
func (l LearningConfig) last(d *draft, f defaults.Facts, curvature int) {
	d.cfg.CurvatureFrom = 0
	d.cfg.CurvatureBound = 0
	if curvature > 0 {
		d.cfg.CurvatureFrom = f.Rounds + 1
		d.cfg.CurvatureBound = l.curvatureBound(d, f)
	}
}

// curvatureBound is the norm of a shard's slice of the curvature that becomes the clip, which
// few exceed: a record's curvature is c x x' with c at most 1/4 for a logistic model, and less
// for most records, and c = 1/noise_sd^2 for a linear one.
func (l LearningConfig) curvatureBound(d *draft, f defaults.Facts) float64 {
	size := logisticCurvature * f.Norm * f.Norm
	if d.cfg.Model == bayes.Linear {
		size = 1.5 * f.Norm * f.Norm / (d.cfg.NoiseSD * d.cfg.NoiseSD)
	}
	rows := float64(max(1, d.p.ShardRows))
	if d.p.ShardRows == 0 && !byRecords(d.name) {
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
// in units of that on a sum. Tied factors lose their share of it in every later round.
func travelled(c pvi.Config, rounds int) float64 {
	sum := 0.0
	for s := range rounds {
		a := c.Damping / (1 + c.DampingDecay*float64(s))
		left := 1 - a*c.Beta
		sum = sum*left*left + a*a
	}
	return math.Sqrt(sum)
}

// like is how a record's likelihood depends on what the model predicts.
func (d *draft) like() defaults.Slope {
	if d.cfg.Model == bayes.Linear {
		return defaults.Gaussian(d.cfg.NoiseSD)
	}
	return defaults.Logit()
}

// records fills in the strategies that take noisy steps from samples of records.
func (l LearningConfig) records(d *draft, f defaults.Facts) int {
	c := &d.cfg
	if l.Sampling == "" && l.SampleRate == 0 && !l.named() {
		d.p.Sampling = pvi.SamplingPoisson
		d.p.SampleRate = defaults.StepsSample
	}
	once := defaults.RoundsOf(d.name) == 1
	if !l.named() && c.Family == gauss.MeanField {
		d.p.Optimiser = pvi.Natural
		if c.Model == bayes.BNN {
			d.p.Optimiser = pvi.SGD
		}
	}
	rounds := defaults.RoundsOf(d.name)
	curvature := l.curvature(d, f, rounds)
	total := orElse(f.Rounds, rounds+curvature)
	f.Rounds = total - curvature
	var rule defaults.Steps
	switch {
	case c.Model == bayes.BNN && d.p.Optimiser == pvi.SGD:
		rule = f.NetworkSteps(orElse(d.p.SampleRate, 1), once)
	case d.p.Optimiser == pvi.Natural:
		rule = d.climb(f, once, curvature > 0)
	default:
		rule = f.Gradients(d.like(), once)
		if d.p.Optimiser == pvi.SGD || d.p.Optimiser == pvi.Proximal {
			rule.Rate = f.PlainRate(d.like())
		}
	}
	if d.name == pvi.NameHybrid && c.Model == bayes.Linear {
		d.p.StatisticClip = orElse(d.p.StatisticClip, f.StatisticClip(c.NoiseSD))
		rule.Floor = max(rule.Floor, f.MatrixFloor(f.Noise*d.p.StatisticClip, d.like()))
		if c.Family == gauss.Full { // it begins near the end
			rule.Rate /= 10
		}
	}
	d.p.SDUnit = orElse(d.p.SDUnit, rule.SDUnit)
	c.StartPrecision = orElse(c.StartPrecision, rule.Start)
	if rule.Floor > 0 {
		c.PrecisionFloor = orElse(c.PrecisionFloor, rule.Floor)
	}
	d.p.Steps = orElse(d.p.Steps, rule.Steps)
	d.p.LearningRate = orElse(d.p.LearningRate, rule.Rate)
	c.Clip = orElse(c.Clip, rule.Clip)
	c.Damping = orElse(c.Damping, rule.Damping)
	c.DampingDecay = orElse(c.DampingDecay, rule.Decay)
	l.last(d, f, curvature)
	return total
}

// climb is the rule of noisy natural-gradient steps, of a run that reveals the curvature or not.
func (d *draft) climb(f defaults.Facts, once, curved bool) defaults.Steps {
	rule := f.Optimisation(d.like(), orElse(d.p.SampleRate, 1), once)
	if curved {
		rule.Clip = f.Widened(rule.Clip)
	}
	return rule
}

// analytic fills in sums of records' natural parameters.
func (l LearningConfig) analytic(d *draft, f defaults.Facts) int {
	c := &d.cfg
	rounds := orElse(f.Rounds, defaults.RoundsOf(d.name))
	if c.Model != bayes.Linear { // an error names it
		return rounds
	}
	c.Clip = orElse(c.Clip, f.StatisticClip(c.NoiseSD))
	c.Damping = orElse(c.Damping, 1)
	c.DampingDecay = orElse(c.DampingDecay, 1) // the mean of all rounds
	noise := f.Noise * c.Clip / math.Sqrt(float64(rounds))
	c.PrecisionFloor = orElse(c.PrecisionFloor, f.MatrixFloor(noise, d.like()))
	return rounds
}
