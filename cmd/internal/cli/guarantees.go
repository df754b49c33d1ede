package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"choir/session/terms"
)

// uselessBound is the epsilon from which on a bound on a whole party's data is
// shown as none.
const uselessBound = 100

// printGuarantees is the table of adversaries, the cost and the noise.
func printGuarantees(w io.Writer, g *terms.Guarantees, all, wide bool) {
	if len(g.Layers) > 0 {
		fmt.Fprintf(w, "epsilon at delta %g over all rounds, by adversary; the budget is %g\n", g.Delta, g.Budget)
		fmt.Fprintf(w, "* the plan promises to stay within the budget\n\n")
		layers := g.Layers
		if !all {
			layers = g.Promised()
		}
		if wide {
			wideLayers(w, layers)
		} else {
			narrowLayers(w, layers)
		}
		fmt.Fprintln(w)
		if g.Reports != nil {
			Wrap(w, "reports: ", reportsText(g.Reports))
		} else {
			Wrap(w, "noise on a sum: ", noiseText(&g.Noise))
		}
	}
	Wrap(w, "a round: ", fmt.Sprintf("a party sends about %d bytes and reads %d, a compute node reads %d; "+
		"the vectors take a party about %.2g s and a node %.2g s; %s",
		g.Cost.UploadPerParty, g.Cost.DownloadPerParty, g.Cost.DownloadPerCompute,
		g.Cost.SecondsPerParty, g.Cost.SecondsPerCompute, plural(g.Cost.Rounds, "round", "rounds")))
	Wrap(w, "one party: ", reachText(g.Reach, g.Reports))
	for _, s := range g.Assumptions {
		Wrap(w, "assumes: ", s)
	}
	for _, s := range g.Warnings {
		Wrap(w, "warning: ", s)
	}
}

func noiseText(u *terms.NoiseUse) string {
	return fmt.Sprintf("standard deviation %.6g, %.3g clips, %.3g times a trusted aggregator's, %.3g times "+
		"local noise's",
		u.Std, u.PerClip, u.Trusted, u.Local)
}

// reportsText describes what shuffled reports are.
func reportsText(r *terms.ReportUse) string {
	by := ""
	if r.Backend == terms.BackendMix {
		by = "; a mix-net carries each"
	}
	if r.Randomiser == terms.RandomiserLaplace {
		return fmt.Sprintf("each of %s of a record gets discrete Laplace noise on %d levels; alone it keeps "+
			"epsilon %.4g at delta 0; a mean gets a standard deviation of %.2g of its range%s",
			plural(int(r.Columns), "column", "columns"), r.Categories, r.Local, r.ShareSD, by)
	}
	return fmt.Sprintf("each of %s of a record is random with probability %.4g, and has up to %d values; "+
		"alone it keeps epsilon %.4g at delta 0; the share of a rare value gets a standard deviation of %.2g%s",
		plural(int(r.Columns), "column", "columns"), r.Gamma, r.Categories, r.Local, r.ShareSD, by)
}

// reachText tells how far one party can move a result.
func reachText(r terms.Reach, reports *terms.ReportUse) string {
	if reports != nil && reports.Backend == terms.BackendMix {
		return "a dishonest one can send reports of its choice, as many as an honest one may"
	}
	return fmt.Sprintf("a dishonest one can move a sum by at most %.3g times the largest honest update, %.3g "+
		"times if the sum's norm were not checked; a false update within the bound is not noticed; beyond it the "+
		"round is lost, with its share of the budget, and nobody can tell whose update it was",
		r.Checked, r.Unchecked)
}

// narrowLayers is the table in lineWidth columns; what an adversary sees is in
// the notes below it.
func narrowLayers(w io.Writer, layers []terms.Layer) {
	var notes []string
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tadversary\tset\tone record\tone party\tsees")
	for _, l := range layers {
		n := slices.Index(notes, l.Seen)
		if n < 0 {
			n = len(notes)
			notes = append(notes, l.Seen)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t(%d)\n", mark(l), adversaryText(l.Adversary), l.Attendance,
			epsilonText(l.Sample), usefulText(l.Party), n+1)
	}
	_ = t.Flush() // w reports its errors elsewhere
	for i, note := range notes {
		Wrap(w, fmt.Sprintf("(%d) ", i+1), note)
	}
}

func wideLayers(w io.Writer, layers []terms.Layer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tadversary\tset\tcolluding parties\tsilent\tnodes\tone record\tone party\tsees")
	for _, l := range layers {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", mark(l), adversaryText(l.Adversary), l.Attendance,
			l.Parties,
			l.Silent, l.Computes, epsilonText(l.Sample), epsilonText(l.Party), l.Seen)
	}
	_ = t.Flush() // w reports its errors elsewhere
}

func mark(l terms.Layer) string {
	if l.Tolerated {
		return "*"
	}
	return ""
}

// adversaryText is an adversary in correct number.
func adversaryText(s string) string {
	return strings.NewReplacer(" and 1 colluding parties", " and 1 colluding party",
		", 1 others silent", ", 1 other silent",
		" and 0 colluding parties", " and no colluding party").Replace(s)
}

func epsilonText(e *float64) string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf("%.4g", *e)
}

// usefulText is an epsilon, unless it is too large to mean anything.
func usefulText(e *float64) string {
	if e != nil && *e >= uselessBound {
		return "no useful bound"
	}
	return epsilonText(e)
}
