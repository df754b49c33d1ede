package calibration

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"choir/lab/internal/quality"
)

const (
	// below is how far a session may predict worse than the prior.
	below = 0.01
	// least is how many of a world's true weights 90 % intervals are to have.
	least = 0.8
)

// extremes are the worst sessions and worlds by method.
type extremes struct {
	names []string
	all   map[string]*extreme
}

// extreme is a method's: how many sessions and worlds there are, and which are too bad.
type extreme struct {
	sessions, worlds int
	worst            float64 // log-likelihood over the prior's predictive
	lost, narrow     []string
}

// add counts a world's noise-aware posteriors.
func (e *extremes) add(t *tally) {
	for _, name := range t.names {
		if !strings.HasSuffix(name, ", "+quality.Aware) {
			continue
		}
		if e.all[name] == nil {
			if e.all == nil {
				e.all = map[string]*extreme{}
			}
			e.names = append(e.names, name)
			e.all[name] = &extreme{worst: math.Inf(1)}
		}
		e.all[name].add(t, name)
	}
}

func (m *extreme) add(t *tally, name string) {
	m.worlds++
	cover := 0.0
	for i, s := range t.all[name] {
		m.sessions++
		gain := s.LogLikelihood - t.prior[i]
		m.worst = min(m.worst, gain)
		if gain < -below {
			m.lost = append(m.lost, fmt.Sprintf("%s (%.3f)", t.world.Name, -gain))
		}
		cover += s.Coverage[1] / float64(len(t.all[name]))
	}
	if cover < least {
		m.narrow = append(m.narrow, fmt.Sprintf("%s (%.2f)", t.world.Name, cover))
	}
}

// notes are a paragraph for each method, in order of name.
func (e *extremes) notes() (out []string) {
	slices.Sort(e.names)
	for _, name := range e.names {
		m := e.all[name]
		out = append(out, fmt.Sprintf("*%s*: %d sessions of %d worlds; the worst is %.3f over the prior's "+
			"predictive; more than %g below it: %s. 90 %% intervals cover less than %g in: %s.", name, m.sessions,
			m.worlds, m.worst, below, list(m.lost), least, list(m.narrow)))
	}
	return out
}

// list is a list in words.
func list(of []string) string {
	if len(of) == 0 {
		return "none"
	}
	return strings.Join(of, "; ")
}
