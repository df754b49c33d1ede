package ledger

import (
	"fmt"

	"choir/privacy"
)

// Budget is what all charges together may spend.
type Budget struct{ Epsilon, Delta float64 }

// Charges lists what has been charged since the last reset.
func (l *Ledger) Charges() []Charge {
	var out []Charge
	for _, e := range l.entries {
		if e.Kind == KindReset {
			out = out[:0]
			continue
		}
		out = append(out, e.Charge)
	}
	return out
}

// Spent is the epsilon at delta of everything charged since the last reset, over all
// plans, as upper bound. If any charge is for replace-one neighbours the bound is for
// them, and add-remove charges count with twice their sensitivity: replacing is removing and adding.
func (l *Ledger) Spent(delta float64) (privacy.Bound, error) {
	return compose(l.Charges(), delta)
}

// Compose is Spent over a chain that has yet to be verified.
func Compose(chain []Entry, delta float64) (privacy.Bound, error) {
	var l Ledger
	for _, e := range chain {
		if err := l.Append(e); err != nil {
			return privacy.Bound{}, err
		}
	}
	return l.Spent(delta)
}

// CanAfford says whether the budget bears the next charges on top of what was spent.
// ErrOverspend if it doesn't; the bound is what would be spent either way. Charges
// that were made before count once. With sampled rounds it takes some tenths of a second.
func (l *Ledger) CanAfford(b Budget, next ...Charge) (privacy.Bound, error) {
	all := l.Charges()
	for _, c := range next {
		if !l.Charged(c) {
			all = append(all, c.filled())
		}
	}
	spent, err := compose(all, b.Delta)
	if err != nil {
		return privacy.Bound{}, err
	}
	if !(spent.Epsilon <= b.Epsilon) {
		return spent, fmt.Errorf("%w: it would bring epsilon to %.6g of %.6g at delta %g",
			ErrOverspend, spent.Epsilon, b.Epsilon, b.Delta)
	}
	return spent, nil
}

// compose bounds charges under their strictest relation: as if nothing were sampled,
// and, if something is, by its losses; the better of the two.
func compose(charges []Charge, delta float64) (privacy.Bound, error) {
	relation, err := strictest(charges)
	if err != nil {
		return privacy.Bound{}, err
	}
	var all []privacy.SampledRelease
	for _, c := range charges {
		if c.Relation != relation {
			c.Release.Sensitivity *= 2
		}
		all = append(all, privacy.SampledRelease{Release: c.Release, Sampling: c.Sampling, Rate: c.Rate, Count: int(c.Count)})
	}
	return privacy.Spent(all, relation, delta, privacy.PlanPrecision())
}

// strictest validates the charges and is ReplaceOne if any of them is.
func strictest(charges []Charge) (privacy.Relation, error) {
	relation := privacy.AddRemove
	for _, c := range charges {
		if err := c.Validate(); err != nil {
			return 0, err
		}
		if c.Relation == privacy.ReplaceOne {
			relation = privacy.ReplaceOne
		}
	}
	return relation, nil
}
