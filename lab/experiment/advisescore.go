package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/session/terms"
)

// judge fills in what a setting reaches in every world.
func (ad *Advisor) judge(ctx context.Context, a *Advice, s *Advised) error {
	spec, p, err := ad.plan(s.config, ad.Records, ad.Epsilon)
	if err != nil {
		s.Refused = err.Error()
		ad.done += len(a.Signals) * structures * ad.Worlds
		return nil
	}
	s.Rounds = int(p.Rounds)
	g, err := terms.GuaranteesOf(p)
	if err != nil {
		return err
	}
	s.Upload = g.Cost.UploadPerParty * s.Rounds
	s.Minutes = float64(s.Rounds) * roundSeconds / 60
	for _, signal := range a.Signals {
		var scores []Scores
		for k := range structures * ad.Worlds {
			d, err := ad.world(signal, k, ad.Records)
			if err != nil {
				return err
			}
			score, err := ad.learn(ctx, spec, p, d, k)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			scores = append(scores, score)
			ad.tell(s.Name)
		}
		e := expected(scores)
		s.Scores = append(s.Scores, e)
		s.Mean += e.LogLik / float64(len(a.Signals))
	}
	return nil
}

// Standard deviations of what data unlike the twins add to a score at the same signal. accuracyMisfit is
// the root mean square on the thirteen data sets of TestAdviceHeldOut. logLikMisfit was chosen, as twice such
// a root mean square, to cover ten of the worlds of TestAdviceCovers.
const (
	accuracyMisfit = 0.02
	logLikMisfit   = 0.03
)

// expected is an interval for one more score: from the mean of the structure with the lowest to that of the
// one with the highest, and beyond them what one session varies by. The structures take turns.
func expected(scores []Scores) (e Expected) {
	each := func(of func(Scores) float64, misfit float64) (middle, margin float64) {
		means, n := [structures]float64{}, float64(len(scores)/structures)
		for i, s := range scores {
			means[i%structures] += of(s) / n
		}
		variance, freedom := 0.0, max(1, float64(len(scores)-structures))
		for i, s := range scores {
			d := of(s) - means[i%structures]
			variance += d * d / freedom
		}
		lo, hi := slices.Min(means[:]), slices.Max(means[:])
		t := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.95)
		return (lo + hi) / 2, (hi-lo)/2 + t*math.Sqrt(variance*(1+1/n)+misfit*misfit)
	}
	e.Accuracy, e.AccuracyMargin = each(func(s Scores) float64 { return s.Accuracy }, accuracyMisfit)
	e.LogLik, e.LogLikMargin = each(func(s Scores) float64 { return s.LogLikelihood }, logLikMisfit)
	return e
}

// compare adds a party alone and the majority.
func (ad *Advisor) compare(ctx context.Context, a *Advice) error {
	fewest, most := slices.Min(ad.Records), slices.Max(ad.Records)
	for _, signal := range a.Signals {
		var alone, poor, majority []Scores
		for k := range structures * ad.Worlds {
			d, err := ad.world(signal, k, ad.Records)
			if err != nil {
				return err
			}
			s, err := ad.alone(ctx, d, signal, most)
			if err != nil {
				return err
			}
			alone = append(alone, s)
			if a.Uneven() {
				if s, err = ad.alone(ctx, d, signal, fewest); err != nil {
					return err
				}
				poor = append(poor, s)
			}
			majority = append(majority, d.Majority(a.Linear))
			ad.tell("a party alone")
		}
		a.Alone = append(a.Alone, expected(alone))
		if a.Uneven() {
			a.Fewest = append(a.Fewest, expected(poor))
		}
		a.Majority = append(a.Majority, expected(majority))
	}
	return nil
}

// Uneven reports whether a party has less than half the records of another, so that a party alone is not
// as good as any other.
func (a *Advice) Uneven() bool { return 2*slices.Min(a.Records) < slices.Max(a.Records) }

// mostAlone bounds the parties whose rows are fitted by themselves.
const mostAlone = 3

// alone is the mean score of some parties with about as many rows, each by its own, without privacy.
func (ad *Advisor) alone(ctx context.Context, d *Data, signal float64, rows int) (mean Scores, err error) {
	like := pvi.Config{Model: bayes.Logistic, Features: ad.Schema.Dim(), PriorPrecision: 1}
	linear := !ad.Schema.Classification()
	if linear {
		like.Model, like.Family = bayes.Linear, "full"
		like.NoiseSD = dataset.Twins{Schema: ad.Schema, Signal: signal}.Noise()
	}
	var alike []bayes.Data
	for _, part := range d.Parts {
		if n := part.Rows(); len(alike) < mostAlone && n <= 2*rows && rows <= 2*n {
			alike = append(alike, part)
		}
	}
	n := len(alike)
	for _, part := range alike {
		q, err := settled(ctx, like, part)
		if err != nil {
			return mean, err
		}
		s, err := d.evaluate(q, linear)
		if err != nil {
			return mean, err
		}
		mean.Accuracy += s.Accuracy / float64(n)
		mean.LogLikelihood += s.LogLikelihood / float64(n)
	}
	return mean, nil
}

// describe adds who learns what, and warnings.
func (ad *Advisor) describe(a *Advice, best Advised) error {
	_, p, err := ad.plan(best.config, ad.Records, ad.Epsilon)
	if err != nil {
		return err
	}
	g, err := terms.GuaranteesOf(p)
	if err != nil {
		return err
	}
	for _, l := range g.Layers {
		if l.Tolerated {
			a.Layers = append(a.Layers, l)
		}
	}
	if a.best, err = best.config.Fill(p); err != nil {
		return err
	}
	warnings, err := terms.Warnings(p)
	a.Warnings = append(a.Warnings, warnings...)
	for i, s := range best.Scores {
		if s.LogLik < a.Majority[i].LogLik {
			a.Warnings = append(a.Warnings,
				fmt.Sprintf("with a signal of %.2g the result is expected to be worse than "+
					"%s: ask for more records or a larger epsilon", a.Signals[i], baseline(a.Linear)))
		}
	}
	return err
}

// Factors that the break-even is searched by, and the most often it learns.
var (
	epsilonFactors = []float64{2, 4, 8, 16}
	lowerFactors   = []float64{0.5, 0.25, 0.125}
	recordFactors  = []int{2, 4, 8}
)

const breakEvenSteps = 7

// breakEven finds from which epsilon, and from how many records, it pays to join, against a
// party alone without privacy. Where parties have unlike numbers of records, it may pay for some only.
func (ad *Advisor) breakEven(ctx context.Context, a *Advice, best Advised) error {
	middle := len(a.Signals) / 2
	e := breakEven{ad: ad, signal: a.Signals[middle], settings: []terms.PlanConfig{best.config,
		ad.settings()[0].config}} // the first scales with the budget
	at := fmt.Sprintf("at epsilon %g with %s records a party,", ad.Epsilon, span(ad.Records))
	together := best.Scores[middle].LogLik
	if !a.Uneven() {
		line, err := e.find(ctx, at, "a party", together >= a.Alone[middle].LogLik)
		a.BreakEven = append(a.BreakEven, line)
		return err
	}
	for _, c := range []struct {
		rank  int
		name  string
		alone float64
	}{
		{slices.Index(ad.Records, slices.Min(ad.Records)), "fewest", a.Fewest[middle].LogLik},
		{slices.Index(ad.Records, slices.Max(ad.Records)), "most", a.Alone[middle].LogLik},
	} {
		e.party = c.rank
		who := fmt.Sprintf("the party with the %s, %d,", c.name, ad.Records[c.rank])
		line, err := e.find(ctx, at, who, together >= c.alone)
		if err != nil {
			return err
		}
		a.BreakEven = append(a.BreakEven, line)
	}
	return nil
}

// breakEven is the search for one party, or for any of them where they are alike.
type breakEven struct {
	ad       *Advisor
	signal   float64
	settings []terms.PlanConfig
	party    int
}

// pays reports whether parties with that number of records reach more together than the party alone does.
func (e *breakEven) pays(ctx context.Context, records []int, epsilon float64) (bool, error) {
	e.ad.tell("the break-even")
	for _, c := range e.settings {
		if ok, err := e.gains(ctx, c, records, epsilon); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// gains reports whether a plan reaches more than the party alone, on average.
func (e *breakEven) gains(ctx context.Context, c terms.PlanConfig, records []int, epsilon float64) (bool,
	error) {
	spec, p, err := e.ad.plan(c, records, epsilon)
	if err != nil {
		return false, nil // no such plan: not a way
	}
	gain := 0.0
	for k := range structures {
		d, err := e.ad.world(e.signal, k, records)
		if err != nil {
			return false, err
		}
		together, err := e.ad.learn(ctx, spec, p, d, k)
		if err != nil {
			return false, err
		}
		alone, err := e.ad.alone(ctx, d, e.signal, records[e.party])
		if err != nil {
			return false, err
		}
		gain += together.LogLikelihood - alone.LogLikelihood
	}
	return gain >= 0, nil
}

func (e *breakEven) find(ctx context.Context, at, who string, paying bool) (string, error) {
	if paying {
		return e.lower(ctx, at, who)
	}
	return e.higher(ctx, at, who)
}

// lower finds the least epsilon at which joining still pays.
func (e *breakEven) lower(ctx context.Context, at, who string) (string, error) {
	least := e.ad.Epsilon
	for _, f := range lowerFactors {
		ok, err := e.pays(ctx, e.ad.Records, f*e.ad.Epsilon)
		if err != nil || !ok {
			return fmt.Sprintf("%s joining pays: together is better than %s alone without any privacy, down "+
				"to an epsilon of about %g", at, who, least), err
		}
		least = f * e.ad.Epsilon
	}
	return fmt.Sprintf("%s joining pays: together is better than %s alone without any privacy, even at "+
		"epsilon %g", at, who, least), nil
}

// higher finds the epsilon, and the number of records, from which joining pays.
func (e *breakEven) higher(ctx context.Context, at, who string) (string, error) {
	text := at + " " + who + " alone, without any privacy, is better; together from "
	var ways []string
	for _, f := range epsilonFactors {
		ok, err := e.pays(ctx, e.ad.Records, f*e.ad.Epsilon)
		if err != nil {
			return "", err
		}
		if ok {
			ways = append(ways, fmt.Sprintf("epsilon %g", f*e.ad.Epsilon))
			break
		}
	}
	tried := 0
	for _, f := range recordFactors {
		more := make([]int, len(e.ad.Records))
		total := 0
		for i, n := range e.ad.Records {
			more[i] = f * n
			total += more[i]
		}
		if total > mostRows {
			break
		}
		tried = f
		ok, err := e.pays(ctx, more, e.ad.Epsilon)
		if err != nil {
			return "", err
		}
		if ok {
			ways = append(ways, span(more)+" records a party")
			break
		}
	}
	if ways == nil {
		ways = []string{fmt.Sprintf("more than epsilon %g", epsilonFactors[len(epsilonFactors)-1]*e.ad.Epsilon)}
		if tried > 0 {
			ways = append(ways, fmt.Sprintf("more than %d times the records", tried))
		}
	}
	return text + strings.Join(ways, " or "), nil
}

// span is a number, or the least and the most.
func span(n []int) string {
	lo, hi := n[0], n[0]
	for _, v := range n {
		lo, hi = min(lo, v), max(hi, v)
	}
	if lo == hi {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}

// Plan is the best setting as a plan's file, with the schema's file in it.
func (a *Advice) Plan(schema string) ([]byte, error) {
	text, err := a.best.WithSchema(schema).Text()
	return append([]byte("# Written by choir plan advise. Name the members' cards, and the schema. All keys "+
		"are in\n# docs/plan-file.md.\n"), text...), err
}
