// Package paper3 repeats the figures of [Shuffle], numerical accounting in the shuffle model: the settings
// are the paper's, the values that its authors' code printed are next to ours, and where the two differ the
// reason is named. Figures 1 to 4 are computed by package privacy; nothing is random.
package paper3

import (
	"fmt"
	"math"
	"slices"

	"choir/lab/study"
	"choir/privacy"
	"choir/privacy/shuffle"
)

// Studies are the figures.
func Studies() []study.Study {
	return []study.Study{
		{Name: "paper3-figure1", Run: figure1,
			About: "[Shuffle], Figure 1: any 4-LDP randomiser, 10,000 users, one to four rounds"},
		{Name: "paper3-figure2", About: "[Shuffle], Figure 2: 2,000 rounds of sampled 3-LDP reports", Run: figure2},
		{Name: "paper3-figure3", About: "[Shuffle], Figure 3: 10 to 10,000 rounds of sampled 3-LDP reports",
			Run: figure3},
		{Name: "paper3-figure4", About: "[Shuffle], Figure 4: randomised response over four values, 1,000 users",
			Run: figure4},
	}
}

const source = "the figure's values by the authors' code"

// point is a published pair of epsilon and delta.
type point struct{ epsilon, delta float64 }

// at returns our bounds at a delta.
func at(r shuffle.Round, delta float64, accountant string) (privacy.Answer, error) {
	q := privacy.ShuffleQuery{Rounds: []shuffle.Round{r}, Delta: delta, Accountant: accountant}
	a, err := q.Answer()
	if err != nil {
		return a, fmt.Errorf("%d rounds at delta %g: %w", r.Count, delta, err)
	}
	return a, nil
}

// row compares a published epsilon with ours. A published 0 is none; why, if it is not empty, is the
// reason for which the figure cannot be repeated.
func row(name, method string, published, ours float64, why string) study.Row {
	out := study.Row{Case: name, Method: method, Measure: study.EpsilonOf, Values: []float64{ours}}
	if published > 0 {
		out.Paper = &study.Figure{Value: published, Precision: 5e-4 * published, Where: source}
	}
	if why != "" {
		out.Verdict, out.Why = study.NotReproducible, why
	}
	return out.Mean()
}

func spent(method string, a privacy.Answer, delta float64, noise string) study.Spent {
	return study.Spent{Method: method, Epsilon: a.Epsilon, Delta: delta, Accountant: a.Accountant,
		Relation: privacy.ReplaceOne.String(), Noise: noise}
}

// curves collects the lines of a panel by name, in the order of their first point.
type curves struct{ all []study.Curve }

// add adds a point, by increasing x.
func (c *curves) add(name string, x, y float64) {
	if y <= 0 || math.IsInf(y, 0) {
		return
	}
	i := slices.IndexFunc(c.all, func(k study.Curve) bool { return k.Name == name })
	if i < 0 {
		i = len(c.all)
		c.all = append(c.all, study.Curve{Name: name})
	}
	k := &c.all[i]
	at, _ := slices.BinarySearch(k.X, x)
	k.X, k.Y = slices.Insert(k.X, at, x), slices.Insert(k.Y, at, y)
}
