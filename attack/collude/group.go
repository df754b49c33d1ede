package collude

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"choir/attack/threat"
	"choir/privacy"
	"choir/protocol"
)

// Groups are so large that their terms are at least this many deviations of a sum's noise apart.
const (
	groupApart   = 8  // of all rounds together
	sampledApart = 20 // in one round of a sampled session, where the draws must be told apart
)

// largest is the number of records of a group's run: it makes up for the noise of all members, so that few
// of the runs suffice. It is 1 where a single record is as clear.
func (s sums) largest(runs int) int {
	t, parts := s.t, s.t.Parties
	switch {
	case t.Noise == protocol.NoiseNone:
		return 1
	case t.Noise == protocol.NoiseCompute:
		parts = t.Nodes
	case t.Exposed:
		parts = 1
	}
	steps := float64(t.Steps)
	deviation := math.Sqrt(float64(t.Variance) * float64(parts) * steps)
	k := groupApart * deviation / (math.Sqrt(float64(t.Rounds)) * steps * float64(t.Sensitivity))
	if t.Sampling != privacy.SamplingNone {
		k = sampledApart * deviation / t.apart()
	}
	return max(1, int(math.Ceil(min(k, t.longest(runs)))))
}

// longest is the largest group whose terms are within the bound of a party's vector.
func (t Target) longest(runs int) float64 {
	return float64(beyondAll/4) / (float64(t.Sensitivity) * float64(t.Steps) * math.Sqrt(float64(runs)))
}

// apart is the distance of a sum with one draw of the record from a sum with none.
func (t Target) apart() float64 {
	up, _ := t.terms()
	return float64(up)
}

// draws are what the groups' runs of a sampled session show.
type draws struct {
	hits, wrong, of int     // rounds in which the record's side was drawn, or the other one; all rounds
	squares         float64 // of the noise
	rounds          int     // of which it is the sum
}

// sampled raises the limit of a sampled session. The groups' terms are so far apart that the view shows how
// often they were drawn in a round. So it has the rate and the deviation of the noise, each with a
// confidence limit, and from these the distribution of the rounds' sums for a single record, whose draws
// no one sees: of their total, and for one step a round of all of them.
func (s sums) sampled(m *Measurement, rest func(round int) ([]float64, bool)) error {
	term := s.t.apart() * float64(s.group)
	d, ok := s.drawn(term, rest)
	if !ok || d.rounds == 0 {
		return nil
	}
	const alpha = falseAlarm / 8
	chi := distuv.ChiSquared{K: float64(d.rounds)}
	deviation := math.Sqrt(d.squares / chi.Quantile(alpha))
	rate := threat.LowerRate(d.hits, d.of, alpha) - threat.UpperRate(d.wrong, d.of, alpha)
	if rate <= 0 || deviation == 0 || deviation*sampledApart*0.8 > term {
		return nil // the noise blurs the draws
	}
	rate = min(s.t.Rate, -math.Expm1(math.Log1p(-min(rate, 1))/float64(s.t.Steps))) // of one step
	up, down := s.t.terms()
	e := drawnEpsilon(float64(up)/deviation, float64(down)/deviation, rate, s.t.Rounds, s.t.Steps, s.t.Delta)
	if s.t.Steps == 1 {
		exact, err := privacy.SampledEpsilon([]privacy.SampledStep{{Mu: float64(s.t.Sensitivity) / deviation,
			Sampling: s.t.Sampling, Rate: rate, Count: s.t.Rounds}}, s.t.Relation, s.t.Delta, privacy.PlanPrecision())
		if err != nil {
			return err
		}
		e = max(e, exact.Lower)
	}
	if e > m.Low {
		m.Low = e
		m.Method = "by the distribution of all rounds' sums under the limits of the rate of draws and of the " +
			"noise that groups of records show"
	}
	return nil
}

// drawnEpsilon is an epsilon that the sum of all rounds refutes: the largest ln((P(S) - delta) / Q(S)) over
// half lines S, where a binomial number of draws adds a term each, of one kind under P and of the other
// under Q, to noise of deviation 1 a round.
func drawnEpsilon(with, without, rate float64, rounds, steps int, delta float64) (most float64) {
	draws := distuv.Binomial{N: float64(rounds * steps), P: rate}
	deviation := math.Sqrt(float64(rounds))
	lo, hi := max(0, draws.Mean()-12*draws.StdDev()-30), min(draws.N, draws.Mean()+12*draws.StdDev()+30)
	above := func(t, term float64) (p float64) {
		for k := math.Floor(lo); k <= hi; k++ {
			p += draws.Prob(k) * distuv.UnitNormal.Survival((t-k*term)/deviation)
		}
		return p
	}
	spread := 12 * (deviation + math.Abs(with-without)*draws.StdDev())
	first, last := draws.Mean()*min(with, without)-spread, draws.Mean()*max(with, without)+spread
	const points = 400
	for i := range points {
		t := first + (last-first)*float64(i)/points
		for _, side := range []float64{1, -1} {
			p, q := above(side*t, side*with), above(side*t, side*without)
			for _, pair := range [][2]float64{{p, q}, {q, p}} {
				if pair[0] > delta && pair[1] > 0 {
					most = max(most, math.Log((pair[0]-delta)/pair[1]))
				}
			}
		}
	}
	return most
}

// drawn counts the draws of the groups' runs in all rounds.
func (s sums) drawn(term float64, rest func(round int) ([]float64, bool)) (d draws, ok bool) {
	for round := 1; round <= s.t.Rounds; round++ {
		x, ok := rest(round)
		if !ok {
			return d, false
		}
		for j := range x {
			if s.records(j) == 1 {
				continue
			}
			drawn := math.Round(x[j] / term)
			d.squares += square(x[j] - drawn*term)
			d.rounds++
			d.count(drawn, s.bits[j], s.t.Relation)
		}
	}
	return d, true
}

// count adds a round of a group that is there, or not. Of a group that is not there add-or-remove draws
// nothing, and replace-one the opposite.
func (d *draws) count(drawn float64, with bool, relation privacy.Relation) {
	if !with && relation == privacy.AddRemove {
		if drawn > 0 {
			d.wrong++
		}
		return
	}
	d.of++
	switch {
	case with == (drawn > 0) && drawn != 0:
		d.hits++
	case drawn != 0:
		d.wrong++
	}
}
