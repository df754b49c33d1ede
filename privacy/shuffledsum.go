package privacy

import (
	"math"

	"choir/privacy/pld"
	"choir/privacy/shuffle"
)

// GammaUnit is the number of steps of Shuffled.Gamma in 1.
const GammaUnit = 1 << 32

// maxShuffled is the largest number of reports that bounds count: a bound for fewer holds for more, and
// those of more take long.
const maxShuffled = 1 << 20

// maxLocal is the largest local guarantee of noise that is accepted.
const maxLocal = 50

// Shuffled describes the sum of the one-hot vectors of reports by k-ary randomised response, or of levels
// with discrete Laplace noise. Their histogram is all that the sum shows (docs/privacy.md, Theorems S2 and
// S4). The zero value is none.
type Shuffled struct {
	Reports    uint64 // reports that the adversary does not know, the victim's included; at least 1
	Categories uint32 // of values, or of levels to which noise is added; 2 to 2^20
	Gamma      uint64 // probability of a uniform report, in units of 2^-32; 1 to 2^32, or 0 with noise
	// Keep is, with noise, the probability of a level over that of the one before, in units of 2^-32; 1 to
	// 2^32 - 1, or 0 with randomised response.
	Keep uint64
}

// Validate returns an error with the name of an invalid field.
func (s Shuffled) Validate() error {
	switch {
	case s.Reports < 1:
		return reject("reports 0: no honest report is left to hide")
	case s.Categories < 2 || s.Categories > 1<<20:
		return reject("categories %d is not in 2..2^20", s.Categories)
	case s.Keep > 0 && (s.Gamma > 0 || s.Keep >= GammaUnit):
		return reject("keep %d is not in 1..2^32-1 units of 2^-32, or gamma %d is not 0 beside it", s.Keep, s.Gamma)
	case s.Keep > 0 && !(s.Local() <= maxLocal):
		return reject("keep %d on %d levels has the local epsilon %.4g, more than %d", s.Keep, s.Categories,
			s.Local(), maxLocal)
	case s.Keep == 0 && (s.Gamma < 1 || s.Gamma > GammaUnit):
		return reject("gamma %d is not in 1..2^32 units of 2^-32", s.Gamma)
	}
	return nil
}

// Local returns the guarantee of one report against all others together.
func (s Shuffled) Local() float64 { return s.round(1).LocalEpsilon() }

func (s Shuffled) round(count int) shuffle.Round {
	r := shuffle.Round{Kind: shuffle.RandomisedResponse, Users: int(min(s.Reports, maxShuffled)),
		Categories: int(s.Categories), Gamma: float64(s.Gamma) / GammaUnit, Count: count}
	if s.Keep == 0 {
		return r
	}
	r.Kind, r.Categories, r.Levels = shuffle.Laplace, 0, r.Categories
	r.Eps0 = -math.Log(float64(s.Keep)/GammaUnit) * float64(r.Levels-1) * (1 + 0x1p-45)
	if r.Levels > shuffle.MaxLevels { // that of any reports with the local guarantee
		r.Kind, r.Levels = shuffle.LDP, 0
	}
	return r
}

// Methods of bounds with shuffled reports.
const (
	methodLocal   = "local"       // every report is randomised by itself
	methodBlanket = "blanket-pld" // docs/privacy.md, Theorems S2 and S4, composed by privacy losses
)

// spentShuffled bounds shuffled reports together with other releases. The deviation of integer noise from a
// Gaussian bounds the ratio of probabilities of all outputs together, so that it is counted as it is
// without shuffled reports. Local guarantees are pure, so that their sum may be added to the bound for the
// others.
func spentShuffled(merged []SampledRelease, relation Relation, delta float64, prec pld.Precision) (Bound,
	error) {
	if relation != ReplaceOne {
		return Bound{}, reject("shuffled reports are proven for replace-one neighbours only")
	}
	rounds, local, plain := divided(merged)
	best := Bound{Epsilon: up(local), Method: methodLocal}
	var all []sampledSums
	if len(plain) > 0 {
		b, err := Spent(plain, relation, delta, prec)
		if err != nil {
			return Bound{}, err
		}
		best.Epsilon = up(best.Epsilon + b.Epsilon)
		for _, x := range plain {
			all = append(all, sampledSums{x.sums(float64(x.Count)), x.Sampling, x.Rate})
		}
	}
	for _, r := range smoothings {
		steps, d := smoothed(all, r)
		if d.low+d.high > 1 {
			continue
		}
		others, err := dominating(steps, ReplaceOne, pld.Remove)
		if err != nil {
			break // no losses are computed for so little noise: the first bound remains
		}
		e, err := shuffle.Upper(rounds, others, delta*math.Exp(-d.high)*(1-0x1p-45), prec)
		if err != nil {
			return Bound{}, reject("%v", err)
		}
		if e = up(e + d.low + d.high); e < best.Epsilon {
			best = Bound{Epsilon: e, Method: methodBlanket}
		}
		if d.low+d.high < 1e-9 {
			break // more rounding noise cannot improve the bound
		}
	}
	return best, nil
}

// divided returns the shuffled rounds, the sum of their local guarantees, and the other releases.
func divided(merged []SampledRelease) (rounds []shuffle.Round, local float64, plain []SampledRelease) {
	for _, x := range merged {
		if x.Shuffled == (Shuffled{}) {
			plain = append(plain, x)
			continue
		}
		r := x.Shuffled.round(x.Count)
		rounds = append(rounds, r)
		local += float64(x.Count) * r.LocalEpsilon()
	}
	return rounds, local, plain
}
