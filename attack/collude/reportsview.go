package collude

import (
	"context"
	"slices"

	"choir/internal/parallel"
	"choir/protocol"
)

// mostCounts bounds the counts in a view of reports.
const mostCounts = 1 << 22

// countsOf draws what a coalition has of the reports of the smallest set, again and again: a row for each
// repetition, in which a coin decides which of its two values the victim has, of the counts of honest reports
// by column and round. The coalition's own are subtracted.
func (t Target) countsOf(ctx context.Context, r *Run, d drawn) (rows [][]int64, coins []bool, err error) {
	x, err := t.randomiser(d)
	if err != nil {
		return nil, nil, err
	}
	tallies := t.Rounds * int(t.Reports.Columns)
	width := tallies * len(x.ratio[0])
	n := min(r.Runs, max(minRuns, min(mostCounts/width, mostDraws/(d.reports*tallies))))
	rng := r.rng("reports")
	for range n {
		rows, coins = append(rows, make([]int64, width)), append(coins, rng.IntN(2) == 1)
	}
	err = parallel.Try(n, func(i int) error {
		random, err := freshRandom()
		if err != nil {
			return err
		}
		victim, reports := 1, make([]int, d.reports)
		if coins[i] {
			victim = 0
		}
		for j := range tallies {
			if _, err := x.draw(reports, victim, random); err != nil {
				return err
			}
			for _, y := range reports {
				rows[i][j*len(x.ratio[0])+y]++
			}
		}
		return ctx.Err()
	})
	return rows, coins, err
}

// reportsView is the joint view of a session of the plan's members and back end, with the counts of repeated
// draws. A coalition that receives no reports has none.
func (r *Run) reportsView(ctx context.Context, c Coalition, rows [][]int64) (*View, error) {
	rec, err := r.rehearsed(ctx)
	if err != nil {
		return nil, err
	}
	v, err := rec.view(c, nil)
	if err != nil {
		return nil, err
	}
	v.counts, v.tallies = rows, r.Target.Rounds*int(r.Target.Reports.Columns)
	if rows == nil {
		v.counts = [][]int64{}
	}
	return v, nil
}

// measureScored measures an adversary of one's own on reports.
func (r *Run) measureScored(ctx context.Context, a Adversary, c Coalition, d drawn) (Measurement, error) {
	rows, coins, err := r.Target.countsOf(ctx, r, d)
	if err != nil {
		return Measurement{}, err
	}
	v, err := r.reportsView(ctx, c, rows)
	if err != nil {
		return Measurement{}, err
	}
	scores, err := scoresOf(ctx, a, v, len(coins))
	if err != nil {
		return Measurement{}, err
	}
	var s sample
	for i, in := range coins {
		s.add(in, scores[i])
	}
	return measure(s, sample{}, 1, r.Target.Delta, anyShape)
}

// scoresOf is an adversary's answer, a score for each repetition.
func scoresOf(ctx context.Context, a Adversary, v *View, want int) ([]float64, error) {
	scores, err := a.Score(ctx, v)
	if err == nil && len(scores) != want {
		err = protocol.Fail(protocol.ClassInput, "%d scores, want one for each of %d repetitions", len(scores),
			want)
	}
	return scores, err
}

// protocolAlone are the attacks that look at the protocol, not at noise or a record: they are for plans of
// reports over the back end sum too. The mix-net has its own cheats in the table of lies.
var protocolAlone = []string{"rank", "retries", "restored", "guesses", "traffic", "timing", "lies", "unseen",
	"faults", "stop", "burn"}

// fits reports whether an attack of the catalogue is for the target.
func (t Target) fits(a Attack) bool {
	id := a.Info().ID
	switch {
	case t.Reports == nil:
		return id != reports{}.Info().ID
	case t.Reports.MixRecords > 0:
		return id == reports{}.Info().ID || id == lies{}.Info().ID
	}
	return id == reports{}.Info().ID || slices.Contains(protocolAlone, id)
}

// bySums is the target of an attack that looks at the protocol alone: the back end sum has sums without
// noise.
func (t Target) bySums() Target {
	if t.Reports == nil || t.Reports.MixRecords > 0 {
		return t
	}
	t.Noise, t.Unclaimed, t.Reports, t.Noisy = protocol.NoiseNone, true, nil, nil
	t.Sensitivity, t.Dim = sensitivity, 1
	return t
}
