package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"choir/session/terms"
)

// printGuarantees is the table of adversaries, the cost and the noise.
func printGuarantees(w io.Writer, g *terms.Guarantees) {
	if len(g.Layers) > 0 {
		fmt.Fprintf(w, "epsilon at delta %g over all rounds, by adversary (budget %g; * is promised by the plan)\n\n", g.Delta, g.Budget)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "\tadversary\tset\tcolluding parties\tsilent\tnodes\tone record\tone party\twhat it sees")
		for _, l := range g.Layers {
			mark := ""
			if l.Tolerated {
				mark = "*"
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", mark, l.Adversary, l.Attendance, l.Parties, l.Silent, l.Computes, epsilonText(l.Sample), epsilonText(l.Party), l.Seen)
		}
		_ = t.Flush() // stdout's own errors show nowhere better
		fmt.Fprintf(w, "\nnoise on a sum: standard deviation %.6g, %.3g clips, %.3g times a trusted aggregator's, %.3g of local noise's\n", g.Noise.Std, g.Noise.PerClip, g.Noise.Trusted, g.Noise.Local)
	}
	fmt.Fprintf(w, "a round: a party sends about %d bytes and reads %d, a compute node reads %d; about %.2g s of a party and %.2g s of a node go into the vectors; %d rounds\n",
		g.Cost.UploadPerParty, g.Cost.DownloadPerParty, g.Cost.DownloadPerCompute, g.Cost.SecondsPerParty, g.Cost.SecondsPerCompute, g.Cost.Rounds)
	for _, s := range g.Assumptions {
		fmt.Fprintf(w, "assumes: %s\n", s)
	}
}

func epsilonText(e *float64) string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf("%.4g", *e)
}
