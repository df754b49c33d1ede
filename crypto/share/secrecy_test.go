package share

import (
	"testing"

	"choir/crypto/field"
)

const (
	runs = 1500
	bins = 16
)

// TestAllButOneShareRevealNothing shares two fixed, very different inputs many times and compares
// what every coalition of M-1 nodes sees: the share of each member and the sum of the shares, by the
// upper four bits of the element.
//
// Every comparison is a two-sample chi-square test with 15 degrees of freedom. Under equal
// distributions the statistic exceeds 80 with probability 7e-11; there are 4 + 6 + 20 views, so
// that the false-alarm rate is below 1e-8 (and the keys are fixed). The sum of all M shares is
// tested in the same way and must fail.
func TestAllButOneShareRevealNothing(t *testing.T) {
	const threshold = 80
	a, b := field.Vector{0}, field.Vector{field.Element(field.Modulus / 2)}
	for _, nodes := range []int{2, 3, 10} {
		left, right := observe(t, a, nodes, 1<<40), observe(t, b, nodes, 2<<40)
		for i := range left {
			if i == everything(nodes) {
				continue
			}
			if got := twoSample(left[i], right[i]); got > threshold {
				t.Errorf("%d nodes, view %d: chi-square is %v", nodes, i, got)
			}
		}
		all := everything(nodes)
		if got := twoSample(left[all], right[all]); got < 2*threshold {
			t.Errorf("%d nodes: all shares together do not distinguish the inputs: %v", nodes, got)
		}
	}
}

type histogram [bins]float64

// The views of the shares: share i alone at i, the sum without share i at nodes + i,
// the sum of all at the end.
func everything(nodes int) int { return 2 * nodes }

// observe shares x many times and counts every view.
func observe(t *testing.T, x field.Vector, nodes int, run uint64) []histogram {
	views := make([]histogram, 2*nodes+1)
	count := func(view int, e field.Element) { views[view][uint64(e)>>60]++ }
	for r := range uint64(runs) {
		parts := shares(t, x, nodes, run+r)
		sum := make(field.Vector, 1)
		combine(sum, parts...)
		for i, p := range parts {
			count(i, p[0])
			count(nodes+i, field.Sub(sum[0], p[0]))
		}
		count(everything(nodes), sum[0])
	}
	return views
}

// twoSample returns the chi-square statistic of two histograms of equally many runs.
func twoSample(a, b histogram) float64 {
	statistic := 0.0
	for i := range a {
		if a[i]+b[i] > 0 {
			statistic += (a[i] - b[i]) * (a[i] - b[i]) / (a[i] + b[i])
		}
	}
	return statistic
}
