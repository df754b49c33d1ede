package cli

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"choir/internal/atomicfile"
	"choir/session/result"
)

const statsLong = `Print the tables of a session whose plan has a section [table]: counts, shares,
means, standard deviations, histograms with quantiles, and contingency tables.
For a section [shuffle]: how many reports each value has, and what follows from
them. DIR is the aggregator's folder with the results.

Every interval includes the privacy noise. Those of counts are about the records
themselves; those of shares, means, deviations and quantiles also include that
the records are a sample.`

// Stats prints the tables of a session.
func (a *App) Stats() *cobra.Command {
	level, format, out := 0.95, "text", ""
	cmd := &cobra.Command{
		Use: "stats DIR", Short: "Print tables with intervals that include the noise", Long: statsLong,
		Example: "  choir stats result\n  choir stats result --level 0.9 --format csv --out table1.csv",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: folderArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := OneOf("format", format, "text", "json", "csv", "markdown"); err != nil {
				return err
			}
			t, err := result.FolderTables(args[0], level)
			if err != nil {
				return modelHint(args[0], err)
			}
			b, err := tablesAs(format, t)
			if err != nil {
				return err
			}
			return a.writeOut(out, b)
		},
	}
	s := cmd.Flags()
	s.Float64Var(&level, "level", level, "probability of the intervals, in (0, 1)")
	s.StringVar(&format, "format", format, "output format: text, json, csv or markdown")
	s.StringVar(&out, "out", "", "file to write; default: stdout")
	Values(cmd, "format", "text", "json", "csv", "markdown")
	return cmd
}

func tablesAs(format string, t *result.Tables) ([]byte, error) {
	switch format {
	case "json":
		return atomicfile.EncodeJSON(t)
	case "csv":
		return atomicfile.EncodeCSV(t.CSV())
	}
	var b bytes.Buffer
	head := []string{"table", "statistic", "value", "lower", "upper"}
	var rows [][]string
	for _, r := range t.Rows {
		name := r.Table
		if r.Level != "" {
			name += " = " + r.Level
		}
		if r.Group != "" {
			name = t.By + " " + r.Group + ": " + name
		}
		rows = append(rows, []string{name, r.Statistic, figure(r.Value), figure(r.Lower), figure(r.Upper)})
	}
	about := fmt.Sprintf("%g%% intervals, privacy noise included; a count has noise of standard deviation %.3g.",
		100*t.Level, t.NoiseSD)
	if t.LocalEpsilon > 0 {
		about = fmt.Sprintf("%g%% intervals, the randomness of reports included. Epsilon %.4g for one report by "+
			"its own randomness, against everybody together.", 100*t.Level, t.LocalEpsilon)
	}
	if t.Epsilon > 0 {
		about += fmt.Sprintf(" Epsilon %g at delta %g for one record, over all tables together.", t.Epsilon,
			t.Delta)
	} else {
		about += " The plan claims no epsilon."
	}
	if format == "markdown" {
		fmt.Fprintf(&b, "%s\n\n", markdown(about))
		writeMarkdown(&b, head, rows)
		return b.Bytes(), nil
	}
	Wrap(&b, "", about)
	fmt.Fprintln(&b)
	writeAligned(&b, append([][]string{head}, rows...))
	return b.Bytes(), nil
}

// figure is a number with four significant digits, or all digits of a whole part.
func figure(v float64) string {
	if v >= 1e4 || v <= -1e4 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', 4, 64), "e-0", "e-", 1)
}
