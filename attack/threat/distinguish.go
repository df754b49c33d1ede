package threat

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// ErrTest is wrapped by errors about arguments for which there is no test.
var ErrTest = errors.New("threat: impossible test")

// Test bounds a mechanism's epsilon at Delta from below, by the definition: every
// event S has P(S) <= e^epsilon Q(S) + delta, and the same with P and Q exchanged,
// so that
//
//	epsilon >= ln((P(S) - delta) / Q(S)).
//
// The events are half lines on either side of a threshold. One is chosen by the
// first quarters of the samples. Its probabilities are bounded by the other
// samples, which are independent of the choice, each by a Clopper-Pearson limit
// [CP34] at FalseAlarm / 2. So the bound is above the true epsilon with a
// probability of at most FalseAlarm, for any choice.
type Test struct {
	Delta      float64 // of the claim, in [0, 1)
	FalseAlarm float64 // in (0, 1)
}

// Finding is a lower bound and the event that shows it.
type Finding struct {
	Epsilon   float64 `json:"epsilon"`   // lower bound, at least 0
	Swapped   bool    `json:"swapped"`   // the event is the likelier one under the second input
	Below     bool    `json:"below"`     // the event is "at most Threshold", not "at least"
	Threshold float64 `json:"threshold"` // in the samples' unit
	Likely    int     `json:"likely"`    // how often it happened on the input where it is likelier
	Other     int     `json:"other"`     // and on the other one
	Samples   int     `json:"samples"`   // of how many, on the input where it is likelier
}

// validate names the field that is out of range.
func (t Test) validate() error {
	switch {
	case !(t.Delta >= 0 && t.Delta < 1):
		return fmt.Errorf("%w: delta %v isn't in [0, 1)", ErrTest, t.Delta)
	case !(t.FalseAlarm > 0 && t.FalseAlarm < 1):
		return fmt.Errorf("%w: false-alarm rate %v isn't in (0, 1)", ErrTest, t.FalseAlarm)
	}
	return nil
}

// Epsilon is the bound, from independent runs on one input (p) and on its
// neighbour (q), each in the order of the runs. A sample is a number that the
// adversary computes from its view; the closer its order to that of the likelihood
// ratio, the higher the bound. Each side needs at least 4 samples, and no NaN.
func (t Test) Epsilon(p, q []float64) (Finding, error) {
	if err := t.validate(); err != nil {
		return Finding{}, err
	}
	for _, x := range [][]float64{p, q} {
		if len(x) < 4 {
			return Finding{}, fmt.Errorf("%w: %d samples are too few to be quartered", ErrTest, len(x))
		}
		if slices.ContainsFunc(x, math.IsNaN) {
			return Finding{}, fmt.Errorf("%w: a sample isn't a number", ErrTest)
		}
	}
	e := t.choose(p[:len(p)/4], q[:len(q)/4])
	return t.judge(e, p[len(p)/4:], q[len(q)/4:]), nil
}

// event is a half line, and the input under which it is likelier.
type event struct {
	swapped, below bool
	threshold      float64
}

// choose is the event with the largest bound on the samples, by an approximation:
// the choice need not be the best one.
func (t Test) choose(p, q []float64) (best event) {
	top := math.Inf(-1)
	for _, swapped := range []bool{false, true} {
		a, b := p, q
		if swapped {
			a, b = q, p
		}
		for _, below := range []bool{false, true} {
			e, score := t.scan(ordered(a, below), ordered(b, below))
			if score > top {
				top, best = score, event{swapped, below, e}
			}
		}
	}
	if best.below {
		best.threshold = -best.threshold
	}
	return best
}

// ordered sorts a copy, mirrored at 0 for half lines that extend downwards.
func ordered(x []float64, below bool) []float64 {
	x = slices.Clone(x)
	if below {
		for i := range x {
			x[i] = -x[i]
		}
	}
	slices.Sort(x)
	return x
}

// scan tries the upper half lines that begin at a's largest samples, 5% more of
// them each time.
func (t Test) scan(a, b []float64) (threshold, score float64) {
	threshold, score = a[len(a)-1], math.Inf(-1)
	for k := 1; k <= len(a); k += 1 + k/20 {
		from := a[len(a)-k]
		hits := len(a) - sort.SearchFloat64s(a, from)
		others := len(b) - sort.SearchFloat64s(b, from)
		if s := t.rough(hits, len(a), others, len(b)); s > score {
			threshold, score = from, s
		}
	}
	return threshold, score
}

// rough approximates 2 sqrt(count) as normal with variance 1 (Anscombe 1948), at
// four deviations.
func (t Test) rough(hits, n, others, m int) float64 {
	p := square(math.Max(0, math.Sqrt(float64(hits))-2))/float64(n) - t.Delta
	q := square(math.Sqrt(float64(others)+1)+2) / float64(m)
	if p <= 0 {
		return math.Inf(-1)
	}
	return math.Log(p / q)
}

func square(x float64) float64 { return x * x }

func (t Test) judge(e event, p, q []float64) Finding {
	if e.swapped {
		p, q = q, p
	}
	f := Finding{Swapped: e.swapped, Below: e.below, Threshold: e.threshold, Likely: e.count(p),
		Other: e.count(q), Samples: len(p)}
	low := LowerRate(f.Likely, len(p), t.FalseAlarm/2) - t.Delta
	if low > 0 {
		f.Epsilon = math.Max(0, math.Log(low/UpperRate(f.Other, len(q), t.FalseAlarm/2)))
	}
	return f
}

func (e event) count(x []float64) (n int) {
	for _, v := range x {
		if v == e.threshold || (v < e.threshold) == e.below {
			n++
		}
	}
	return n
}
