package trial

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"choir/internal/config"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/terms"
)

// exampleSchema describes the example data: who is in hospital again within a month.
const exampleSchema = `source = "public: example data"
missing = "zero"
unseen = "zero"

[target]
readmitted = ["no", "yes"]

[columns]
age = { lo = 18, hi = 100, center = 60, scale = 17 }
sex = ["female", "male"]
bmi = { lo = 12, hi = 60, center = 27, scale = 5 }
sbp = { lo = 60, hi = 240, center = 130, scale = 20 }
creatinine = { lo = 0.2, hi = 12, center = 1.1, scale = 0.5 }
smoker = [0, 1]
`

// Records of the example: parties have between 400 and 600.
const (
	exampleLeast  = 400
	exampleMore   = 100
	exampleTest   = 300
	exampleSignal = 2
	exampleSeed   = 4
	exampleHeld   = 1000 // the part that is for testing
)

// read reads the parties' files, or draws the example.
func (c *consortium) read() (err error) {
	if len(c.Data) == 0 {
		return c.example()
	}
	for _, path := range c.Data {
		rec, err := dataset.LoadRecords(path)
		if err != nil {
			return protocol.Fail(protocol.ClassInput, "data: %w", err)
		}
		c.rows = append(c.rows, rec)
	}
	switch {
	case c.Schema != "":
		c.schema, err = terms.ReadSchema(c.Schema)
	case c.Config != "":
		c.schema, err = terms.SchemaOf(c.Config)
	default:
		return c.infer()
	}
	switch {
	case err != nil:
		return err
	case c.schema == nil: // a plan of sums
		return c.infer()
	}
	if c.Target != "" && c.Target != c.schema.Target.Name {
		return protocol.Fail(protocol.ClassInput, "target: %q, but the schema's is %q", c.Target,
			c.schema.Target.Name)
	}
	return c.fits()
}

// example draws the parties' records by the plan file's schema, or by the example's.
func (c *consortium) example() error {
	if err := c.drawnBy(); err != nil {
		return err
	}
	t := dataset.Twins{Schema: c.schema, Signal: exampleSignal, Seed: exampleSeed}
	var err error
	for i := range c.Parties {
		rows, err := t.Records(uint64(i), exampleLeast+exampleMore*(i%3))
		if err != nil {
			return err
		}
		c.rows = append(c.rows, rows)
	}
	c.test, err = t.Records(exampleHeld, exampleTest)
	return err
}

// drawnBy finds the schema of records that are drawn. That of the example takes the place of a plan
// file's that is not there.
func (c *consortium) drawnBy() (err error) {
	if c.Config != "" {
		if c.schema, err = terms.SchemaOf(c.Config); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && c.schema != nil {
			return nil
		}
		if _, err := os.Stat(c.Config); err != nil {
			return protocol.Fail(protocol.ClassInput, "config: %w", err)
		}
		c.warnings = append(c.warnings, "the plan file's schema is not there, so the columns are those of the "+
			"example: name files of yours with --data")
	}
	c.fallback = true
	c.schema, err = dataset.ParseTOML([]byte(exampleSchema))
	return err
}

// infer computes the schema from all rows.
func (c *consortium) infer() error {
	if c.Target == "" {
		return protocol.Fail(protocol.ClassInput, "target: name the column to predict, or a schema with --schema")
	}
	all, err := dataset.Join(c.rows...)
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	if c.schema, err = all.InferSchema(c.Target, true); err != nil {
		var other error
		if c.schema, other = all.InferSchema(c.Target, false); other != nil {
			return protocol.Fail(protocol.ClassInput, "data: %w", err)
		}
	}
	if left := c.schema.LeftOut(all.Header); len(left) > 0 {
		c.warnings = append(c.warnings, dataset.LeftOutAs+dataset.List(left))
	}
	c.warnings = append(c.warnings, c.schema.ManyLevels(len(all.Cells))...)
	c.warnings = append(c.warnings,
		"the schema was computed from the rows, which is not private: for more than a "+
			"trial, write one with choir schema new and give it with --schema")
	return c.fits()
}

// fits refuses files that the schema doesn't fit, all of them at once.
func (c *consortium) fits() error {
	var bad []string
	tail := ""
	for i, rec := range c.rows {
		check, err := rec.Check(c.schema)
		if err != nil {
			return err
		}
		tail = cmp.Or(tail, dataset.LongTail(c.schema.Target.Name, check.Skewness))
		if check.Usable() {
			for _, remark := range check.Remarks() {
				c.warnings = append(c.warnings, filepath.Base(c.Data[i])+", "+remark)
			}
			continue
		}
		why := "no rows are left"
		for _, k := range check.Columns {
			if k.Absent {
				why = fmt.Sprintf("column %q: %s", k.Column, k.Cause)
				break
			}
			if k.Refused > 0 {
				why = fmt.Sprintf("line %d, column %q: %s", k.Line, k.Column, k.Cause)
				break
			}
		}
		bad = append(bad, filepath.Base(c.Data[i])+", "+why)
	}
	if len(bad) > 0 {
		return protocol.Fail(protocol.ClassInput, "data: %s; choir schema check SCHEMA FILE lists all",
			strings.Join(bad, "; "))
	}
	if tail != "" {
		c.warnings = append(c.warnings, tail)
	}
	return nil
}

// counts reads the plan file with the terms, and refuses files with other numbers of records than its
// [shuffle] allows a party, all of them at once.
func (c *consortium) counts() error {
	if c.Config == "" {
		return nil
	}
	if err := config.ReadTOML(c.Config, &c.own); err != nil || c.own.Shuffle == nil {
		return err
	}
	least, most := c.own.Shuffle.Bounds(c.Parties)
	var bad []string
	for i, rec := range c.rows {
		if n := len(rec.Cells); int64(n) < int64(least) || int64(n) > most {
			file := fmt.Sprintf("party %d of the example", i+1)
			if len(c.Data) > 0 {
				file = c.Data[i]
			}
			bad = append(bad, fmt.Sprintf("%s has %d", file, n))
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return protocol.Fail(protocol.ClassInput, "records: %s counts on %d to %d of every party, and %s; change "+
		"shuffle.records or max_records", c.Config, least, most, strings.Join(bad, ", "))
}

// Total is the number of all parties' records.
func (c *consortium) Total() (n int) {
	for _, r := range c.rows {
		n += len(r.Cells)
	}
	return n
}

// Shares are the parties' shares of them; nil if these are equal.
func (c *consortium) Shares() []float64 {
	var n []int
	for _, r := range c.rows {
		n = append(n, len(r.Cells))
	}
	return terms.Shares(n)
}

// Encoding is the schema, for the templates.
func (c *consortium) Encoding() *dataset.Schema { return c.schema }

// Example reports whether the data are the example's, for the templates.
func (c *consortium) Example() bool { return c.test != nil }
