package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"choir/cmd/internal/cli"
	"choir/lab/experiment"
	"choir/learn/bayes"
)

// printResult is the table at the end of a demonstration.
func printResult(w io.Writer, r *experiment.Result) {
	cli.Wrap(w, "", fmt.Sprintf("%s: %d rows to learn from, %d to test on, %d features", r.Data, r.TrainRows,
		r.TestRows, r.Features))
	cli.Wrap(w, "", fmt.Sprintf("%d parties (T = %d, N_min = %d), %d compute nodes, %d rounds, %s model, %s "+
		"strategy",
		r.Parties, r.Colluders, r.MinParties, r.ComputeNodes, r.Rounds, r.Model, r.Strategy))
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	score, majority := "test accuracy", "majority class"
	if r.Model == string(bayes.Linear) {
		score, majority = "test R squared", "mean of the targets"
	}
	fmt.Fprintf(t, "\t%s\tmean test log-likelihood\n", score)
	for _, row := range []struct {
		name string
		s    experiment.Scores
	}{
		{"no privacy at all", r.References.NonPrivate},
		{"trusted aggregator, same noise", r.References.TrustedAggregator},
		{"secure sum (this session)", r.Result},
		{"local noise, no secure sum", r.References.LocalNoise},
		{"party by held-out rows, no privacy", r.References.BestSingleParty},
		{"median party, no privacy", r.References.MedianSingleParty},
		{"party by held-out rows, same privacy", r.References.BestSinglePartyPrivate},
		{majority, r.References.Majority},
	} {
		if row.s == (experiment.Scores{}) {
			continue // not computed
		}
		fmt.Fprintf(t, "%s\t%.4f\t%.4f\n", row.name, row.s.Accuracy, row.s.LogLikelihood)
	}
	_ = t.Flush() // w reports its errors elsewhere
	if r.Verdict != "" {
		fmt.Fprintln(w)
		cli.Wrap(w, "", r.Verdict)
	}
	fmt.Fprintf(w, "\nepsilon %.4f of %g spent at delta %g (%s, %s)\n",
		r.Epsilon, r.EpsilonBudget, r.Delta, r.Relation, r.Accountant)
	fmt.Fprintf(w, "%.0f bytes uploaded by a party in a round, %.1f s in all (%.1f s the session)\n",
		r.UploadPerRound, r.Seconds, r.SecondsSession)
	for _, warning := range r.Warnings {
		cli.Wrap(w, "warning: ", warning)
	}
	fmt.Fprintf(w, "report.html, results and transcript: %s\n", r.OutDir)
}
