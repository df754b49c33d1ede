package cli

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"choir/internal/atomicfile"
	"choir/session/result"
)

// Model groups the verbs about a trained model.
func (a *App) Model() *cobra.Command {
	return Group("model", "Show a trained model, or export it from a store", a.modelShow(), a.modelExport())
}

const modelShowLong = `Print the coefficients of the model in DIR, a demonstration's folder or the
folder with a session's results, on the original scale of the columns: the
change of the target for one unit of a column, or of its log-odds for a logistic
model, which also has odds ratios; for a category, against a row with none of
the column's categories. The intercept is the prediction for zeros. Below it are
the differences of each category's levels from its first one.

Each coefficient has its mean, standard deviation and central interval; a line
states whether these include the privacy noise, in which case they don't lean on
the prior's mean either. A star marks about the prior's interval: the standard
deviation is at least 95 % of the prior's, or the 95 % interval has at least
90 % of the prior's mass.`

func (a *App) modelShow() *cobra.Command {
	level, format, out := 0.95, "text", ""
	cmd := &cobra.Command{
		Use: "show DIR", Short: "Print a model's coefficients on the original scale", Long: modelShowLong,
		Example: "  choir model show choir-out/2026-11-22T13-00-00\n" +
			"  choir model show result --level 0.9 --format csv --out coefficients.csv",
		Args: cobra.ExactArgs(1), ValidArgsFunction: folderArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := OneOf("format", format, "text", "json", "csv", "markdown", "html"); err != nil {
				return err
			}
			c, err := result.FolderCoefficients(args[0], level)
			if err != nil {
				return modelHint(args[0], err)
			}
			b, err := coefficientsAs(format, c)
			if err != nil {
				return err
			}
			return a.writeOut(out, b)
		},
	}
	s := cmd.Flags()
	s.Float64Var(&level, "level", level, "probability of the intervals, in (0, 1)")
	s.StringVar(&format, "format", format, "output format: text, json, csv, markdown or html")
	s.StringVar(&out, "out", "", "file to write; default: stdout")
	Values(cmd, "format", "text", "json", "csv", "markdown", "html")
	return cmd
}

// resultFolder is which folders have a session's results, and the one that a folder has.
func resultFolder(dir string) string {
	folder := "a demonstration's folder or the aggregator's out_dir"
	if own := filepath.Join(dir, "result"); result.IsFolder(own) {
		folder += ", here " + own
	}
	return folder
}

// modelHint adds a next step to an error about a folder's model.
func modelHint(dir string, err error) error {
	switch {
	case errors.Is(err, result.ErrNoModel), errors.Is(err, fs.ErrNotExist):
		return WithHint(err, "name "+resultFolder(dir))
	case errors.Is(err, result.ErrIsProgram):
		return WithHint(err, "only the program that computes the model can predict; model.csv has its weights")
	case errors.Is(err, result.ErrIsSum):
		return WithHint(err, "model.csv has the sum; choir stats DIR shows the tables of a plan with [table] "+
			"or [shuffle]")
	case errors.Is(err, result.ErrNoCoefficients):
		return WithHint(err, "choir predict --model DIR/model.json --data NEW.csv predicts with it")
	}
	return err
}

func coefficientsAs(format string, c *result.Coefficients) ([]byte, error) {
	switch format {
	case "json":
		return atomicfile.EncodeJSON(c)
	case "csv":
		return atomicfile.EncodeCSV(c.CSV())
	}
	var b bytes.Buffer
	head, rows := coefficientTable(c)
	about := coefficientsAbout(c)
	notes := coefficientNotes(c)
	if format == "html" {
		writePage(&b, about, c.Warnings, head, rows, notes)
		return b.Bytes(), nil
	}
	if format == "markdown" {
		fmt.Fprintf(&b, "%s\n\n", markdown(about))
		for _, w := range c.Warnings {
			fmt.Fprintf(&b, "**Warning:** %s\n\n", markdown(w))
		}
		writeMarkdown(&b, head, rows)
		for _, n := range notes {
			fmt.Fprintf(&b, "\n%s\n", markdown(n))
		}
		return b.Bytes(), nil
	}
	writeText(&b, c, about, head, rows, notes)
	return b.Bytes(), nil
}

// writeText writes the tables for a terminal, with the warnings above them.
func writeText(b *bytes.Buffer, c *result.Coefficients, about string, head []string, rows [][]string,
	notes []string) {
	Wrap(b, "", about)
	for _, w := range c.Warnings {
		Wrap(b, "Warning: ", w)
	}
	fmt.Fprintln(b)
	writeAligned(b, columns(head, rows, 0, 1, 2, 3, 4))
	fmt.Fprintln(b)
	if c.Logistic() {
		ratios := slices.Delete(slices.Clone(rows), len(c.Coefficients)-1, len(c.Coefficients)) // no intercept
		writeAligned(b, columns(head, ratios, 0, 5, 6, 7))
		fmt.Fprintln(b)
	}
	for _, n := range notes {
		Wrap(b, "", n)
	}
}

// coefficientsAbout describes what the numbers are.
func coefficientsAbout(c *result.Coefficients) string {
	level := strconv.FormatFloat(100*c.Level, 'g', 10, 64)
	if c.Logistic() {
		return fmt.Sprintf("Logistic model: change of the log-odds of %s=%s for one unit of a column, with %s%% "+
			"intervals.", c.Target, c.Positive, level)
	}
	return fmt.Sprintf("Linear model: change of %s for one unit of a column, with %s%% intervals.",
		c.Target, level)
}

func coefficientNotes(c *result.Coefficients) []string {
	notes := []string{"Intervals: " + c.NoiseNote + "."}
	if c.ObservationNote != "" {
		notes = append(notes, "Noise of an observation: "+c.ObservationNote+".")
	}
	if c.LevelsNote != "" {
		notes = append(notes, "Levels: "+c.LevelsNote+".")
	}
	if !c.PriorCompared {
		return append(notes, "The folder has no plan: nothing is compared with the prior.")
	}
	for _, k := range c.Coefficients {
		if k.PriorOnly {
			return append(notes, "* about the prior's interval: the session told of it what the prior does, or less.")
		}
	}
	return notes
}

// coefficientTable is the table for people; the mark of the prior is after the name.
func coefficientTable(c *result.Coefficients) (head []string, rows [][]string) {
	head = []string{"column", "mean", "sd", "lower", "upper"}
	if c.Logistic() {
		head = append(head, "odds ratio", "lower", "upper")
	}
	for i, k := range c.Rows() {
		name := k.Name
		if k.PriorOnly {
			name += " *"
		}
		row := []string{name, short(&k.Mean), short(&k.SD), short(&k.Lower), short(&k.Upper)}
		switch {
		case c.Logistic() && i == len(c.Coefficients)-1: // the intercept
			row = append(row, "", "", "")
		case c.Logistic():
			row = append(row, short(k.OddsRatio), short(k.OddsRatioLower), short(k.OddsRatioUpper))
		}
		rows = append(rows, row)
	}
	return head, rows
}

// short is a number with four significant digits; nil is too large for one.
func short(v *float64) string {
	if v == nil {
		return ">1e308"
	}
	return strconv.FormatFloat(*v, 'g', 4, 64)
}

// columns selects columns of a table, its head first.
func columns(head []string, rows [][]string, which ...int) [][]string {
	var out [][]string
	for _, row := range append([][]string{head}, rows...) {
		var cells []string
		for _, i := range which {
			cells = append(cells, row[i])
		}
		out = append(out, cells)
	}
	return out
}

// writeAligned writes a table, numbers aligned on the right.
func writeAligned(b *bytes.Buffer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := row[0] + strings.Repeat(" ", width[0]-utf8.RuneCountInString(row[0]))
		for i, cell := range row[1:] {
			line += strings.Repeat(" ", 2+width[i+1]-utf8.RuneCountInString(cell)) + cell
		}
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
}

// writeMarkdown writes a table, numbers aligned on the right.
func writeMarkdown(b *bytes.Buffer, head []string, rows [][]string) {
	fmt.Fprintf(b, "| %s |\n|---|%s\n", strings.Join(head, " | "), strings.Repeat("--:|", len(head)-1))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = markdown(cell)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

// writePage writes a page with one table, the warnings above it.
func writePage(b *bytes.Buffer, about string, warnings, head []string, rows [][]string, notes []string) {
	row := func(tag string, cells []string) {
		b.WriteString("<tr>")
		for _, cell := range cells {
			fmt.Fprintf(b, "<%s>%s</%[1]s>", tag, html.EscapeString(cell))
		}
		b.WriteString("</tr>\n")
	}
	fmt.Fprintf(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"+
		"<title>Coefficients</title>\n<style>td + td { text-align: right }</style>\n</head>\n<body>\n"+
		"<p>%s</p>\n", html.EscapeString(about))
	for _, w := range warnings {
		fmt.Fprintf(b, "<p><strong>Warning:</strong> %s</p>\n", html.EscapeString(w))
	}
	b.WriteString("<table>\n")
	row("th", head)
	for _, cells := range rows {
		row("td", cells)
	}
	b.WriteString("</table>\n")
	for _, n := range notes {
		fmt.Fprintf(b, "<p>%s</p>\n", html.EscapeString(n))
	}
	b.WriteString("</body>\n</html>\n")
}

// markdown escapes what has a meaning in Markdown.
func markdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`,
		"&", "&amp;").Replace(text)
}
