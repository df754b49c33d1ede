package collude

import (
	"context"
	"fmt"
	"math"

	"choir/privacy"
)

// The world of the membership attack: the victim sums records of a population and one place that a coin gives
// to a target record or to another one, as far away as the clip allows, or as real records are. (With the
// add-or-remove relation the place is empty instead.)
const (
	memberOthers  = 50 // records of the victim but that one
	memberTargets = 4  // target records, of rising exposure; the last one is in half of the trials
)

// membership asks whether a record was in the victim's data.
type membership struct{}

// Info implements Attack.
func (membership) Info() Info {
	return Info{ID: "membership", Kind: "leak",
		What: "membership inference by the likelihood ratio of Gaussian views: was this record among the " +
			"victim's? By record, with ROC, for an adversary who knows the others and for one who knows only their " +
			"population",
		Needs: "a member that learns the sums", Promise: promiseRecords, Expected: Held,
		Control: "a session without noise, on the most exposed record: AUC above 0.9, with the population alone; " +
			"for records of --data, which may be alike, with the others known"}
}

func length(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// trials are the victim's data sets, each a stretch of dim coordinates, without the record in
// question; that record; and the outcome of the coins.
type trials struct {
	sums
	*population
	victim, last []float64
	view         *View
	top          []int // the trials of the last record; those that sums.records names are of groups of it
}

// target is the target record of a trial.
func (x trials) target(trial int) int {
	if trial%2 == 0 {
		return memberTargets - 1
	}
	return trial / 2 % memberTargets
}

// trials is how many trials records of a number of coordinates have.
func (r *Run) trials(dim int) int {
	n := r.Runs / dim
	if r.late() {
		n /= 4
	}
	return max(64*memberTargets, n)
}

func (r *Run) newTrials(t Target, p *population, n int) trials {
	rng := r.rng("membership")
	dim := p.dim()
	x := trials{sums: sums{t: t, bits: make([]bool, n)}, population: p,
		victim: make([]float64, n*dim), last: make([]float64, n*dim)}
	x.group = x.largest(n * dim)
	for i := range n {
		copies := 1.0
		if x.target(i) == memberTargets-1 {
			copies = float64(x.sums.records(len(x.top)))
			x.top = append(x.top, i)
		}
		x.bits[i] = rng.IntN(2) == 1
		at := x.victim[i*dim:][:dim]
		for range memberOthers {
			add(at, p.draw(rng))
		}
		place := p.targets[x.target(i)]
		if !x.bits[i] {
			place = p.others[x.target(i)]
		}
		for j, a := range place {
			x.last[i*dim+j] = copies * a
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
		return x.t.other(party, len(x.victim))
	}
	out, draws, entries := make([]int64, len(x.victim)), x.draws(round), 0
	for j := range out {
		if j%x.dim() == 0 {
			entries = x.t.entries(draws)
		}
		out[j] = int64(math.Round(float64(x.t.Steps)*x.victim[j] + float64(entries)*x.last[j]))
	}
	return x.t.withLocal(out)
}

func (x trials) known(party, _ int) []int64 { return others(party, len(x.victim)) }

// Run implements Attack.
func (membership) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	out := Outcome{Unit: "epsilon", Verdict: Undecided}
	p, err := newPopulation(r.Target, r.rng("population"), r.Records)
	if err != nil {
		return out, err
	}
	n := r.trials(p.dim())
	t, note := r.shortened(r.Target, max(1, mostElements/(r.Target.Parties*p.dim()*n)))
	name := "membership"
	if control {
		t, note, name = r.Target.bare(), nil, "membership without noise"
		c.Aggregator = true
	}
	out.Coalition, out.Story = c.String(), note
	x := r.newTrials(t, p, n)
	rec, err := r.record(ctx, fmt.Sprint(name, t.Rounds, len(x.bits)), t, len(x.victim), staging{}, x.inputs)
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
	x.view = v
	total, ok := x.total(v)
	if !ok {
		return nothingSeen(out), nil
	}
	return x.judge(out, r, c, total, control)
}

// total is the mean of the residuals over all rounds and steps.
func (x trials) total(v *View) ([]float64, bool) {
	total := make([]float64, len(x.victim))
	for round := 1; round <= x.t.Rounds; round++ {
		rest, ok := rest(v, round)
		if !ok {
			return nil, false
		}
		for j := range total {
			total[j] += rest[j] / float64(x.t.Rounds*x.t.Steps)
		}
	}
	return total, true
}

// scores are the log-likelihood ratios of a target record's presence, up to a constant and a factor:
// the total, less the other records if they are known, along what the record changes.
func (x trials) scores(target int, total []float64, knows bool) (one, group sample) {
	grouped := map[int]bool{}
	for k, i := range x.top {
		grouped[i] = x.sums.records(k) > 1
	}
	along := x.change(target)
	if !knows {
		along = x.shown[target]
	}
	for i, in := range x.bits {
		if x.target(i) != target {
			continue
		}
		score := 0.0
		for j, a := range along {
			rest := total[i*x.dim()+j]
			if knows {
				rest -= x.victim[i*x.dim()+j]
			}
			score += a * rest
		}
		if grouped[i] {
			group.add(in, score)
		} else {
			one.add(in, score)
		}
	}
	return one, group
}

// along is a round's residual along what the last record changes in its trials, less the other records.
func (x trials) along(round int) ([]float64, bool) {
	rest, ok := rest(x.view, round)
	if !ok {
		return nil, false
	}
	record := x.change(memberTargets - 1)
	some := make([]float64, len(x.top))
	for k, i := range x.top {
		for j, a := range record {
			some[k] += a / length(record) * (rest[i*x.dim()+j] - float64(x.t.Steps)*x.victim[i*x.dim()+j])
		}
	}
	return some, true
}

// raised raises the limit for the record at the clip of a sampled session.
func (x trials) raised(m *Measurement) error {
	top := x.sums
	top.bits = make([]bool, len(x.top))
	for k, i := range x.top {
		top.bits[k] = x.bits[i]
	}
	return top.sampled(m, x.along)
}

// judge measures every target record by itself; the verdict is that of the most exposed one.
func (x trials) judge(out Outcome, r *Run, c Coalition, total []float64, control bool) (Outcome, error) {
	var risks []RecordRisk
	for k := range memberTargets {
		risk, m, err := x.risk(r, c, k, total)
		if err != nil {
			return out, err
		}
		risks = append(risks, risk)
		out.Story = append(out.Story, fmt.Sprintf("a record of %.2f of the clip: AUC %.3f, of %.3f allowed; %.3f "+
			"if only the population is known; epsilon at least %.3g, of %s claimed", risk.Length, risk.AUC,
			risk.MostAUC,
			risk.Unknown, risk.Measured, bound(risk.Claimed)))
		out.Detail = &m
	}
	out.Detail.Records = risks
	top := risks[memberTargets-1]
	if control {
		bar := 0.9
		found := top.Unknown
		if x.real != nil {
			found = top.AUC
		}
		out.Unit, out.Claimed, out.Measured = "AUC", &bar, &found
		out.Verdict = atMost(found, bar, true)
		return out, nil
	}
	claim := math.Inf(1)
	if out.Claimed != nil {
		claim = *out.Claimed
	}
	out.Measured, out.Reason = &top.Measured, r.Target.reason(c, x.t.Parties)
	out.Verdict = atMost(top.Measured, claim, r.Target.tolerated(c))
	if leastAUC(top.AUC, top.Samples/3, top.Samples/3) > top.MostAUC { // each kind is at least a third
		out.Verdict = atMost(top.AUC, top.MostAUC, r.Target.tolerated(c))
	}
	return out, nil
}

// risk measures one target record.
func (x trials) risk(r *Run, c Coalition, target int, total []float64) (RecordRisk, Measurement, error) {
	share := x.share(target, x.t.Relation)
	own := r.Target
	own.Sensitivity = max(1, uint64(math.Ceil(share*float64(own.Sensitivity))))
	claim, err := own.claim(c, x.t.Parties)
	if err != nil {
		return RecordRisk{}, Measurement{}, err
	}
	s := gaussian
	if x.t.Sampling != privacy.SamplingNone {
		s = anyShape
	}
	one, group := x.scores(target, total, true)
	m, err := measure(one, group, x.group, x.t.Delta, s)
	if err == nil && target == memberTargets-1 && s == anyShape && x.real == nil {
		err = x.raised(&m)
	}
	if err != nil {
		return RecordRisk{}, m, err
	}
	one, _ = x.scores(target, total, false)
	_, unknown := roc(one)
	return RecordRisk{Length: share, Claimed: wide(claim), Measured: m.Low, AUC: m.AUC,
		AtOne: rateAt(m.ROC, 0.01), Unknown: unknown, MostAUC: mostAUC(claim, x.t.Delta),
		Samples: m.Samples}, m, nil
}

func bound(x *float64) string {
	if x == nil {
		return "none"
	}
	return fmt.Sprintf("%.3g", *x)
}
