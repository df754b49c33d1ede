package collude

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"choir/privacy"
	"choir/protocol"
)

// population has the records: real ones, or drawn so that a usual one is a sixth of the clip long.
type population struct {
	clip    float64
	real    [][]float64
	targets [][]float64
	others  [][]float64 // that are in the place of a target, or nothing
	shown   [][]float64 // by target: the weights of a sum by which its place is told, if all else is random
}

const (
	drawnDim   = 4    // coordinates of a drawn record
	mostReal   = 4000 // records of a population that are taken
	leastReal  = 100
	mostFields = 512
)

// newPopulation draws the population of the records, or takes real ones, which are scaled so that the longest
// has the clip's length.
func newPopulation(t Target, rng *rand.Rand, records [][]float64) (*population, error) {
	p := &population{clip: float64(t.Sensitivity / 2)}
	if t.Relation == privacy.AddRemove {
		p.clip = float64(t.Sensitivity)
	}
	if records != nil {
		return p, p.take(rng, records, t.Relation)
	}
	for k := range memberTargets {
		x, other := p.draw(rng), make([]float64, drawnDim)
		scale := p.clip / length(x) * float64(k+1) / memberTargets
		for j := range x {
			x[j] *= scale
			if t.Relation != privacy.AddRemove {
				other[j] = -x[j]
			}
		}
		p.targets, p.others, p.shown = append(p.targets, x), append(p.others, other), append(p.shown, x)
	}
	return p, nil
}

// checkRecords names why records can't be a population.
func checkRecords(records [][]float64) error {
	if len(records) < leastReal {
		return protocol.Fail(protocol.ClassInput, "data: %d records, want %d or more", len(records), leastReal)
	}
	if d := len(records[0]); d < 1 || d > mostFields {
		return protocol.Fail(protocol.ClassInput, "data: records of %d numbers, want 1 to %d: leave columns out", d,
			mostFields)
	}
	same := true
	for i, x := range records {
		if n := length(x); len(x) != len(records[0]) || math.IsInf(n, 0) || math.IsNaN(n) {
			return protocol.Fail(protocol.ClassInput, "data: record %d has %d numbers of length %g, want %d of "+
				"finite length", i+1, len(x), n, len(records[0]))
		}
		same = same && slices.Equal(x, records[0])
	}
	if same {
		return protocol.Fail(protocol.ClassInput, "data: all %d records are the same, so none differs from another",
			len(records))
	}
	return nil
}

// take chooses targets by how far they are from the mean in the records' own deviations: the last one is the
// farthest. In the place of each is the record that differs most from it.
func (p *population) take(rng *rand.Rand, records [][]float64, relation privacy.Relation) error {
	d, longest := len(records[0]), 0.0
	for _, i := range rng.Perm(len(records))[:min(mostReal, len(records))] {
		p.real = append(p.real, slices.Clone(records[i]))
		longest = max(longest, length(records[i]))
	}
	if longest == 0 {
		return protocol.Fail(protocol.ClassInput, "data: the records that were drawn of it are all zero: take "+
			"those that are not")
	}
	rows := mat.NewDense(len(p.real), d, nil)
	for i, x := range p.real {
		for j := range x {
			x[j] *= p.clip / longest
		}
		rows.SetRow(i, x)
	}
	var law mat.SymDense
	stat.CovarianceMatrix(&law, rows, nil)
	ridge := p.clip * p.clip * 1e-8 // columns that are sums of others have no deviation of their own
	for j := range d {
		law.SetSym(j, j, law.At(j, j)+ridge)
	}
	var chol mat.Cholesky
	if !chol.Factorize(&law) {
		return protocol.Fail(protocol.ClassInput, "data: the columns have no covariance that can be inverted")
	}
	order, exposed, mean := make([]int, len(p.real)), make([]float64, len(p.real)), make([]float64, d)
	for j := range mean {
		mean[j] = stat.Mean(mat.Col(nil, j, rows), nil)
	}
	for i, x := range p.real {
		order[i], exposed[i] = i, stat.Mahalanobis(mat.NewVecDense(d, x), mat.NewVecDense(d, mean), &chol)
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(exposed[i], exposed[j]) })
	for k := range memberTargets {
		x := p.real[order[(k+1)*(len(order)-1)/memberTargets]]
		other := make([]float64, d)
		if relation != privacy.AddRemove {
			other = slices.MaxFunc(p.real, func(a, b []float64) int { return cmp.Compare(far(x, a), far(x, b)) })
		}
		p.targets, p.others = append(p.targets, x), append(p.others, other)
		var shown mat.VecDense
		if err := chol.SolveVecTo(&shown, mat.NewVecDense(d, p.change(k))); err != nil {
			return protocol.Fail(protocol.ClassInput, "data: %w", err)
		}
		p.shown = append(p.shown, shown.RawVector().Data)
	}
	return nil
}

func far(a, b []float64) (sum float64) {
	for j := range a {
		sum += (a[j] - b[j]) * (a[j] - b[j])
	}
	return sum
}

func (p *population) dim() int { return len(p.targets[0]) }

// change is by how much a target changes a sum.
func (p *population) change(target int) []float64 {
	out := slices.Clone(p.targets[target])
	for j, x := range p.others[target] {
		out[j] -= x
	}
	return out
}

// share is the length of what a target changes, as a share of the largest.
func (p *population) share(target int, relation privacy.Relation) float64 {
	most := 2 * p.clip
	if relation == privacy.AddRemove {
		most = p.clip
	}
	return min(1, length(p.change(target))/most)
}

func (p *population) draw(rng *rand.Rand) []float64 {
	if p.real != nil {
		return p.real[rng.IntN(len(p.real))]
	}
	x := make([]float64, drawnDim)
	for j := range x {
		x[j] = rng.NormFloat64() * p.clip / 6 / math.Sqrt(drawnDim)
	}
	if n := length(x); n > p.clip {
		for j := range x {
			x[j] *= p.clip / n
		}
	}
	return x
}
