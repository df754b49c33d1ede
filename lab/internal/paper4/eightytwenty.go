package paper4

import (
	"context"
	"fmt"
	"strings"

	"choir/lab/internal/published"
	"choir/lab/study"
	"choir/learn/global"
	"choir/learn/pvi"
)

// protocol8020 is the paper's own protocol by its text, 80 % to train and 20 % to test,
// with a setting that is chosen on rows of the training part alone and paid for.
type protocol8020 struct {
	comparison          // what learns from all training rows, with a setting made elsewhere
	choices    []choice // what chooses its own
}

// eightyTwenty has, for each of the two best methods, a grid of three clips two octaves
// wide; all else is what served half and half, in round numbers.
func eightyTwenty() protocol8020 {
	c := ten()
	c.name = "paper4-adult8020"
	c.title = "Logistic regression on Adult, 10 clients, (1, 1e-5), 80 : 20 with a private choice of the setting"
	c.figure = "appendix B"
	c.train = 0.8
	// the sums hardly depend on who has what
	c.methods, c.splits = []method{elsewhere(c.methods[0]), elsewhere(c.methods[2])}, splits()[:1]
	v := choice{name: "virtual clients", settings: "20 rounds, virtual clients of 1 record each, one " +
		"natural-gradient step, damping 0.2, precision 150 to start with, precisions of at least 150; C " +
		"0.5, 1 or 2"}
	for _, clip := range []float64{0.5, 1, 2} {
		v.add(clip, virtual(pvi.Config{Clip: clip, Damping: 0.2, PrecisionFloor: 150, StartPrecision: 150},
			1, 20))
	}
	g := choice{name: "global VI over secure sums",
		settings: "1000 rounds, joint Poisson samples at rate 0.02, Adam at 0.015, first standard " +
			"deviation 0.1, averaging 3; C 2, 3 or 4.5"}
	for _, clip := range []float64{2, 3, 4.5} {
		g.add(clip, globalVI(global.Config{Clip: clip, SampleRate: 0.02, LearningRate: 0.015,
			InitialSD: 0.1, Averaging: 3}, 1000))
	}
	return protocol8020{c, []choice{v, g}}
}

func (c *choice) add(clip float64, m method) {
	c.candidates, c.labels = append(c.candidates, m), append(c.labels, fmt.Sprintf("C %g", clip))
}

// elsewhere is a method with the setting for half and half.
func elsewhere(m method) method {
	m.name, m.bars = m.name+", setting of half and half", nil
	return m
}

func (p protocol8020) run(ctx context.Context, o study.Options) (*study.Result, error) {
	numbers, err := published.Of(p.name) // none: the paper shows half and half
	if err != nil {
		return nil, err
	}
	r := &study.Result{SchemaVersion: 1, Name: p.name, Title: p.title, Seeds: o.Seeds,
		Transport: o.Transport, Source: "[DP-PVI], " + p.figure}
	s := p.splits[0]
	o = o.Begin(o.Count(p.names()...) * o.Seeds)
	var all []found
	for i, c := range p.choices {
		if o.Quick && i > 0 || !o.Picks(c.name, p.names()...) {
			continue
		}
		f, err := p.choose(ctx, o, r, c, s)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	for _, m := range p.methods {
		if o.Quick || !o.Picks(m.name, p.names()...) {
			continue
		}
		f, err := p.learn(ctx, o, m, s)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	p.add(r, numbers, s, all)
	return r, nil
}

func (p protocol8020) names() []string {
	all := p.comparison.names()
	for _, c := range p.choices {
		all = append(all, c.name)
	}
	return all
}

// choose runs the seeds of one choice on one split.
func (p protocol8020) choose(ctx context.Context, o study.Options, r *study.Result, c choice,
	s split) (found, error) {
	f := found{method: method{name: c.name + ", setting chosen in private", settings: c.settings}}
	var picked []string
	right := 0
	for _, seed := range o.Each() {
		data, err := adult(o, s, p.parties, p.train, uint64(seed))
		if err != nil {
			return f, err
		}
		against, err := p.reference(data)
		if err != nil {
			return f, err
		}
		got, err := c.run(ctx, o, data, against, p.epsilon, uint64(seed))
		if err != nil {
			return f, fmt.Errorf("%s, %s: %w", p.name, s.name, err)
		}
		o.Tell(fmt.Sprintf("%s, %s, seed %d: %s, %.4f / %.4f",
			s.name, c.name, seed, c.labels[got.winner], got.last()[0], got.last()[1]))
		got.spent = study.Spent{} // of one candidate's: what all cost is noted below
		f.traces, picked = append(f.traces, got.trace), append(picked, c.labels[got.winner])
		if got.winner == got.best {
			right++
		}
		if seed == o.Each()[0] {
			r.Spent = append(r.Spent, got.learning, got.selection)
		}
	}
	r.Notes = append(r.Notes, fmt.Sprintf("Chosen by %s on %s, seed by seed: %s. The test rows would "+
		"have taken the same in %d of %d.", c.name, s.name, strings.Join(picked, ", "), right, len(picked)))
	return f, nil
}
