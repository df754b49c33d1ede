package study

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Levels returns the nominal probabilities of the intervals whose coverage is counted.
func Levels() [3]float64 { return [3]float64{0.5, 0.9, 0.95} }

// Bins is the number of points of a reliability curve.
const Bins = 10

// Score compares one posterior with the test rows, the posterior of all rows without privacy,
// and the true weights.
type Score struct {
	Posterior     string  // plain or noise-aware
	LogLikelihood float64 // of the test rows, mean
	ECE           float64
	Width         float64     // mean standard deviation over the non-private posterior's; 0: unknown
	Coverage      *[3]float64 // shares of the true weights in the intervals of Levels; nil: unknown
	Reliability   [Bins]Bin
}

// Bin is a point of a reliability curve. For classes it has the rows whose probability of a one is in
// a tenth of [0, 1]: its mean, and the share of ones. For numbers it has all rows, the probability of
// a predictive quantile, and the share of targets below it.
type Bin struct {
	Rows      int     `json:"rows"`
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
}

// Error is the expected calibration error of a curve: the mean over rows of the distance between
// predicted and observed.
func Error(curve [Bins]Bin) float64 {
	sum, rows := 0.0, 0.0
	for _, b := range curve {
		sum += float64(b.Rows) * math.Abs(b.Predicted-b.Observed)
		rows += float64(b.Rows)
	}
	return sum / max(rows, 1)
}

// Calibration has a method's scores by seed.
type Calibration struct {
	Case          string       `json:"case"`
	Method        string       `json:"method"`
	Posterior     string       `json:"posterior"`
	LogLikelihood []float64    `json:"log_likelihood,omitempty"`
	ECE           []float64    `json:"ece,omitempty"`
	Width         []float64    `json:"width,omitempty"`
	Coverage      [][3]float64 `json:"coverage,omitempty"`
	Reliability   [Bins]Bin    `json:"reliability"` // over all seeds; no rows: there are no predictions
}

// Calibrate adds the scores of a method's posteriors for one seed.
func (r *Result) Calibrate(where, method string, scores ...Score) {
	for _, s := range scores {
		at := slices.IndexFunc(r.Calibration, func(c Calibration) bool {
			return c.Case == where && c.Method == method && c.Posterior == s.Posterior
		})
		if at < 0 {
			at = len(r.Calibration)
			r.Calibration = append(r.Calibration, Calibration{Case: where, Method: method, Posterior: s.Posterior})
		}
		r.Calibration[at].add(s)
	}
}

func (c *Calibration) add(s Score) {
	if rows := s.Reliability[Bins-1].Rows + s.Reliability[0].Rows; rows > 0 || s.LogLikelihood != 0 {
		c.LogLikelihood = append(c.LogLikelihood, s.LogLikelihood)
		c.ECE = append(c.ECE, s.ECE)
	}
	if s.Width > 0 {
		c.Width = append(c.Width, s.Width)
	}
	if s.Coverage != nil {
		c.Coverage = append(c.Coverage, *s.Coverage)
	}
	for i, b := range s.Reliability {
		to := &c.Reliability[i]
		all := float64(max(1, to.Rows+b.Rows))
		to.Predicted += (b.Predicted - to.Predicted) * float64(b.Rows) / all
		to.Observed += (b.Observed - to.Observed) * float64(b.Rows) / all
		to.Rows += b.Rows
	}
}

// rows are the scores as rows, in the order of the table's columns; those without values are nil.
func (c Calibration) rows() []*Row {
	row := func(m Measure, values []float64) *Row {
		if len(values) == 0 {
			return nil
		}
		r := Row{Case: c.Case, Method: c.Method + ", " + c.Posterior, Measure: m, Values: values}.Mean()
		return &r
	}
	all := []*Row{row(LogLikelihood, c.LogLikelihood), row(ECE, c.ECE), row(Width, c.Width)}
	for k, level := range Levels() {
		var values []float64
		for _, v := range c.Coverage {
			values = append(values, v[k])
		}
		all = append(all, row(Measure(fmt.Sprintf("%s of %g %%", Coverage, 100*level)), values))
	}
	return all
}

// CalibrationTable is a table in Markdown of how far intervals and probabilities are to be believed,
// without the columns that no method has.
func (r *Result) CalibrationTable() string {
	names := []string{"log-likelihood", "ECE", "width", "50 %", "90 %", "95 %"}
	var cells [][]*Row
	used := make([]bool, len(names))
	for _, c := range r.Calibration {
		rows := c.rows()
		for i := range used {
			used[i] = used[i] || rows[i] != nil
		}
		cells = append(cells, rows)
	}
	var b strings.Builder
	b.WriteString("| case | method | posterior |")
	rule := "|---|---|---|"
	for i, name := range names {
		if used[i] {
			b.WriteString(" " + name + " |")
			rule += "---|"
		}
	}
	b.WriteString("\n" + rule + "\n")
	for i, c := range r.Calibration {
		fmt.Fprintf(&b, "| %s | %s | %s |", c.Case, c.Method, c.Posterior)
		for k, row := range cells[i] {
			switch {
			case !used[k]:
			case row == nil:
				b.WriteString(" - |")
			default:
				b.WriteString(" " + row.OursText() + " |")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// CalibrationText explains what the columns of CalibrationTable are.
const CalibrationText = "" +
	"Calibration. *plain* takes the revealed sums for exact, *noise-aware* counts their noise. ECE is" +
	" the expected calibration error of the test rows' predictions in ten bins, for numbers the mean " +
	"distance of ten predictive quantiles from the share of targets below. Width is the mean standard" +
	" deviation of the weights over that of the posterior of all rows without privacy. 50, 90 and 95 " +
	"% are the shares of the true weights in such intervals. A standard error is in parentheses; a " +
	"dash means that it is not known or has no meaning."

// curves of a reliability diagram leave out bins of fewer rows.
const fewest = 50

// reliability has a panel for each case with the reliability curves of its methods.
func (r *Result) reliability() (panels []Panel) {
	for _, c := range r.Calibration {
		k := Curve{Name: c.Method + ", " + c.Posterior}
		for _, b := range c.Reliability {
			if b.Rows >= fewest {
				k.X, k.Y = append(k.X, b.Predicted), append(k.Y, b.Observed)
			}
		}
		if len(k.X) == 0 {
			continue
		}
		title := "reliability, " + c.Case
		at := slices.IndexFunc(panels, func(p Panel) bool { return p.Title == title })
		if at < 0 {
			at = len(panels)
			panels = append(panels, Panel{Title: title, XLabel: "predicted", YLabel: "observed", YMin: 0, YMax: 1,
				Curves: []Curve{{Name: "calibrated", X: []float64{0, 1}, Y: []float64{0, 1}}}})
		}
		panels[at].Curves = append(panels[at].Curves, k)
	}
	return panels
}

// seedsOf is the number of seeds of a method's rows: a result may have more for some methods.
func (r *Result) seedsOf(where, method string) int {
	for _, row := range r.Rows {
		if row.Case == where && row.Method == method {
			return len(row.Values)
		}
	}
	return r.Seeds
}

// checkCalibration refuses scores that aren't of the rows' seeds or out of their range.
func (r *Result) checkCalibration() error {
	for _, c := range r.Calibration {
		n, seeds := max(len(c.LogLikelihood), len(c.Coverage)), r.seedsOf(c.Case, c.Method)
		bad := n == 0 || n%seeds != 0 || len(c.ECE) != len(c.LogLikelihood)
		for _, more := range []int{len(c.LogLikelihood), len(c.Width), len(c.Coverage)} {
			bad = bad || more != 0 && more != n
		}
		for _, e := range c.ECE {
			bad = bad || !(e >= 0 && e <= 1)
		}
		for _, b := range c.Reliability {
			bad = bad || b.Rows < 0 || !(b.Predicted >= 0 && b.Predicted <= 1 && b.Observed >= 0 && b.Observed <= 1)
		}
		if bad {
			return fmt.Errorf("study: %s: the calibration of %s, %s, %s doesn't have %d seeds' scores", r.Name, c.Case,
				c.Method, c.Posterior, seeds)
		}
	}
	return nil
}
