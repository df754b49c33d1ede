package study

import (
	"fmt"
	"math"
	"strings"
)

// Table is the result's rows as a table in Markdown.
func (r *Result) Table() string {
	var b strings.Builder
	bars := false
	for _, row := range r.Rows {
		bars = bars || row.Bar != 0
	}
	b.WriteString("| case | method | measure | paper | ours (standard error) | difference |")
	if bars {
		b.WriteString(" bar |")
	}
	b.WriteString(" verdict |\n|---|---|---|---|---|---|")
	if bars {
		b.WriteString("---|")
	}
	b.WriteString("---|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s%s | %s | %s | %s |", row.Case, row.Method, median(row), row.Measure,
			row.PaperText(), row.OursText(), row.difference())
		if bars {
			b.WriteString(" " + row.bar() + " |")
		}
		b.WriteString(" " + row.verdict() + " |\n")
	}
	return b.String()
}

func median(r Row) string {
	if r.Statistic == "median" {
		return "median "
	}
	return ""
}

// PaperText is the published figure, "-" without one.
func (r Row) PaperText() string {
	if r.Paper == nil {
		return "-"
	}
	return r.number(r.Paper.Value)
}

// number shows a value to a tenth of the usual standard error of its measure.
func (r Row) number(v float64) string {
	switch r.Measure {
	case Accuracy, LogLikelihood, MAE, RelativeMAE, Variance:
		text := fmt.Sprintf("%.4f", v)
		if text[0] == '-' {
			return "-" + strings.TrimPrefix(text[1:], "0")
		}
		return strings.TrimPrefix(text, "0")
	}
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// OursText is our figure, with its standard error.
func (r Row) OursText() string {
	if len(r.Values) < 2 {
		return r.number(r.Ours)
	}
	se := r.SE
	if se <= rounding*math.Abs(r.Ours) {
		se = 0
	}
	return fmt.Sprintf("%s (%s)", r.number(r.Ours), r.number(se))
}

// rounding is the relative standard error below which values are the same but for their rounding.
const rounding = 1e-12

func (r Row) difference() string {
	if r.Paper == nil {
		return "-"
	}
	d := r.number(r.Ours - r.Paper.Value)
	if d[0] != '-' {
		d = "+" + d
	}
	return d
}

func (r Row) bar() string {
	switch {
	case r.Bar == 0:
		return "-"
	case r.reaches():
		return r.number(r.Bar) + ", reached"
	}
	return r.number(r.Bar) + ", missed"
}

func (r Row) verdict() string {
	if r.Why == "" {
		return string(r.Verdict)
	}
	return string(r.Verdict) + ": " + r.Why
}

// SpentTable is a table in Markdown of what the methods cost.
func (r *Result) SpentTable() string {
	var b strings.Builder
	b.WriteString("| method | epsilon | delta | accountant | neighbours | noise " +
		"|\n|---|---|---|---|---|---|\n")
	for _, s := range r.Spent {
		fmt.Fprintf(&b, "| %s | %.4f | %g | %s | %s | %s |\n",
			s.Method, s.Epsilon, s.Delta, s.Accountant, s.Relation, s.Noise)
	}
	return b.String()
}
