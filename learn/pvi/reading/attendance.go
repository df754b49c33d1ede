package reading

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/pvi"
)

// attendance is which parties the rounds of a trace count. A party that a round does not count is in the
// public state with its factor, which is made of its best factors at the points of the rounds before that
// counted it. So the left side of a round is a public mixture of best factors at public points.
type attendance struct {
	counted [][]bool  // by round of learning, of others too, and party
	moved   []float64 // by such a round: how far a counted party's factor goes to its best one
	kept    float64   // 1 - Beta
	known   []bool    // by party: whether some round counts it
	// declared are the shares of all records, and shares are those over the known parties' together.
	declared, shares []float64

	totals [][]float64 // by observation and party: the weight of its best factors, relative to all
}

// attended is the attendance of a trace: nil if every round counts all parties that any one counts, and
// nothing of others is in the state.
func attended(c pvi.Config, trace []Observation) *attendance {
	parties := 0
	for _, o := range trace {
		parties = max(parties, len(o.Shares), o.Parties+o.Absent)
		for _, k := range o.Set {
			parties = max(parties, k+1)
		}
	}
	t := &attendance{kept: 1 - c.Beta, known: make([]bool, parties), declared: make([]float64, parties)}
	for k := range parties {
		t.declared[k] = 1 / float64(parties)
	}
	for _, o := range trace {
		if len(o.Shares) > 0 {
			copy(t.declared, o.Shares)
		}
		for _, k := range o.Set {
			t.known[k] = t.known[k] || o.Round <= c.Learning(o.Round)
		}
	}
	t.relative()
	complete := true
	for _, o := range trace {
		row := t.row(o)
		if o.Round <= c.Learning(o.Round) {
			t.counted = append(t.counted, row)
			damping := dampingOf(c, o.Round)
			t.moved = append(t.moved, damping*climbed(c, o.Round))
		}
		for k, known := range t.known {
			complete = complete && (o.Others || row[k] || !known)
		}
	}
	if complete && !t.strangers(c) {
		return nil
	}
	return t
}

// strangers reports whether a party that no round counts has its share of the start in the state.
func (t *attendance) strangers(c pvi.Config) bool {
	any := false
	for k, known := range t.known {
		any = any || !known && t.declared[k] > 0
	}
	return any && slices.Contains(t.known, true) && (c.StartPrecision > 0 || c.Beta > 0)
}

// relative sets the shares. If a known party is declared to have no records they are alike.
func (t *attendance) relative() {
	total, parties, least := 0.0, 0.0, math.Inf(1)
	for k, known := range t.known {
		if known {
			total += t.declared[k]
			parties++
			least = min(least, t.declared[k])
		}
	}
	t.shares = make([]float64, len(t.known))
	for k := range t.shares {
		t.shares[k] = t.declared[k] / total
		if !(least > 0) {
			t.shares[k] = 1 / parties
		}
	}
}

// row is which parties a round counts. One without a set counts all.
func (t *attendance) row(o Observation) []bool {
	if t == nil {
		return nil
	}
	row := make([]bool, len(t.known))
	if o.Set == nil {
		copy(row, t.known)
	}
	for _, k := range o.Set {
		row[k] = true
	}
	return row
}

// each visits the rounds whose best factors of a party the left side of a round has, with their weights.
// It returns that of what the factor started with.
func (t *attendance) each(round, party int, visit func(from int, weight float64)) (start float64) {
	if t.counted[round][party] {
		visit(round, 1)
		return 0
	}
	left := t.kept
	for j := round - 1; j >= 0; j-- {
		if t.counted[j][party] {
			visit(j, left*t.moved[j])
			left *= 1 - t.kept*t.moved[j]
		}
	}
	return left
}

// side is what the left side of a round consists of.
type side struct {
	whole float64   // share of the records
	mix   []float64 // by round: share of the side that is from its point; they add up to 1
	// The rest is public: of the start, and of the public posterior over the prior, by round.
	start float64
	tied  []float64
}

// side adds an observation.
func (t *attendance) side(round int) side {
	s := side{mix: make([]float64, round+1), tied: make([]float64, round+1)}
	totals := make([]float64, len(t.known))
	for k, known := range t.known {
		start := t.each(round, k, func(j int, w float64) {
			s.mix[j] += w * t.shares[k]
			totals[k] += w
			if j < round {
				s.tied[j] -= w * t.declared[k] * (1 - t.kept)
			}
		})
		s.start += start * t.declared[k]
		if !t.counted[round][k] {
			s.tied[round] += t.declared[k] * (1 - t.kept)
		}
		if !known {
			totals[k] = 0
		}
	}
	s.whole = floats.Sum(s.mix)
	floats.Scale(1/s.whole, s.mix)
	floats.Scale(1/s.whole, totals)
	t.totals = append(t.totals, totals)
	return s
}

// errors are the covariances of the observations' scores by the parties that they lack or have in part,
// in curvatures: with shares p of the records, and scores sum_k c_k g_k with sum_k p_k c_k = 1, the
// covariance sum_k p_k (c_k - 1)^2 beyond that of all records.
func (t *attendance) errors() *mat.SymDense {
	n := len(t.totals)
	out := mat.NewSymDense(n, nil)
	for a := range n {
		for b := a; b < n; b++ {
			v := 0.0
			for k, known := range t.known {
				if known {
					v += t.shares[k] * (t.totals[a][k] - 1) * (t.totals[b][k] - 1)
				}
			}
			out.SetSym(a, b, v)
		}
	}
	return out
}

// noise is the covariance of the noise that the left sides of these rounds have of released factors, whose
// releases have these variances, by round.
func (t *attendance) noise(rounds []int, sides []side, variances []float64) *mat.SymDense {
	n := len(rounds)
	out := mat.NewSymDense(n, nil)
	parts := make([][]float64, n)
	for k := range t.known {
		for a, round := range rounds {
			parts[a] = t.part(round, k, sides[a].whole)
			for b := range a + 1 {
				v := 0.0
				for j, w := range parts[b] {
					if w != 0 {
						v += w * parts[a][j] * variances[j]
					}
				}
				out.SetSym(a, b, out.At(a, b)+v)
			}
		}
	}
	return out
}

// part is what the left side of a round, over its share of the records, has of a party by round.
func (t *attendance) part(round, party int, whole float64) []float64 {
	out := make([]float64, round+1)
	t.each(round, party, func(j int, w float64) { out[j] = w / whole })
	return out
}

// share is that of the records that a round counts.
func (t *attendance) share(o Observation) float64 {
	if t == nil || o.Set == nil {
		return 1
	}
	sum := 0.0
	for _, k := range o.Set {
		sum += t.shares[k]
	}
	return sum
}
