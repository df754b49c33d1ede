package experiment

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"

	"choir/lab/uci"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/protocol"
)

// Data is a data set that is ready to be learnt by several parties.
type Data struct {
	Name    string
	Schema  *dataset.Schema
	Parts   []bayes.Data // by party
	Train   bayes.Data   // all parties' rows together
	Test    bayes.Data
	Columns []string
	// Warnings are what the operator should know about how the data was read.
	Warnings []string

	records *dataset.Records // as they were read
	kept    []int            // which of them became rows; nil: all
	rows    [][]int          // by party: which rows it has
	tests   []int            // which of the records test
}

// Source is where data comes from and how it is divided.
type Source struct {
	Path    string           // a CSV with a header, a UCI original or its folder; empty: generated
	Target  string           // the target column; empty: the schema's own
	Records *dataset.Records // rows that are read already, in the place of a path; with Schema
	Schema  *dataset.Schema  // public encoding; nil: the file's own, else inferred (and named so)
	Columns []dataset.Column // public columns that replace the schema's of the same names
	Linear  bool             // the target is a number
	Rows    int              // generated data only; 0: 20,000
	Seed    uint64
	Parties int
	Rho     float64 // how uneven the parties' sizes are (Paper IV, appendix B)
	Kappa   float64 // how uneven their labels are
	Train   float64 // share of the rows that train; the rest tests
	Order   []int   // the order in which rows are taken for training and testing; nil: Seed's
}

// Load reads or generates the data, encodes it by its public schema, splits off
// the test part and shares the rest out to the parties.
func (s Source) Load() (*Data, error) {
	d, table, err := s.table()
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	if table.Classification == s.Linear {
		return nil, protocol.Fail(protocol.ClassInput,
			"model: the target %q has %s, which model %s doesn't fit: choose %s",
			d.Schema.Target.Name, kindOf(table.Classification), modelName(s.Linear), modelName(!s.Linear))
	}
	cut, err := s.cut(table.Rows())
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	train, err := table.Select(cut[0])
	if err != nil {
		return nil, err
	}
	test, err := table.Select(cut[1])
	if err != nil {
		return nil, err
	}
	d.Name, d.Columns, d.Test = table.Name, table.Columns, rows(test)
	if d.Test.Rows() == 0 {
		return nil, protocol.Fail(protocol.ClassInput, "data: %d rows leave none to test on", table.Rows())
	}
	if tail := dataset.LongTail(d.Schema.Target.Name, dataset.Skewness(table.Y)); s.Linear && tail != "" {
		d.Warnings = append(d.Warnings, tail)
	}
	if s.Linear && slices.Min(d.Test.Y) == slices.Max(d.Test.Y) {
		return nil, protocol.Fail(protocol.ClassInput,
			"data: the targets of the %d test rows are all the same, so there is no variance to explain",
			d.Test.Rows())
	}
	d.tests = d.recordsOf(cut[1])
	return d, s.share(d, train, cut[0])
}

// Signed are encoded rows, each times 1 or -1 by its class: what a record adds to a sum of statistics or
// gradients. The target of regression multiplies its row. x has the rows one after the other, y their
// targets.
func Signed(x, y []float64, classes bool) [][]float64 {
	rows := make([][]float64, len(y))
	for i, by := range y {
		width := len(x) / len(y)
		if rows[i] = slices.Clone(x[i*width:][:width]); classes {
			by = 2*by - 1
		}
		for j := range rows[i] {
			rows[i][j] *= by
		}
	}
	return rows
}

// cut is the rows that train and those that test.
func (s Source) cut(rows int) ([][]int, error) {
	if s.Order == nil {
		return dataset.Partition(rows, s.Seed, s.Train)
	}
	if len(s.Order) != rows || !(s.Train >= 0 && s.Train <= 1) {
		return nil, fmt.Errorf("an order of %d rows for %d, of which %g train", len(s.Order), rows, s.Train)
	}
	at := int(float64(rows) * s.Train)
	return [][]int{s.Order[:at], s.Order[at:]}, nil
}

func kindOf(classes bool) string {
	if classes {
		return "two classes"
	}
	return "numbers"
}

func modelName(linear bool) string {
	if linear {
		return "linear"
	}
	return "logistic"
}

func rows(t *dataset.Table) bayes.Data { return bayes.Data{X: t.X, Y: t.Y} }

// table reads the records and encodes them.
func (s Source) table() (*Data, *dataset.Table, error) {
	if s.Path == "" && s.Records == nil {
		return s.generate()
	}
	d, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	if len(s.Columns) > 0 {
		if d.Schema, err = d.Schema.Override(s.Columns...); err != nil {
			return nil, nil, fmt.Errorf("column: %w", err)
		}
	}
	if !d.Schema.Public() {
		d.Warnings = append(d.Warnings,
			"the encoding of the columns isn't public ("+d.Schema.Source+"): give --schema, or --column for each")
	}
	t, err := d.records.Encode(d.Schema)
	if err != nil {
		return nil, nil, err
	}
	d.Warnings = append(d.Warnings, d.Schema.ManyLevels(t.Rows())...)
	d.Warnings = append(d.Warnings, notes(t, d.Schema)...)
	if t.Notes.Dropped > 0 {
		d.kept = encodable(d.records, d.Schema)
	}
	return d, t, nil
}

func (s Source) generate() (*Data, *dataset.Table, error) {
	g := dataset.DefaultGenerator(s.Linear, s.Seed)
	if s.Rows > 0 {
		g.Rows = s.Rows
	}
	made, err := g.Generate()
	if err != nil {
		return nil, nil, err
	}
	t, err := made.Table()
	return &Data{Schema: made.Schema, records: made.Records}, t, err
}

// read opens the file and finds its schema: the given one, the file's own, or
// one inferred from the rows.
func (s Source) read() (*Data, error) {
	if s.Records != nil {
		return &Data{Schema: s.Schema, records: s.Records}, s.Schema.Validate()
	}
	if _, err := os.Stat(s.Path); err != nil {
		return nil, err
	}
	records, schema, err := uci.Open(s.Path)
	if err != nil {
		return nil, err
	}
	if s.Schema != nil {
		schema = s.Schema
	}
	if schema != nil && s.Target != "" && schema.Target.Name != s.Target {
		return nil, fmt.Errorf("target: the schema's target is %q, not %q", schema.Target.Name, s.Target)
	}
	if schema == nil {
		if s.Target == "" {
			return nil, fmt.Errorf("target: name the column of %s to predict", s.Path)
		}
		if !slices.Contains(records.Header, s.Target) {
			return nil, fmt.Errorf("target: %s has no column %q; its columns are %s", s.Path, s.Target,
				dataset.List(records.Header))
		}
		return s.infer(records)
	}
	return &Data{Schema: schema, records: records}, nil
}

// infer finds the schema from the rows, with all columns that are named.
func (s Source) infer(records *dataset.Records) (*Data, error) {
	var named []string
	for _, c := range s.Columns {
		named = append(named, c.Name)
	}
	schema, err := records.InferSchema(s.Target, !s.Linear, named...)
	if err != nil {
		return nil, err
	}
	d := &Data{Schema: schema, records: records}
	if left := schema.LeftOut(records.Header); len(left) > 0 {
		d.Warnings = append(d.Warnings, leftOut(left))
	}
	return d, nil
}

// leftOut is the warning for columns that nothing is learnt from.
func leftOut(columns []string) string {
	return dataset.LeftOutAs + dataset.List(columns) +
		" (--column or --schema takes a column in)"
}

// encodable lists the records that the schema doesn't drop.
func encodable(all *dataset.Records, schema *dataset.Schema) (kept []int) {
	for i := range all.Cells {
		one := &dataset.Records{
			Name:   all.Name,
			Header: all.Header,
			Cells:  all.Cells[i : i+1],
			Lines:  all.Lines[i : i+1],
		}
		if t, err := one.Encode(schema); err == nil && t.Rows() == 1 {
			kept = append(kept, i)
		}
	}
	return kept
}

// notes lists what the encoder had to change, by column.
func notes(t *dataset.Table, schema *dataset.Schema) (out []string) {
	for _, n := range []struct {
		what   string
		counts map[string]int
	}{
		{"outside their public range, clipped", t.Notes.Clipped},
		{"of categories that the schema doesn't list", t.Notes.Unseen},
		{"missing", t.Notes.Missing},
	} {
		for _, c := range slices.Sorted(maps.Keys(n.counts)) { // source columns, not encoded ones
			values := "values"
			if n.counts[c] == 1 {
				values = "value"
			}
			note := fmt.Sprintf("column %s: %d %s %s", c, n.counts[c], values, n.what)
			if n.what == "missing" {
				note += countsAs(schema, c)
			}
			out = append(out, note)
		}
	}
	if t.Notes.Dropped > 0 {
		out = append(out, fmt.Sprintf("%d rows left out for a missing value", t.Notes.Dropped))
	}
	return out
}

// countsAs is what missing values of a column of numbers are taken for.
func countsAs(schema *dataset.Schema, column string) string {
	for _, c := range schema.Columns {
		if c.Name == column && c.Numeric != nil {
			return fmt.Sprintf(": at the mean where a session measures it, and at %.5g elsewhere",
				c.Numeric.Center)
		}
	}
	return ""
}

// share deals the training rows out; at is the row of the whole table each
// of them is.
func (s Source) share(d *Data, train *dataset.Table, at []int) error {
	split := dataset.ClientSplit{Clients: s.Parties, Rho: s.Rho, Kappa: s.Kappa, Seed: s.Seed}
	parts, err := split.Split(train.Y, train.Classification)
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "parties: %w", err)
	}
	for i, part := range parts {
		if len(part) == 0 {
			return protocol.Fail(protocol.ClassInput, "parties: %d rows leave party %d of %d without any",
				train.Rows(), i, s.Parties)
		}
		t, err := train.Select(part)
		if err != nil {
			return err
		}
		d.Parts = append(d.Parts, rows(t))
		own := make([]int, len(part))
		for i, k := range part {
			own[i] = at[k]
		}
		d.rows = append(d.rows, d.recordsOf(own))
		d.Train.X = append(d.Train.X, t.X...)
		d.Train.Y = append(d.Train.Y, t.Y...)
	}
	if left := train.Rows() - d.Train.Rows(); left > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%d of %d rows to learn from are left over and not used: each "+
			"of %d parties has a whole number of rows, rounded down to what the split asks for", left, train.Rows(),
			s.Parties))
	}
	return nil
}

// recordsOf are the records of rows of the table.
func (d *Data) recordsOf(rows []int) []int {
	if d.kept == nil {
		return rows
	}
	out := make([]int, len(rows))
	for i, k := range rows {
		out[i] = d.kept[k]
	}
	return out
}

// Weights is each party's share of all training rows. The demonstration treats
// the numbers of rows as public (they are, under replace-one neighbours).
func (d *Data) Weights() []float64 {
	w := make([]float64, len(d.Parts))
	for i, p := range d.Parts {
		w[i] = float64(p.Rows()) / float64(d.Train.Rows())
	}
	return w
}

// Scores are the two figures that every learner is judged by.
type Scores struct {
	// Accuracy is the share of test rows on the right side of 1/2; for the linear model the
	// share of the test targets' variance that the predictions explain (R squared).
	Accuracy float64 `json:"test_accuracy"`
	// LogLikelihood is the mean log predictive density or probability of a test row, nats.
	LogLikelihood float64 `json:"test_log_likelihood"`
}

// evaluate scores a posterior on the test rows.
func (d *Data) evaluate(p *bayes.Posterior, linear bool) (Scores, error) {
	s, err := p.Evaluate(d.Test)
	if err != nil {
		return Scores{}, err
	}
	return d.scores(s, linear), nil
}

// scores are the scores of predictions of the test rows.
func (d *Data) scores(s bayes.Scores, linear bool) Scores {
	if !linear {
		return Scores{s.Accuracy, s.LogLikelihood}
	}
	return Scores{1 - s.RMSE*s.RMSE/variance(d.Test.Y), s.LogLikelihood}
}

func variance(y []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range y {
		mean += v / float64(len(y))
	}
	for _, v := range y {
		sum += (v - mean) * (v - mean) / float64(len(y))
	}
	if sum == 0 {
		return math.SmallestNonzeroFloat64
	}
	return sum
}
