package defaults

import (
	"math"
	"strconv"
)

// Limits of the rules.
const (
	leastRounds = 20  // of a plan that names none
	mostRounds  = 120 // beyond, more rounds cost more than they gain
	stable      = 1.2 // damping times alignment; 2 is the edge of a linear problem
	boldest     = 0.2 // the largest damping
	mostHaste   = 3   // in few rounds a step may be this much longer: there is less time to diverge
	mostFloor   = 1024
	mostRidge   = 1 << 20 // the same for linear regression, whose records are 1/sd^2 times as precise
	fullPasses  = 4       // 1 - exp(-4): how much of the way is 98 %
	quiet       = 0.2     // of the records' own scatter: noise that widens intervals by little
)

// Shards are settings of natural-gradient steps over shards: the strategies virtual and
// dataset.
type Shards struct {
	Rounds  int
	Clip    float64
	Damping float64
	Wanted  int // rounds that the rules would choose
}

// Virtual is the setting for one record a shard, one natural-gradient step a round.
//
// A run of R rounds with damping a and clip C makes a R passes over the data: each record's
// factor goes 1 - exp(-a R) of the way to its place, as far as the clip lets it. The noise
// on the linear part is then s = Noise sqrt(R) C a sqrt(R) = Noise C (a R): it grows with
// the clip and the passes, and not with the rounds. So rounds are free of noise, and there
// are as many as keep a step stable; clip and passes grow with the square root of the
// signal, and stop where the data decide alone.
func (f Facts) Virtual() Shards {
	u := math.Sqrt(f.signal())
	return f.shards(f.Norm*clamp(0.013*u, 0.05, 0.2), clamp(0.8*u, 1, fullPasses), leastRounds)
}

// VirtualClasses is Virtual for two classes, which makes more passes where noise is little.
//
// Where columns are correlated four passes leave the public posterior far from the records' own, most of all
// for long weights. What sums tell there of the weights depends on how scores bend on the way, which is known
// less well than many records' scores. A pass more costs noise alone: the state's is Noise C (a R) in a
// coordinate, and the records' own score has the standard deviation sqrt(Records Spread logitCurve). So there
// are as many passes as leave the noise below the share quiet of that, and as mostRounds rounds can make. A
// plan without noise keeps Virtual.
func (f Facts) VirtualClasses() Shards {
	s := f.Virtual()
	scatter := math.Sqrt(float64(f.AssumedRecords()) * f.Spread * logitCurve)
	passes := min(mostRounds*f.boldest(), quiet*scatter/(f.Noise*s.Clip))
	if passes <= fullPasses || f.Noise == 0 {
		return s
	}
	return f.shards(s.Clip, passes, leastRounds)
}

// Dataset is the setting for one clipped update a party. The sum of all parties' updates has
// at most the norm of Parties clips, so that the parties take the records' place in the
// signal. While they are few, the direction of an update is all that can be learnt, and a
// clip far below an update's norm averages over rounds; when they are many, a larger clip
// lets factors reach their place.
func (f Facts) Dataset() Shards {
	p := float64(f.Parties) / max(f.Noise, 1e-9)
	return f.shards(f.Norm*clamp(0.1*p*p, 1, 20), 1, 5)
}

func (f Facts) shards(clip, passes float64, least int) Shards {
	most := f.boldest()
	want := min(mostRounds, max(least, int(math.Ceil(passes/most))))
	s := Shards{Rounds: f.Rounds, Clip: round3(clip), Wanted: want}
	if s.Rounds == 0 {
		s.Rounds = want
	}
	if s.Rounds < want {
		most *= min(mostHaste, math.Sqrt(float64(want)/float64(s.Rounds)))
	}
	s.Damping = round3(min(1, most, passes/float64(s.Rounds)))
	return s
}

// boldest is the largest damping that keeps a step stable.
func (f Facts) boldest() float64 { return min(boldest, stable/f.Aligned) }

// Precisions are the precision that a run starts with and the least that it may have.
type Precisions struct{ Start, Floor float64 }

// Precisions of a run whose states end with noise of standard deviation s on the linear part
// of every weight. A weight's mean has the noise s / precision, and a record's logit
// Norm times that: the floor bounds the logit's noise at any budget. It acts as
// a ridge that is as strong as the noise. The start is above the floor, and has a part of
// the curvature that the records are expected to have, so that the first steps are damped.
func (f Facts) Precisions(s float64, dataset bool) Precisions {
	p := Precisions{Start: 1.2 * f.Norm * s, Floor: f.Norm * s}
	if dataset {
		p = Precisions{Start: 1.75 * f.Norm * s, Floor: 1.2 * f.Norm * s}
	}
	p.Start = round3(max(p.Start, 0.05*f.Spread*float64(f.AssumedRecords())))
	p.Floor = round3(min(mostFloor*f.prior(), max(f.prior(), p.Floor)))
	return p
}

// LinearPrecisions are those of linear regression; like is the slope of an observation.
//
// A weight's estimate is h/P, where h has the mean H w and noise of standard deviation s. For w of
// variance Target^2 / Norm^2 the error is least at P = H + a^2/H, with a as in level: at least 2 a.
func (f Facts) LinearPrecisions(s float64, like Slope) Precisions {
	floor := f.ridge(s, like)
	return Precisions{Start: round3(max(1.2*floor, 0.05*f.expected(like))), Floor: round3(floor)}
}

// level is the precision at which noise of standard deviation s on the linear part of every weight
// makes a prediction's noise as long as the target.
func (f Facts) level(s float64) float64 {
	return f.Norm * s / f.target()
}

// ridge is the least precision, at least the prior's, that noise of standard deviation s asks of linear
// regression whose records are expected to explain half of the target's variance.
func (f Facts) ridge(s float64, like Slope) float64 {
	a := f.level(s)
	return min(mostRidge*f.prior(), max(f.prior(), 2*a*max(1, 2*a/f.expected(like))))
}

func clamp(v, lo, hi float64) float64 { return min(max(v, lo), hi) }

// round3 keeps three digits, so that people can read a plan's settings.
func round3(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// NoiseSD is the standard deviation of an observation that linear regression by strategies assumes
// where a plan names none.
//
// A variance of v times the target's gains (1 - log v - (1 - s)/v) / 2 nats over the mean of the targets
// where the columns explain the share s of its variance. Over all s between 0 and 1 alike, that is most
// at v = 1/2.
func (f Facts) NoiseSD() float64 { return round3(f.target() * math.Sqrt(0.5)) }

func (f Facts) target() float64 {
	if f.Target > 0 {
		return f.Target
	}
	return 1
}

// LinearClip is the clip of shards of linear regression: a record's natural parameters are a
// product of columns and target over the observations' variance.
func LinearClip(logistic, noiseSD float64) float64 {
	return round3(10 * logistic / (noiseSD * noiseSD))
}

// Settings of linear regression whose terms are scores: a precision counts for this part, and the clip is
// halved so often.
const (
	PrecisionUnit = 0.5
	ClipHalvings  = 2
)

// ScoreClip is the first clip of scores of linear regression. With the clip of classes at its most, a fifth
// of a record's norm, it is 4.8 scores of a record whose residual is the assumed noise. The last one is a
// quarter of that: residuals are about as long as their noise then.
func ScoreClip(logistic, noiseSD float64) float64 { return round3(24 * logistic / noiseSD) }

// leastForResiduals is the least number of rounds of a plan one of which sums squares of residuals.
const leastForResiduals = 10

// residualNoise is the most noise on the mean square of residuals, in variances of an observation, with which
// a round that sums them pays: with more it would tell less than the plan's assumption.
const residualNoise = 1

// ShowsResiduals reports whether one of a number of rounds is worth spending on residuals whose squares are
// summed up to limit variances of an observation: a square moves a sum by two clips.
func (f Facts) ShowsResiduals(rounds int, limit float64) bool {
	noise := limit * f.Noise * math.Sqrt(float64(rounds)) / (2 * float64(f.AssumedRecords()))
	return rounds >= leastForResiduals && noise <= residualNoise
}

// partyResidualNoise is the same where parties' mean squares are summed.
const partyResidualNoise = 0.5

// PartiesShowResiduals is ShowsResiduals where a party's records count once, by the mean of their squares.
func (f Facts) PartiesShowResiduals(rounds int, limit float64) bool {
	noise := limit * f.Noise * math.Sqrt(float64(rounds)) / (2 * float64(max(1, f.Parties)))
	return rounds >= leastForResiduals && noise <= partyResidualNoise
}
