package paper1

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"choir/crypto/noise"
	"choir/lab/bed"
	"choir/lab/internal/published"
	"choir/lab/internal/quality"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/learn/stats"
	"choir/privacy"
	"choir/session/app"
)

// Studies are the paper's experiments.
func Studies() []study.Study {
	return []study.Study{
		{Name: "paper1-figure1b", About: "[DCA], Figure 1b: the extra noise of the distributed setting",
			Run: figure1b},
		{Name: "paper1-figure2", About: "[DCA], Figure 2: Bayesian linear regression on wine and abalone " +
			"from noisy statistics", Run: figure2},
	}
}

const (
	parties = 10
	delta   = 1e-4 // as in the paper's code
)

// epsilons are the figure's, two in a factor of ten.
func epsilons() []float64 { return []float64{1, 1.778, 3.162, 5.623, 10, 31.623} }

// method is a curve of the figure.
type method struct {
	name      string
	projected bool // thresholds found in private, Algorithm 2
	trusted   bool
	input     bool
}

func methods() []method {
	return []method{{name: "DDP"}, {name: "TA", trusted: true}, {name: "proj DDP", projected: true},
		{name: "proj TA", projected: true, trusted: true}, {name: "input perturbation", input: true}}
}

// config is the statistics' with or without thresholds found in private. Of ten rounds
// one finds means and standard deviations: a tenth of the budget.
func (m method) config(t *task) (c stats.Config, rounds int) {
	c = stats.Config{Features: t.features, PriorPrecision: 1, Bound: 7.5, TargetBound: 7.5, Radius: 1.5,
		FracBits: 10,
		Records:  int64(t.train.Rows()), MaxRecords: int64(t.train.Rows())}
	if m.projected {
		c.MomentRounds, c.Radius = 1, math.Sqrt(float64(t.features+1))
		return c, 10
	}
	return c, 1
}

// learnt is what a method gave.
type learnt struct {
	mae    float64 // on the test rows
	spent  study.Spent
	scores []study.Score // of its posteriors; none of perturbed records
}

// learn runs a method.
func (m method) learn(ctx context.Context, o study.Options, t *task, against quality.Reference,
	epsilon float64, seed uint64) (l learnt, err error) {
	cfg, rounds := m.config(t)
	name := fmt.Sprintf("%s, epsilon %g", m.name, epsilon)
	if m.input {
		l.mae, l.spent, err = perturbed(cfg, t, name, epsilon, seed)
		return l, err
	}
	r := bed.Run{Name: name, Seed: seed, App: &app.Statistics{Version: 1, Statistics: cfg,
		Schema: t.schema}, Parts: t.parts, Rounds: rounds,
		Epsilon: epsilon, Delta: delta, Transport: o.Transport, Dir: o.Dir, Trusted: m.trusted}
	out, err := r.Do(ctx)
	if err != nil {
		return l, err
	}
	l.mae, l.spent = mae(out.Last.Mean(), t), out.Spent
	l.scores, err = against.Scores(out, r.App)
	return l, err
}

// perturbed is the baseline in which every record's owner noises the record.
func perturbed(cfg stats.Config, t *task, name string, epsilon float64, seed uint64) (float64, study.Spent,
	error) {
	n, err := privacy.Calibrate(privacy.Target{Epsilon: epsilon, Delta: delta,
		Sensitivity: cfg.InputRadius(), Dim: uint32(cfg.Features + 1), Releases: 1, Parts: 1})
	if err != nil {
		return 0, study.Spent{}, err
	}
	g, err := noise.NewGaussian(n.PartVariance)
	if err != nil {
		return 0, study.Spent{}, err
	}
	from := bed.Stream(fmt.Sprintf("%s seed %d", name, seed))
	p, err := stats.InputPerturbation(cfg, t.parts, func(dst []int64) error { return g.Fill(dst, from) },
		float64(n.PartVariance))
	if err != nil {
		return 0, study.Spent{}, err
	}
	return mae(p.Mean, t), study.Spent{Method: name, Epsilon: n.Epsilon, Delta: delta, Accountant: n.Method,
		Relation: privacy.ReplaceOne.String(),
		Noise:    "on every record by itself"}, nil
}

func mae(w []float64, t *task) (sum float64) {
	for i, y := range t.test.Y {
		p := 0.0
		for j, x := range t.test.X[i*t.features : (i+1)*t.features] {
			p += x * w[j]
		}
		sum += math.Abs(p-y) / float64(len(t.test.Y))
	}
	return sum
}

// exact is the error without privacy, and what posteriors are held against.
func exact(ctx context.Context, t *task) (float64, quality.Reference, error) {
	cfg, _ := method{}.config(t)
	cfg.Radius, cfg.FracBits = 8, 16
	r := bed.Run{Name: "NP", App: &app.Statistics{Version: 1, Statistics: cfg, Schema: t.schema},
		Parts: []bayes.Data{t.train}, Rounds: 1}
	out, err := r.Do(ctx)
	if err != nil {
		return 0, quality.Reference{}, err
	}
	sd := out.Last.SD()
	return mae(out.Last.Mean(), t), quality.Reference{Test: t.test, Features: t.features, Numbers: true,
		SD: floats.Sum(sd) / float64(len(sd))}, nil
}

// found are the errors of a method over those without privacy, by epsilon and seed.
type found map[string][][]float64

func figure2(ctx context.Context, o study.Options) (*study.Result, error) {
	numbers, err := published.Of("paper1-figure2")
	if err != nil {
		return nil, err
	}
	r := &study.Result{SchemaVersion: 1, Name: "paper1-figure2",
		Title: "Bayesian linear regression from noisy sufficient statistics, 10 parties", Seeds: o.Seeds,
		Transport: o.Transport,
		Source:    "[DCA], Figure 2", Settings: settings()}
	o = o.Begin(len(sets()) * o.Seeds * len(epsilons()))
	for _, s := range sets() {
		if o.Quick && s.name != "red wine" {
			continue
		}
		f, plain, err := s.run(ctx, o, r)
		if err != nil {
			return nil, err
		}
		s.add(r, numbers, f, plain)
		o.Keep(r)
	}
	return r, nil
}

// run gives the ratios of all methods, and the median error without privacy.
func (s set) run(ctx context.Context, o study.Options, r *study.Result) (found, []float64, error) {
	f, plain := found{}, []float64(nil)
	for _, m := range methods() {
		f[m.name] = make([][]float64, len(epsilons()))
	}
	for _, seed := range o.Each() {
		t, err := s.load(o, parties, uint64(seed))
		if err != nil {
			return nil, nil, err
		}
		np, against, err := exact(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		plain = append(plain, np)
		for i, epsilon := range epsilons() {
			for _, m := range methods() {
				l, err := m.learn(ctx, o, t, against, epsilon, uint64(seed))
				if err != nil {
					return nil, nil, fmt.Errorf("%s, %s, epsilon %g: %w", s.name, m.name, epsilon, err)
				}
				f[m.name][i] = append(f[m.name][i], l.mae)
				if tabled(epsilon) {
					r.Calibrate(fmt.Sprintf("%s, epsilon %g", s.name, epsilon), m.name, l.scores...)
				}
				if seed == o.Each()[0] && s.name == "red wine" && (epsilon == 1 || epsilon == 10) {
					r.Spent = append(r.Spent, l.spent)
				}
			}
			o.Tell(fmt.Sprintf("%s, seed %d, epsilon %g: without privacy %.3f, proj DDP %.3f",
				s.name, seed, epsilon, np, last(f["proj DDP"][i])))
		}
	}
	return f, plain, nil
}

func last(v []float64) float64 { return v[len(v)-1] }
