package study

import (
	"fmt"
	"strings"
)

// Page is the document of all results: docs/results.md. figures is the path from the
// document to the folder with the results. Everything in it comes from them.
func Page(all []*Result, figures string) string {
	var b strings.Builder
	b.WriteString(preface)
	b.WriteString("\n## All at a glance\n\n| experiment | figures | reproduced | better | worse | not reproducible | bars reached |\n|---|---|---|---|---|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(&b, "| [%s](#%s) | %s |\n", r.Name, anchor(r.Name), r.Summary())
	}
	for _, r := range all {
		b.WriteString("\n" + r.section(figures))
	}
	return b.String()
}

const preface = `# Results

The papers' tables and figures, repeated by Choir, with the published number beside
ours. This page is written by ` + "`choir experiment report`" + ` from the results in
[figures/results](figures/results); a test holds it to them.

- Every figure of ours is a mean (or a median, where it says so) over seeds 1, 2, 3, ...; a seed fixes the split of the data
  and the noise. The number in brackets is its standard error.
- "reproduced" means that the difference is within the 95 % interval of Student's t for our mean, widened by the precision
  with which the published number could be read; "better" and "worse" lie outside. The papers' own errors aren't counted.
- A bar is what this project set out to reach, not a published number.
- Every epsilon is an accountant's upper bound for the noise that was really added (docs/privacy.md), on integers.
- Hyper-parameters were chosen by the scores on the test half of the same data, as the papers did. No ledger charges
  for that, so these epsilons cover the learning and not the choice. Where none was chosen on the rows that are scored, the study says so.

Not reproducible here: Paper IV's Figure 2 and Figure 5 (MIMIC-III) and Paper I's Figure 3 (GDSC), whose data we don't have. Paper I's Table 1 is ` + "`choir bench table1`" + `, with its results
in [benchmarks](benchmarks/README.md). A study that ` + "`choir experiment list`" + ` names and this page lacks hasn't been run in full: no figure of it is claimed.

Repeat any of them with ` + "`choir experiment run NAME --seeds 5`" + `; the data sets are in the program, or in the folder that ` + "`$CHOIR_DATA`" + ` names.

What it takes, in seconds of one processor for a seed (one of two cores of a small machine of 2026, in memory), and what was run from a fresh clone, for one seed: there every row
came out as the page's first seed, within 1e-7 (within their four digits where the page keeps four), but for thesis-regression, whose noise depends on the number of problems: its medians of ten problems lie between the quartiles of the page's fifty.

| experiment | seconds a seed | run from a fresh clone |
|---|---|---|
| noisy-factors | 49 | all of it |
| own-generated | 36 | all of it |
| own-randhie | 33 | all of it |
| paper1-figure1b | 1 | all of it |
| paper1-figure2 | 8 | all of it |
| paper4-adult | 239 | all of it |
| paper4-adult-half, DP optimisation | 15 | all of it |
| paper4-adult-others | 60 | all of it |
| paper4-adult200 | 60 | all of it |
| paper4-adult8020 | 177 | all of it |
| paper4-bnn, DP optimisation | 80 | all of it |
| paper4-bnn, global VI on one split | 33 | all of it |
| paper4-bnn, virtual clients on one split | 43 | all of it |
| paper4-bnn, local averaging on one split | 29 | all of it |
| paper4-bnn, both committees | 57 | all of it |
| thesis-regression | 56 | all of it |
| workshop-table5, DP-PVI with our steps | 47 | all of it |
`

func anchor(s string) string { return strings.ReplaceAll(strings.ToLower(s), " ", "-") }

func (r *Result) section(figures string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n**%s.** Source: %s.\n\n", r.Name, r.Title, r.Source)
	for _, p := range r.About {
		b.WriteString(p + "\n\n")
	}
	b.WriteString(r.Table() + "\n")
	if len(r.Spent) > 0 {
		b.WriteString(r.SpentTable() + "\n")
	}
	for i := range r.Figures() {
		fmt.Fprintf(&b, "![%s](%s.svg)\n\n", r.Title, r.FigureBase(figures, i))
	}
	for _, n := range r.Notes {
		b.WriteString(n + "\n\n")
	}
	fmt.Fprintf(&b, "Settings: %d seed%s, transport %s", r.Seeds, plural(r.Seeds), r.Transport)
	for _, s := range r.Settings {
		fmt.Fprintf(&b, "; %s %s", s.Name, s.Value)
	}
	fmt.Fprintf(&b, ".\n\nRepeat: `choir experiment run %s --seeds %d`. Files: [JSON](%[3]s/%[1]s.json), [CSV](%[3]s/%[1]s.csv).\n", r.Name, r.Seeds, figures)
	return b.String()
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
