package figure

import (
	"fmt"
	"path/filepath"
)

// Series is one run of a learner: its two figures after the rounds X.
type Series struct {
	Name     string
	X        []float64 // rounds, ascending; 0 is the prior
	Accuracy []float64 // fraction of test rows, or any score of which more is better
	LogLik   []float64 // mean log-likelihood per test row, nats
}

// Reference is a learner of which only the final scores are drawn.
type Reference struct {
	Name     string
	Accuracy float64
	LogLik   float64
}

// LearningCurve is the figure of a session: two panels against the round, with the
// references as horizontal lines.
type LearningCurve struct {
	Title string
	// Score names the left panel; empty means "Test accuracy".
	Score      string
	Series     []Series // the first one is the session itself
	References []Reference
}

// Figure returns the picture's description.
func (l LearningCurve) Figure() (*Figure, error) {
	if len(l.Series) == 0 {
		return nil, fmt.Errorf("report: learning curve without series")
	}
	score := l.Score
	if score == "" {
		score = "Test accuracy"
	}
	left := Panel{Title: score, XLabel: "Round", Integers: true}
	right := Panel{Title: "Mean test log-likelihood (nats)", XLabel: "Round", Integers: true}
	for _, s := range l.Series {
		left.Curves = append(left.Curves, Curve{Name: s.Name, X: s.X, Y: s.Accuracy})
		right.Curves = append(right.Curves, Curve{Name: s.Name, X: s.X, Y: s.LogLik})
	}
	for _, r := range l.References {
		left.Levels = append(left.Levels, Level{Name: r.Name, Y: r.Accuracy})
		right.Levels = append(right.Levels, Level{Name: r.Name, Y: r.LogLik})
	}
	f := &Figure{Title: l.Title, Panels: []Panel{left, right}}
	return f, f.Validate()
}

// Write draws curve.svg and curve.png into dir.
func (l LearningCurve) Write(dir string) error {
	f, err := l.Figure()
	if err != nil {
		return err
	}
	return f.Write(filepath.Join(dir, "curve"))
}
