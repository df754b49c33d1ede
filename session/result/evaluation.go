package result

import (
	"slices"

	"choir/learn/evaluate"
)

// evaluationFile has the scores on held-out records, a line for each evaluation.
const evaluationFile = "evaluation.csv"

// evaluationTable returns its contents. The score is the accuracy, or a number's root mean squared
// error. Sums count the held-out records, or the parties that have any.
func (f *ModelFile) evaluationTable() (header []string, rows [][]any) {
	name := "accuracy"
	for _, p := range f.Evaluation {
		score := p.Accuracy
		if score == nil {
			score, name = p.RMSE, "rmse"
		}
		row := []any{p.Round, p.Parties}
		for _, i := range []evaluate.Interval{p.Records, *score, p.LogLikelihood} {
			row = append(row, i.Value, i.Low, i.High)
		}
		rows = append(rows, row)
	}
	counted := "records"
	if len(f.Evaluation) > 0 && f.Evaluation[0].PerParty {
		counted = "scored_parties"
	}
	header = []string{"round", "parties"}
	for _, v := range []string{counted, name, "log_likelihood"} {
		header = append(header, v, v+"_low", v+"_high")
	}
	return header, rows
}

func sameEvaluation(path string, want *ModelFile) error {
	if len(want.Evaluation) == 0 {
		return notTheModel(path, "evaluations of a plan without any")
	}
	header, rows := want.evaluationTable()
	return want.sameCells(path, header, rows)
}

// samePoints compares evaluations but for rounding.
func samePoints(got, want []evaluate.Point) bool {
	return slices.EqualFunc(got, want, func(a, b evaluate.Point) bool {
		return a.Round == b.Round && a.Parties == b.Parties && a.PerParty == b.PerParty &&
			len(a.Calibration) == len(b.Calibration) && (a.Accuracy == nil) == (b.Accuracy == nil) &&
			(a.RMSE == nil) == (b.RMSE == nil) && within(numbers(a), numbers(b), 1e-9)
	})
}

// numbers are those of an evaluation, in a fixed order.
func numbers(p evaluate.Point) []float64 {
	var out []float64
	add := func(i *evaluate.Interval) {
		if i != nil {
			out = append(out, i.Value, i.Low, i.High)
		}
	}
	add(&p.Records)
	add(p.Accuracy)
	add(p.RMSE)
	add(&p.LogLikelihood)
	for _, b := range p.Calibration {
		out = append(out, b.From, b.To)
		add(&b.Records)
		add(b.Gap)
	}
	return out
}
