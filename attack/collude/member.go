package collude

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"choir/privacy"
)

// The world of the membership attack: the victim sums clipped records of a population and
// one place that a coin gives to a target record or to another one of the population.
const (
	memberDim     = 16 // coordinates of a record
	memberOthers  = 50 // records of the victim but that one
	memberTargets = 4  // target records, of rising norm; the last one is at the clip
)

// membership asks whether a record was in the victim's data.
type membership struct{}

// Info implements Attack.
func (membership) Info() Info {
	return Info{ID: "membership", Kind: "leak",
		What: "membership inference by the likelihood ratio of Gaussian views: was this record among the " +
			"victim's, of which only the population is known? By record, with ROC",
		Needs: "a member that learns the sums", Promise: promiseRecords, Expected: Held,
		Control: "a session without noise, on the record at the clip: AUC above 0.9"}
}

// population draws the records: the deviation of a coordinate makes a usual record a sixth of
// the clip long.
type population struct {
	clip    float64
	targets [][]float64
}

func newPopulation(sensitivity uint64, rng *rand.Rand) *population {
	p := &population{clip: float64(sensitivity / 2)}
	for k := range memberTargets {
		x := p.draw(rng)
		scale := p.clip / length(x) * float64(k+1) / memberTargets
		for j := range x {
			x[j] *= scale
		}
		p.targets = append(p.targets, x)
	}
	return p
}

func (p *population) deviation() float64 { return p.clip / 6 / math.Sqrt(memberDim) }

func (p *population) draw(rng *rand.Rand) []float64 {
	x := make([]float64, memberDim)
	for j := range x {
		x[j] = rng.NormFloat64() * p.deviation()
	}
	if n := length(x); n > p.clip {
		for j := range x {
			x[j] *= p.clip / n
		}
	}
	return x
}

func length(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// trials are the victim's data sets, each a stretch of memberDim coordinates, without the record in
// question; that record; and the outcome of the coins.
type trials struct {
	sums
	victim, last []float64
}

func (r *Run) newTrials(t Target, p *population) trials {
	rng := r.rng("membership")
	n := max(4*memberTargets, r.Runs/memberDim)
	x := trials{sums: sums{t: t, bits: make([]bool, n)}, victim: make([]float64, n*memberDim),
		last: make([]float64, n*memberDim)}
	for i := range n {
		x.bits[i] = rng.IntN(2) == 1
		at := x.victim[i*memberDim:][:memberDim]
		for range memberOthers {
			add(at, p.draw(rng))
		}
		switch last := p.draw(rng); {
		case x.bits[i]:
			copy(x.last[i*memberDim:], p.targets[i%memberTargets])
		case t.Relation != privacy.AddRemove:
			copy(x.last[i*memberDim:], last)
		}
	}
	return x
}

func add(to, x []float64) {
	for j := range to {
		to[j] += x[j]
	}
}

func (x trials) inputs(party, round int) []int64 {
	if party > 0 {
		return x.t.withLocal(others(party, len(x.victim)))
	}
	out, draws, entries := make([]int64, len(x.victim)), x.draws(round), 0
	for j := range out {
		if j%memberDim == 0 {
			entries = x.t.entries(draws)
		}
		out[j] = int64(math.Round(float64(x.t.Steps)*x.victim[j] + float64(entries)*x.last[j]))
	}
	return x.t.withLocal(out)
}

func (x trials) known(party, _ int) []int64 { return others(party, len(x.victim)) }

// Run implements Attack.
func (membership) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	t, name := r.Target, "membership"
	if control {
		t, name = t.bare(), "membership without noise"
		c.Aggregator = true
	}
	out := Outcome{Coalition: c.String(), Unit: "epsilon", Verdict: Undecided}
	p := newPopulation(t.Sensitivity, r.rng("population"))
	x := r.newTrials(t, p)
	rec, err := r.record(ctx, name, t, len(x.victim), 0, x.inputs)
	if err != nil {
		return out, err
	}
	v, err := rec.view(c, x.known)
	if err != nil {
		return out, err
	}
	claim, err := r.Target.claim(c, t.Parties)
	if err != nil {
		return out, err
	}
	out.Claimed = wide(claim)
	scores, ok := x.scores(v, p)
	if !ok {
		return nothingSeen(out), nil
	}
	return x.judge(out, r, c, scores, control)
}

// scores are the log-likelihood ratios of the target record's presence, up to a factor: the
// residual of all rounds along the record, less half of its square. All coordinates have the
// same variance, so that the factor doesn't matter for one record.
func (x trials) scores(v *View, p *population) ([]float64, bool) {
	total := make([]float64, len(x.victim))
	for round := 1; round <= x.t.Rounds; round++ {
		rest, ok := v.Residual(round)
		if !ok {
			return nil, false
		}
		for j := range total {
			total[j] += float64(rest[j]) / float64(x.t.Rounds*x.t.Steps)
		}
	}
	scores := make([]float64, len(x.bits))
	for i := range scores {
		target := p.targets[i%memberTargets]
		for j, a := range target {
			scores[i] += a * (total[i*memberDim+j] - a/2)
		}
	}
	return scores, true
}

// judge measures every target record by itself; the verdict is that of the most exposed one.
func (x trials) judge(out Outcome, r *Run, c Coalition, scores []float64, control bool) (Outcome, error) {
	for k := range memberTargets {
		var with, without []float64
		for i := k; i < len(scores); i += memberTargets {
			if x.bits[i] {
				with = append(with, scores[i])
			} else {
				without = append(without, scores[i])
			}
		}
		if len(with) < 4 || len(without) < 4 {
			return out, nil
		}
		m, err := measure(with, without, x.t.Delta, false)
		if err != nil {
			return out, err
		}
		out.Story = append(out.Story, fmt.Sprintf("a record of %.2f clips: AUC %.3f, epsilon at least %.3g",
			float64(k+1)/memberTargets, m.AUC, m.Low))
		if k == memberTargets-1 {
			out.Detail, out.Measured = &m, wide(m.Low)
		}
	}
	if control {
		bar := 0.9
		out.Unit, out.Claimed, out.Measured = "AUC", &bar, &out.Detail.AUC
		out.Verdict = atMost(out.Detail.AUC, bar, true)
		return out, nil
	}
	claim := math.Inf(1)
	if out.Claimed != nil {
		claim = *out.Claimed
	}
	out.Verdict = atMost(*out.Measured, claim, r.Target.tolerated(c))
	return out, nil
}
