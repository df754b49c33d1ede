package ledger

import (
	"fmt"
	"iter"
	"slices"

	"choir/privacy"
)

// Budget bounds what all charges may spend together.
type Budget struct{ Epsilon, Delta float64 }

// Charges returns the charges since the last reset, oldest first.
func (l *Ledger) Charges() iter.Seq[Charge] {
	return func(yield func(Charge) bool) {
		for i := l.since; i < len(l.entries) && yield(l.entries[i].Charge); i++ {
		}
	}
}

// Spent returns an upper bound on the epsilon at delta of all charges since the last reset, over all
// plans. If any charge is for replace-one neighbours, the bound is for these, and add-remove charges
// count with twice their sensitivity, since a replacement is a removal and an addition.
func (l *Ledger) Spent(delta float64) (privacy.Bound, error) {
	return compose(slices.Collect(l.Charges()), delta)
}

// CanAfford returns [ErrOverspend] if the next charges, together with those made since the last reset,
// would exceed the budget. The bound is what they would spend in either case. Next charges that were
// made before are not counted again. With sampled rounds it takes some tenths of a second.
func (l *Ledger) CanAfford(b Budget, next ...Charge) (privacy.Bound, error) {
	all := slices.Collect(l.Charges())
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

// compose bounds the epsilon of charges under their strictest relation, by [privacy.Spent].
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
		all = append(all, privacy.SampledRelease{
			Release: c.Release, Sampling: c.Sampling, Rate: c.Rate, Count: int(c.Count), Shuffled: c.Shuffled,
		})
	}
	return privacy.Spent(all, relation, delta, privacy.PlanPrecision())
}

// strictest validates the charges and returns ReplaceOne if the relation of any of them is.
func strictest(charges []Charge) (privacy.Relation, error) {
	relation := privacy.AddRemove
	for _, c := range charges {
		if err := c.validate(); err != nil {
			return 0, err
		}
		if c.Relation == privacy.ReplaceOne {
			relation = privacy.ReplaceOne
		}
	}
	return relation, nil
}
