package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"choir/cmd/internal/cli"
	"choir/lab/experiment"
)

// progress shows the rounds of a demonstration: a line each, with a bar below
// them on a terminal; in JSON mode one object a line.
type progress struct {
	w       io.Writer
	console *cli.Console
	json    bool

	mu     sync.Mutex
	rounds string    // the bar and the count
	doing  string    // what takes time now
	last   time.Time // of the last line
}

// quietLimit is for how long a run may print nothing.
const quietLimit = 2 * time.Second

// lively prints what is under way whenever nothing has been printed for a while, until the function that
// it returns is called. A terminal has a status line.
func (p *progress) lively() (stop func()) {
	p.doing, p.last = "reading the data", time.Now()
	begun, done := p.last, make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(quietLimit / 8)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			p.mu.Lock()
			quiet, doing := time.Since(p.last) >= quietLimit-quietLimit/4, p.doing
			p.mu.Unlock()
			if quiet {
				p.show(experiment.Progress{Phase: "working", Name: doing, Seconds: time.Since(begun).Seconds()})
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

// watched runs a demonstration and then writes its report, and tells meanwhile what takes long.
func (p *progress) watched(run func() (*experiment.Result, error), report func() error) (*experiment.Result,
	error) {
	stop := p.lively()
	defer stop()
	res, err := run()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.doing = "the report"
	p.mu.Unlock()
	return res, report()
}

func (p *progress) show(e experiment.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Phase {
	case "round":
		p.doing = fmt.Sprintf("round %d", e.Round+1)
		if e.Round == e.Rounds {
			p.doing = "the results"
		}
	case "references":
		p.doing = "the references"
	case "working":
		if p.console.Terminal() {
			return
		}
	}
	p.last = time.Now()
	if p.json {
		_ = json.NewEncoder(p.w).Encode(e) // progress is best effort
	} else if e.Phase == "warning" {
		cli.Wrap(p.w, "warning: ", e.Name)
	} else if line := progressLine(e); line != "" {
		fmt.Fprintln(p.w, line)
	}
	if e.Rounds > 0 {
		p.rounds = fmt.Sprintf("%s %d/%d", cli.Bar(e.Round, e.Rounds), e.Round, e.Rounds)
	}
	status := p.rounds
	if e.Phase == "references" || e.Phase == "reference" {
		status += "  computing the references"
	}
	p.console.Set(strings.TrimSpace(status))
}

func progressLine(e experiment.Progress) string {
	switch e.Phase {
	case "round":
		scores := ""
		if e.Scores != nil {
			measure := "accuracy"
			if e.Linear {
				measure = "R squared"
			}
			scores = fmt.Sprintf("  %s %.4f  log-likelihood %.4f", measure, e.Scores.Accuracy,
				e.Scores.LogLikelihood)
		}
		return fmt.Sprintf("round %*d/%d  %d of %d parties%s  epsilon %.3f  %5.1f s",
			len(fmt.Sprint(e.Rounds)), e.Round, e.Rounds, e.Counted, e.Parties, scores, e.Epsilon, e.Seconds)
	case "references":
		return "computing the references"
	case "working":
		return fmt.Sprintf("working: %s  %5.1f s", e.Name, e.Seconds)
	case "reference":
		return fmt.Sprintf("reference: %s  %5.1f s", e.Name, e.Seconds)
	}
	return ""
}
