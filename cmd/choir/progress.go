package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

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
	rounds string // the bar and the count
}

func (p *progress) show(e experiment.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		_ = json.NewEncoder(p.w).Encode(e) // progress is best effort
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
			scores = fmt.Sprintf("  accuracy %.4f  log-likelihood %.4f", e.Scores.Accuracy, e.Scores.LogLikelihood)
		}
		return fmt.Sprintf("round %*d/%d  %d of %d parties%s  epsilon %.3f  %5.1f s",
			len(fmt.Sprint(e.Rounds)), e.Round, e.Rounds, e.Counted, e.Parties, scores, e.Epsilon, e.Seconds)
	case "references":
		return "computing the references"
	case "reference":
		return fmt.Sprintf("reference: %s  %5.1f s", e.Name, e.Seconds)
	}
	return ""
}
