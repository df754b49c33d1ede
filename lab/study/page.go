package study

import (
	"fmt"
	"strings"
)

// Results are the result's findings in Markdown: its figures, tables and remarks. figures is
// the path from the page to the folder with the results.
func (r *Result) Results(figures string) string {
	var b strings.Builder
	b.WriteString(r.Summary() + "\n\n")
	for i := range r.Figures() {
		fmt.Fprintf(&b, "![%s](%s.svg)\n\n", r.Title, r.FigureBase(figures, i))
	}
	b.WriteString(r.Table() + "\n")
	if len(r.Calibration) > 0 {
		b.WriteString(wrap(CalibrationText, "") + "\n\n" + r.CalibrationTable() + "\n")
	}
	if len(r.Spent) > 0 {
		b.WriteString(r.SpentTable() + "\n")
	}
	for _, n := range r.Notes {
		b.WriteString(wrap(n, "") + "\n\n")
	}
	return b.String()
}

// Details are the settings, how to repeat the study, and where its files are.
func (r *Result) Details(figures string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Settings\n\n%d seed%s, transport %s.\n\n", r.Seeds, plural(r.Seeds), r.Transport)
	if len(r.Calibration) > 0 && r.Transport == clear {
		b.WriteString("Sums in the clear have the noise of a session's parties: on the integers they are\n" +
			"the session's (`TestClearIsTheSession`).\n\n")
	}
	for _, s := range r.Settings {
		b.WriteString(wrap("- "+s.Name+": "+s.Value, "  ") + "\n")
	}
	fmt.Fprintf(&b, "\nRepeat: `choir experiment run %s --seeds %d`.\nFiles: [JSON](%[3]s/%[1]s.json), "+
		"[CSV](%[3]s/%[1]s.csv).\n",
		r.Name, r.Seeds, figures)
	return b.String()
}

// clear sums without a protocol; see package bed.
const clear Transport = "clear"

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// wrap breaks a paragraph into lines of at most 116 bytes, all but the first indented.
func wrap(text, indent string) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case used+1+len(word) > 116:
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += len(word)
	}
	return b.String()
}
