package cli

import (
	"bytes"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/terms"
)

// schema groups the verbs about how columns are encoded.
func (a *App) schema() *cobra.Command {
	return Group("schema", "Write and check the public encoding of the columns",
		a.schemaNew(), a.schemaCheck(), a.schemaInfer())
}

const schemaNewLong = `Write a schema file from the header of a CSV file. The rows only decide the type
of each column, and which common two-valued code it has; ranges of usual columns
come from a dictionary, and the others are left to fill, as "?". Nothing else of
the rows is in the result.`

func (a *App) schemaNew() *cobra.Command {
	return a.schemaWriter("new", "Write a schema from a file's header, with bounds left to fill", schemaNewLong,
		func(rec *dataset.Records, target string) ([]byte, error) {
			d, err := rec.DraftSchema(target)
			if err != nil {
				return nil, err
			}
			if len(d.Open) > 0 {
				fmt.Fprintf(a.Err, "%s to fill in: %q\n", plural(len(d.Open), "column is left", "columns are left"),
					d.Open)
			}
			a.printLeft(d.Left)
			return d.Text, nil
		})
}

// printLeft names the columns that a schema leaves out.
func (a *App) printLeft(columns []string) {
	if len(columns) > 0 {
		fmt.Fprintf(a.Err, "%s%q\n", dataset.LeftOutAs, columns)
	}
}

const schemaInferLong = `Write a schema whose ranges, centres and categories are computed from the rows.
That reveals something about the rows to every member: the result is marked as
not private, and is for trials on data that may be shown. Identifiers, dates,
free text and constants are left out.`

func (a *App) schemaInfer() *cobra.Command {
	return a.schemaWriter("infer", "Write a schema computed from the rows: not private", schemaInferLong,
		func(rec *dataset.Records, target string) ([]byte, error) {
			s, err := rec.InferSchema(target, true)
			if err != nil {
				var other error
				if s, other = rec.InferSchema(target, false); other != nil {
					return nil, err
				}
			}
			a.printLeft(s.LeftOut(rec.Header))
			for _, w := range s.ManyLevels(len(rec.Cells)) {
				Wrap(a.Err, "", w)
			}
			fmt.Fprintln(a.Err, "the bounds come from the rows: not private")
			return s.TOML(), nil
		})
}

func (a *App) schemaWriter(verb, short, long string,
	write func(*dataset.Records, string) ([]byte, error)) *cobra.Command {
	var target, out string
	cmd := &cobra.Command{
		Use: verb + " FILE --target COLUMN", Short: short, Long: long, Args: cobra.ExactArgs(1),
		Example: "  choir schema " + verb + " hospital-a.csv --target died --out schema.toml",
		RunE: func(_ *cobra.Command, args []string) error {
			if target == "" {
				return protocol.Fail(protocol.ClassInput, "target: name the column to predict")
			}
			rec, err := dataset.LoadHeader(args[0])
			if err != nil {
				return err
			}
			text, err := write(rec, target)
			if err != nil {
				return err
			}
			if _, err := os.Stat(out); out != "" && err == nil {
				return protocol.Fail(protocol.ClassInput, "out: %s exists already; remove it, or name another file", out)
			}
			return a.writeOut(out, text)
		},
	}
	cmd.Flags().StringVar(&target, "target", "", "column to predict")
	cmd.Flags().StringVar(&out, "out", "", "file to write; default: stdout")
	return cmd
}

const schemaCheckLong = `Check a file against a schema, at the site that has the file: how many values of
each column are cut to the range, are missing, are categories that the schema
does not list, or would stop the party. SCHEMA is a schema's file or a plan.

What it prints describes private rows. Keep it at the site. The exit code is 0
if a party can run with the file, else 4.`

func (a *App) schemaCheck() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "check SCHEMA FILE", Short: "Check a file against a schema, for its owner", Long: schemaCheckLong,
		Example: "  choir schema check schema.toml hospital-a.csv\n  choir schema check plan.choir hospital-a.csv",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			s, p, err := schemaOf(args[0])
			if err != nil {
				return err
			}
			rec, err := dataset.LoadRecords(args[1])
			if err != nil {
				return err
			}
			c, err := rec.Check(s)
			if err != nil {
				return err
			}
			out := checkedSchema{1, args[1], s.Public(), c.Usable(), "", c}
			if p != nil {
				out.TooFew = terms.TooFew(p, -1, c.Rows)
			}
			if err := a.Print(format, out, func() { a.printCheck(out, s) }); err != nil {
				return err
			}
			if !c.Usable() {
				return WithHint(protocol.Fail(protocol.ClassInput, "data: %s can't be used with this schema", args[1]),
					remedy(c, s))
			}
			return nil
		},
	}
	FormatFlag(cmd, &format)
	return cmd
}

// remedy is what to do about a file that can't be used. What a schema has agreed on already is none.
func remedy(c *dataset.Check, s *dataset.Schema) string {
	if slices.ContainsFunc(c.Columns, absent) {
		return "the first line must name the columns as the schema does"
	}
	hint := "mend the values"
	if s.Missing == dataset.Refuse {
		hint += ", or agree on missing = \"zero\" for features"
	}
	if s.Unseen == dataset.Refuse {
		hint += ", or list the categories, or agree on unseen = \"zero\" for features"
	}
	return hint
}

func absent(k dataset.ColumnCheck) bool { return k.Absent }

// checkedSchema is what --format json prints.
type checkedSchema struct {
	SchemaVersion int    `json:"schema_version"`
	File          string `json:"file"`
	Public        bool   `json:"public"` // the schema claims not to depend on the rows
	Usable        bool   `json:"usable"`
	TooFew        string `json:"too_few,omitempty"` // a warning of fewer rows than the plan counts on
	*dataset.Check
}

// schemaOf reads a schema's file, or a plan and its schema.
func schemaOf(path string) (*dataset.Schema, *protocol.Plan, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, protocol.Fail(protocol.ClassInput, "schema: %w", err)
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("-----BEGIN CHOIR PLAN")) {
		return terms.SchemaOfPlan(path)
	}
	s, err := terms.ReadSchema(path)
	return s, nil, err
}

func (a *App) printCheck(c checkedSchema, s *dataset.Schema) {
	fmt.Fprintf(a.Out, "%s; for the owner's eyes only\n\n", plural(c.Rows, "row", "rows"))
	rows := [][]string{{"column", "cut", "missing", "unlisted", "refused"}}
	share := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprintf("%d (%.3g%%)", n, 100*float64(n)/float64(c.Rows))
	}
	for _, k := range c.Columns {
		if k.Absent {
			rows = append(rows, []string{k.Column, "absent", "", "", ""})
			continue
		}
		rows = append(rows, []string{k.Column, share(k.Clipped), share(k.Missing), share(k.Unseen),
			share(k.Refused)})
	}
	var b bytes.Buffer
	writeAligned(&b, rows)
	_, _ = a.Out.Write(b.Bytes())
	fmt.Fprintln(a.Out)
	for _, remark := range c.Remarks() {
		Wrap(a.Out, "", remark+".")
	}
	if c.TooFew != "" {
		Wrap(a.Out, "warning: ", c.TooFew)
	}
	if tail := dataset.LongTail(s.Target.Name, c.Skewness); tail != "" {
		Wrap(a.Out, "", tail+".")
	}
	if c.Dropped > 0 {
		Wrap(a.Out, "", fmt.Sprintf("%d rows are left out for a missing value.", c.Dropped))
	}
	if len(c.Ignored) > 0 {
		Wrap(a.Out, "", fmt.Sprintf("The schema doesn't use %q.", c.Ignored))
	}
	if !s.Public() {
		Wrap(a.Out, "", "The schema isn't public: "+s.Source+".")
	}
}
