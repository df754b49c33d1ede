package status

import (
	"fmt"
	"math"
	"strings"
)

// Evaluation is a point of the learning curve: the model's scores on the parties' held-out records,
// each an estimate with the ends of its 95 % interval, which includes the privacy noise.
type Evaluation struct {
	Round         uint32     `json:"round"`
	Parties       int        `json:"parties"`
	Measure       string     `json:"measure"` // accuracy or rmse
	Score         [3]float64 `json:"score"`   // value, low, high
	LogLikelihood [3]float64 `json:"log_likelihood"`
}

// Evaluated adds a point to the learning curve. A round that is there already is replaced.
func (m *Monitor) Evaluated(e Evaluation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.status.Evaluations
	if n := len(all); n > 0 && all[n-1].Round == e.Round {
		all = all[:n-1]
	}
	m.status.Evaluations = append(all[:len(all):len(all)], e) // a copy: the former is in use
}

// Size of the drawing of a learning curve.
const (
	curveWidth  = 640
	curveHeight = 160
	curveMargin = 12
)

// curve is the drawing of a learning curve, in its own units.
type curve struct {
	Width, Height int
	Line          string // points of the line
	Marks         []mark
	Top, Bottom   string
}

// mark is a point with the vertical line of its interval.
type mark struct{ X, Y, Low, High float64 }

// Curve is the learning curve as a drawing; nil without evaluations.
func (s Status) Curve() *curve {
	if len(s.Evaluations) == 0 {
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, e := range s.Evaluations {
		low = min(low, e.Score[1])
		high = max(high, e.Score[2])
	}
	if !(high > low) {
		high = low + 1
	}
	at := func(v float64) float64 {
		return math.Round(curveMargin + (curveHeight-2*curveMargin)*(high-v)/(high-low))
	}
	c := &curve{Width: curveWidth, Height: curveHeight, Top: fmt.Sprintf("%.3g", high),
		Bottom: fmt.Sprintf("%.3g", low)}
	var line []string
	for _, e := range s.Evaluations {
		m := mark{math.Round(curveMargin + (curveWidth-2*curveMargin)*float64(e.Round)/float64(max(1, s.Rounds))),
			at(e.Score[0]), at(e.Score[1]), at(e.Score[2])}
		c.Marks = append(c.Marks, m)
		line = append(line, fmt.Sprintf("%g,%g", m.X, m.Y))
	}
	c.Line = strings.Join(line, " ")
	return c
}
