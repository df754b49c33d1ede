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

// Shuffled describes the sum of the one-hot vectors of reports by k-ary randomised response. Their
// histogram is all that the sum shows (docs/privacy.md, Theorem S2). The zero value is none.
type Shuffled struct {
	Reports    uint64 // reports that the adversary does not know, the victim's included; at least 1
	Categories uint32 // 2 to 2^20
	Gamma      uint64 // probability of a uniform report, in units of 2^-32; 1 to 2^32
}

// Validate returns an error with the name of an invalid field.
func (s Shuffled) Validate() error {
	switch {
	case s.Reports < 1:
		return reject("reports 0: no honest report is left to hide")
	case s.Categories < 2 || s.Categories > 1<<20:
		return reject("categories %d is not in 2..2^20", s.Categories)
	case s.Gamma < 1 || s.Gamma > GammaUnit:
		return reject("gamma %d is not in 1..2^32 units of 2^-32", s.Gamma)
	}
	return nil
}

// Local returns the guarantee of one report against everybody together.
func (s Shuffled) Local() float64 { return s.round(1).LocalEpsilon() }

func (s Shuffled) round(count int) shuffle.Round {
	return shuffle.Round{Kind: shuffle.RandomisedResponse, Users: int(min(s.Reports, maxShuffled)),
		Categories: int(s.Categories), Gamma: float64(s.Gamma) / GammaUnit, Count: count}
}

// Methods of bounds with shuffled reports.
const (
	methodLocal   = "local"       // every report is randomised by itself
	methodBlanket = "blanket-pld" // docs/privacy.md, Theorem S2, composed by privacy losses
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
