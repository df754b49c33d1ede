package global

import (
	"slices"

	"gonum.org/v1/gonum/mat"

	"choir/learn/pvi/reading"
)

// attendance is which parties' records the sums of a trace are of. Parties are taken to have as many records
// each, since a plan does not tell. One that no round counts has no part in the posterior.
type attendance struct {
	sets  [][]int // by observation, in order; nil: all
	known int     // parties that some round counts
	all   int     // parties of the plan
}

// attended reads who took part.
func attended(trace []reading.Observation) attendance {
	var a attendance
	var places []int
	for _, o := range trace {
		set := slices.Clone(o.Set)
		slices.Sort(set)
		a.sets = append(a.sets, set)
		a.all = max(a.all, o.Parties+o.Absent)
		places = append(places, set...)
	}
	slices.Sort(places)
	a.known = len(slices.Compact(places))
	if slices.ContainsFunc(a.sets, func(set []int) bool { return len(set) == 0 }) {
		a.known = max(a.known, a.all) // a sum of parties that are not told is of all
	}
	a.all = max(a.all, a.known)
	return a
}

// complete reports whether every sum is of all parties that any one is of.
func (a attendance) complete() bool {
	return !slices.ContainsFunc(a.sets, func(set []int) bool { return len(set) > 0 && len(set) < a.known })
}

// records is how many of the declared records are of parties that some round counts.
func (a attendance) records(declared int64) float64 {
	if a.known == 0 {
		return float64(declared)
	}
	return float64(declared) * float64(a.known) / float64(a.all)
}

// share is that of the known parties' records in an observation.
func (a attendance) share(at int) float64 {
	if len(a.sets[at]) == 0 {
		return 1
	}
	return float64(len(a.sets[at])) / float64(a.known)
}

// lacking is the covariance of two scores, each over its share of the records, by the parties that they
// lack, in curvatures. With c the inverse share of a party that a score counts, and 0 of one that it lacks,
// it is the mean over parties of (c - 1)(c' - 1).
func (a attendance) lacking(one, other int) float64 {
	x, y := a.sets[one], a.sets[other]
	if len(x) == 0 || len(y) == 0 {
		return 0
	}
	common := 0
	for _, k := range x {
		if _, in := slices.BinarySearch(y, k); in {
			common++
		}
	}
	return float64(a.known*common)/float64(len(x)*len(y)) - 1
}

// errors are the covariances of these observations' scores by the parties that they lack; nil if they lack
// none.
func (a attendance) errors(of []int) *mat.SymDense {
	if a.complete() {
		return nil
	}
	out := mat.NewSymDense(len(of), nil)
	for i, one := range of {
		for j, other := range of[:i+1] {
			out.SetSym(i, j, a.lacking(one, other))
		}
	}
	return out
}

// missing is the variance, in squares of a record's length over the number of records, of the mean of these
// observations over their shares, by the parties that they lack.
func (a attendance) missing(of []int) float64 {
	total, v := 0.0, 0.0
	for _, one := range of {
		total += a.share(one)
		for _, other := range of {
			v += a.share(one) * a.share(other) * a.lacking(one, other)
		}
	}
	return v / (total * total)
}
