package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"choir/lab/experiment"
)

// progress shows how far a session is: a bar under the lines of the rounds on
// a terminal, the lines alone elsewhere, one JSON object a line in JSON mode.
type progress struct {
	w    io.Writer
	json bool
	bar  bool
	tint bool
	mu   sync.Mutex
	last experiment.Progress
}

func newProgress(w io.Writer, format string) *progress {
	p := &progress{w: w, json: format == "json"}
	if f, ok := w.(*os.File); ok && !p.json && term.IsTerminal(int(f.Fd())) {
		p.bar, p.tint = os.Getenv("TERM") != "dumb", os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return p
}

func (p *progress) show(e experiment.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.json {
		_ = json.NewEncoder(p.w).Encode(e) // a lost progress line is no failure
		return
	}
	p.clear()
	if line := progressLine(e); line != "" {
		fmt.Fprintln(p.w, line)
	}
	if e.Rounds > 0 {
		p.last = e
	}
	p.draw(e.Phase)
}

// end takes the bar away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *progress) clear() {
	if p.bar {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

const barWidth = 30

func (p *progress) draw(phase string) {
	if !p.bar || p.last.Rounds == 0 {
		return
	}
	full := barWidth * p.last.Round / p.last.Rounds
	done, rest := strings.Repeat("█", full), strings.Repeat("░", barWidth-full)
	if p.tint {
		done = "\x1b[32m" + done + "\x1b[0m"
	}
	fmt.Fprintf(p.w, "%s%s %d/%d", done, rest, p.last.Round, p.last.Rounds)
	if phase == "references" {
		fmt.Fprint(p.w, "  computing the references")
	}
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
	}
	return ""
}
