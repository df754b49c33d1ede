package report

import (
	"fmt"

	"choir/lab/figure"
	"choir/learn/dataset"
	"choir/learn/evaluate"
)

// evaluations adds the scores on the parties' held-out records, of a model of the target.
func (p *Page) evaluations(points []evaluate.Point, target dataset.Column) error {
	if len(points) == 0 {
		return nil
	}
	s := Section{Heading: "Evaluation on held-out records"}
	s.Text = []string{"Scores of the model on records that no party learnt from, over all parties, from noisy " +
		"sums. Intervals are at 95 % and include the privacy noise."}
	if points[0].PerParty {
		s.Text = append(s.Text, "Every party counts once, with the mean of its own records.")
	}
	score, title, written := accuracyOf, "Accuracy", interval
	if points[0].Accuracy == nil {
		score, title, written = rmseOf, "Root mean squared error", hidden
	}
	f := &figure.Figure{Width: 940, Height: 400, Panels: []figure.Panel{
		panelOf(title, points, score), panelOf("Mean log-likelihood (nats)", points, logLikOf)}}
	if err := p.figure(&s, f); err != nil {
		return err
	}
	s.Table = &Table{Head: []string{"round", "parties", counted(points[0]), title, "log-likelihood"},
		Numeric: []bool{true, true, true, true, true}}
	for _, v := range points {
		s.Table.Rows = append(s.Table.Rows, Row{Cells: []string{fmt.Sprint(v.Round), fmt.Sprint(v.Parties),
			fixed(v.Records.Value, 0), written(score(v)), interval(v.LogLikelihood)}})
	}
	p.add(s)
	p.calibration(points[len(points)-1], target)
	return nil
}

// counted is what the sums of a point count.
func counted(p evaluate.Point) string {
	if p.PerParty {
		return "parties with such records"
	}
	return "records"
}

// shared is what the bins of a point count: a party's records share its one count.
func shared(p evaluate.Point) string {
	if p.PerParty {
		return "shares of parties"
	}
	return "records"
}

func accuracyOf(p evaluate.Point) evaluate.Interval { return *p.Accuracy }
func rmseOf(p evaluate.Point) evaluate.Interval     { return *p.RMSE }
func logLikOf(p evaluate.Point) evaluate.Interval   { return p.LogLikelihood }

func interval(i evaluate.Interval) string {
	return fmt.Sprintf("%s (%s to %s)", fixed(i.Value, 3), fixed(i.Low, 3), fixed(i.High, 3))
}

// hidden is an interval of a root: where noise brings the square below 0 the value isn't known to be 0.
func hidden(i evaluate.Interval) string {
	if i.Value == 0 {
		return "hidden by noise (at most " + fixed(i.High, 3) + ")"
	}
	return interval(i)
}

func panelOf(title string, points []evaluate.Point, of func(evaluate.Point) evaluate.Interval) figure.Panel {
	c := figure.Curve{Name: "held-out records"}
	for _, p := range points {
		i := of(p)
		c.X = append(c.X, float64(p.Round))
		c.Y = append(c.Y, i.Value)
		c.Lo = append(c.Lo, i.Low)
		c.Hi = append(c.Hi, i.High)
	}
	return figure.Panel{Title: title, XLabel: "Round", Integers: true, Curves: []figure.Curve{c}}
}

// calibration is a table of the last evaluation's bins.
func (p *Page) calibration(last evaluate.Point, target dataset.Column) {
	s := Section{Heading: "Calibration", Table: &Table{Numeric: []bool{false, true, true},
		Head: []string{"predicted", shared(last), "observed less predicted"}}}
	if target.Categories != nil {
		s.Text = []string{fmt.Sprintf("The share of %s=%s that was observed less the mean probability that was "+
			"predicted for it, by that probability.", target.Name, target.Categories[1])}
	}
	if last.Accuracy == nil {
		s.Table = &Table{Head: []string{"distribution function", shared(last)}, Numeric: []bool{false, true}}
		s.Text = []string{"Records by the predicted distribution function at their target: a calibrated " +
			"model has equally many in each row."}
	}
	for _, b := range last.Calibration {
		n := b.Records
		row := Row{Cells: []string{fmt.Sprintf("%s to %s", fixed(b.From, 2), fixed(b.To, 2)),
			fmt.Sprintf("%s (%s to %s)", fixed(n.Value, 0), fixed(n.Low, 0), fixed(n.High, 0))}}
		if b.Gap != nil {
			row.Cells = append(row.Cells, interval(*b.Gap))
			row.Muted = b.Gap.Low <= 0 && b.Gap.High >= 0
		}
		s.Table.Rows = append(s.Table.Rows, row)
	}
	p.add(s)
}
