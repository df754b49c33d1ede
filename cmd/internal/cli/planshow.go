package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"choir/protocol"
	"choir/session/terms"
)

// showPlan prints the terms of a plan.
func (a *App) showPlan(format string, sp *protocol.SignedPlan) error {
	s, err := terms.Summarise(sp)
	if err != nil {
		return err
	}
	return a.Print(format, s, func() { printPlan(a.Out, s) })
}

// printPlan is the plan as text for those who sign it.
func printPlan(w io.Writer, s *terms.Summary) {
	row := func(name, format string, args ...any) {
		Wrap(w, fmt.Sprintf("%-15s", name), fmt.Sprintf(format, args...))
	}
	row("plan", "%s", s.Plan)
	row("name", "%s", s.Name)
	row("valid", "%s to %s", s.Created.Format(time.RFC3339), s.NotAfter.Format(time.RFC3339))
	row("suite", "%s", s.Suite)
	printAfter(row, s)
	shared := ""
	if s.Paired {
		shared = ", two to a field element"
	}
	row("application", "%s, %d numbers on the grid 2^-%d%s", s.Application, s.Dim, s.FracBits, shared)
	row("rounds", "%d, and %s", s.Rounds, plural(int(s.SpareAttempts), "spare attempt", "spare attempts"))
	row("smallest set", "%d of %d parties; up to %d may collude", s.MinParties, s.Parties, s.Colluders)
	row("deadline", "%s, grace %s", time.Duration(s.DeadlineMS)*time.Millisecond,
		time.Duration(s.GraceMS)*time.Millisecond)
	if s.Audit {
		row("audit", "every sum is opened against the parties' commitments")
	}
	printPrivacy(row, s)
	row("a round costs", "about %d bytes up and %d down for a party, %d down for a compute node; %.2g s and "+
		"%.2g s of vectors",
		s.Cost.UploadPerParty, s.Cost.DownloadPerParty, s.Cost.DownloadPerCompute, s.Cost.SecondsPerParty,
		s.Cost.SecondsPerCompute)
	row("one party", "%s", reachText(s.Reach, s.Reports))
	printParameters(w, s.Parameters)
	printSettings(w, s)
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "member\trole\tfingerprint\tuntil\t")
	for _, m := range s.Members {
		signed := "unsigned"
		if m.Signed {
			signed = "signed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", m.Name, m.Role, m.Fingerprint,
			m.NotAfter.Format(time.DateOnly), signed)
	}
	_ = t.Flush() // w reports its errors elsewhere
}

// printAfter prints where a successor plan goes on from.
func printAfter(row func(name, format string, args ...any), s *terms.Summary) {
	a := s.After
	if a == nil {
		return
	}
	row("goes on from", "round %d of plan %s (%s), %s in all; %s charged", a.Round, a.Plan[:16], a.Name,
		plural(int(a.Rounds), "round", "rounds"), plural(int(a.Attempts), "attempt", "attempts"))
	if len(a.Joined) > 0 {
		row("new", "%s", strings.Join(a.Joined, " "))
	}
	if len(a.Left) > 0 {
		row("gone", "%s", strings.Join(a.Left, " "))
	}
	for _, lost := range a.Less {
		row("less", "%s", lost)
	}
	if a.Spent > 0 {
		row("spent before", "epsilon %.6g, which is part of the budget below", a.Spent)
	}
}

// printSettings lists the settings of the learning with where they come from, and what is to
// be feared of them.
func printSettings(w io.Writer, s *terms.Summary) {
	if len(s.Settings) > 0 {
		fmt.Fprintln(w)
	}
	for _, p := range s.Settings {
		if p.Source != "default" {
			Wrap(w, fmt.Sprintf("%-16s%-11s", p.Name, p.Value), p.Source)
		}
	}
	for _, warning := range s.Warnings {
		Wrap(w, "warning: ", warning)
	}
}

func printPrivacy(row func(name, format string, args ...any), s *terms.Summary) {
	switch {
	case s.Noise == "none":
		row("privacy", "no noise: the sums are exact, and claim no epsilon")
	case s.Reports != nil:
		row("reports", "%s", reportsText(s.Reports))
	default:
		row("noise", "standard deviation %.6g by each %s", s.NoiseStd, s.Noise)
	}
	if s.Epsilon > 0 {
		row("privacy", "(%g, %g) over all, %s; %s %.6g", s.Epsilon, s.Delta, s.Relation,
			plural(int(s.Releases), "release spends", "releases spend"), s.Spends)
	}
	if s.Epsilon > 0 && s.Reports == nil {
		row("clip", "%.6g; one record moves a sum by at most %.6g", s.Clip, s.Sensitivity)
	}
	if s.NoiseUse != nil {
		row("noise on a sum", "%s", noiseText(s.NoiseUse))
	}
}
