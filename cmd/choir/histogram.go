package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/learn/dataset"
	"choir/learn/response"
	"choir/privacy"
	"choir/privacy/shuffle"
	"choir/protocol"
	"choir/session/run"
)

type histogramFlags struct {
	input, transport, format       string
	backend                        string
	computes, categories, colluder int
	gamma, eps0, delta             float64
	interval                       []float64
}

const histogramLong = `Count the values of a column without anybody seeing one: each row belongs to a
party, which reports its value by randomised response and secret-shares the
report to the compute nodes. The sum of the reports is all that is revealed, so
that they are shuffled: no report can be told from another.

Values are 0 to K-1. With --range LO,HI they are numbers, which are rounded to K
levels at random; the mean and quartiles are then estimated too. The table shows
what protects a value: all reports while a compute node is honest, and its own
randomness against everybody together.

With --backend mix the reports go through a mix-net of the compute nodes: each
removes a layer of encryption and shuffles. A report is then 8 bytes for any
number of values, up to 65536.`

func (a *tools) histogram() *cobra.Command {
	f := &histogramFlags{delta: 1e-6, format: "text", backend: "sum"}
	cmd := &cobra.Command{
		Use:   "histogram --input FILE --categories K",
		Short: "Count randomised reports of values, one party per row", Long: histogramLong, Args: cobra.NoArgs,
		Example: "  choir histogram --input values.csv --categories 4 --gamma 0.25\n" +
			"  choir histogram --input incomes.csv --categories 16 --eps0 2 --range 0,100000\n" +
			"  choir histogram --input codes.csv --categories 20000 --eps0 6 --backend mix",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runHistogram(cmd, f) },
	}
	s := cmd.Flags()
	s.StringVar(&f.input, "input", "", "CSV or .npy file of one column")
	s.IntVar(&f.categories, "categories", 0, "number of values, or of levels with --range")
	s.Float64Var(&f.gamma, "gamma", 0, "probability of a uniformly random report; or give --eps0")
	s.Float64Var(&f.eps0, "eps0", 0, "local guarantee of a report")
	s.Float64Var(&f.delta, "delta", f.delta, "delta at which epsilon holds")
	s.IntVar(&f.colluder, "colluders", 0, "parties that may collude with a curious one")
	s.Float64SliceVar(&f.interval, "range", nil, "lowest and highest value: LO,HI")
	s.IntVar(&f.computes, "computes", 3, "compute nodes")
	s.StringVar(&f.transport, "transport", "auto",
		"nats (embedded server), memory, or auto: nats for up to 300 rows")
	s.StringVar(&f.backend, "backend", f.backend, "how reports are shuffled: sum or mix")
	cli.FormatFlag(cmd, &f.format)
	cli.Values(cmd, "transport", "auto", "nats", "memory")
	cli.Values(cmd, "backend", "sum", "mix")
	cli.FilesOf(cmd, "csv", "input")
	return cmd
}

// histogramResult is what --format json prints.
type histogramResult struct {
	SchemaVersion int              `json:"schema_version"`
	Reports       []int64          `json:"reports"`   // how many reports each value has
	Estimates     []estimate       `json:"estimates"` // of how many users have each value
	Mean          *estimate        `json:"mean,omitempty"`
	Quartiles     []float64        `json:"quartiles,omitempty"`
	Parties       int              `json:"parties"`
	Gamma         float64          `json:"gamma"`
	Guarantees    []shuffleProtect `json:"guarantees"`
	Seconds       float64          `json:"seconds"`
}

type estimate struct {
	Value float64 `json:"value"`
	SD    float64 `json:"standard_deviation"`
}

// shuffleProtect is what protects a value from an adversary.
type shuffleProtect struct {
	Adversary  string  `json:"adversary"`
	Honest     int     `json:"honest_reports"`
	Epsilon    float64 `json:"epsilon"`
	LowerBound float64 `json:"lower_bound"`
	Delta      float64 `json:"delta"`
}

func (a *tools) runHistogram(cmd *cobra.Command, f *histogramFlags) error {
	bad := func(err error) error { return protocol.Fail(protocol.ClassInput, "%w", err) }
	x, values, err := f.load(cmd)
	if err != nil {
		return bad(err)
	}
	out := histogramResult{SchemaVersion: 1, Parties: len(values), Gamma: x.Gamma()}
	a.Console.Set("computing the guarantees")
	if out.Guarantees, err = f.guarantees(x, len(values)); err != nil {
		return bad(err)
	}
	a.Console.Set("counting the reports")
	reports, err := f.report(x, values, rand.Reader)
	if err != nil {
		return bad(err)
	}
	if out.Reports, out.Seconds, err = f.count(cmd.Context(), x, reports); err != nil {
		return err
	}
	if err := out.estimate(x, f.interval); err != nil {
		return bad(err)
	}
	a.Console.Set("")
	return a.Print(f.format, out, func() { out.print(a.Out) })
}

// load reads the column and checks the flags.
func (f *histogramFlags) load(cmd *cobra.Command) (x response.Response, values []float64, err error) {
	if err := cli.CheckFormat(f.format); err != nil {
		return x, nil, err
	}
	if err := cli.OneOf("transport", f.transport, "auto", "nats", "memory"); err != nil {
		return x, nil, err
	}
	if err := cli.OneOf("backend", f.backend, "sum", "mix"); err != nil {
		return x, nil, err
	}
	set := cmd.Flags().Changed
	switch {
	case f.input == "":
		return x, nil, fmt.Errorf("--input: name a file")
	case set("gamma") == set("eps0"):
		return x, nil, fmt.Errorf("--gamma, --eps0: give exactly one of the two")
	case set("eps0") && !(f.eps0 > 0 && f.eps0 <= 20):
		return x, nil, fmt.Errorf("--eps0: %v isn't in (0, 20]", f.eps0)
	case set("range") && (len(f.interval) != 2 || !(f.interval[0] < f.interval[1])):
		return x, nil, fmt.Errorf("--range: %v isn't a lowest and a higher highest value", f.interval)
	case f.categories > mostCategories[f.backend]:
		return x, nil, fmt.Errorf("--categories: %d: up to %d are counted with --backend %s", f.categories,
			mostCategories[f.backend], f.backend)
	case set("eps0"):
		f.gamma = shuffle.GammaOf(f.eps0, f.categories)
	}
	if x, err = response.New(f.categories, f.gamma); err != nil {
		return x, nil, err
	}
	if x.Gamma() == 1 {
		return x, nil, fmt.Errorf("--gamma: with gamma 1 reports say nothing")
	}
	m, err := dataset.LoadMatrix(f.input)
	switch {
	case err != nil:
		return x, nil, fmt.Errorf("--input: %w", err)
	case m.Cols != 1:
		return x, nil, fmt.Errorf("--input: %s has %d columns: a party reports one value", f.input, m.Cols)
	case m.Rows-f.colluder-1 < 1 || f.colluder < 0:
		return x, nil, fmt.Errorf("--colluders: with %d colluders and a curious party, %d rows leave no "+
			"honest report", f.colluder, m.Rows)
	}
	return x, m.Data, nil
}

// report draws every party's report, each from its own value alone.
func (f *histogramFlags) report(x response.Response, values []float64, random io.Reader) ([]int, error) {
	reports := make([]int, len(values))
	for i, v := range values {
		value := int(v)
		var err error
		if f.interval != nil {
			lo, hi := f.interval[0], f.interval[1]
			if !(v >= lo && v <= hi) {
				return nil, fmt.Errorf("--range: the value of row %d isn't in [%v, %v]", i+1, lo, hi)
			}
			value, err = x.Level(math.Min(1, (v-lo)/(hi-lo)), random)
		} else if float64(value) != v {
			err = fmt.Errorf("not a whole number; --range takes others")
		}
		if err == nil {
			reports[i], err = x.Report(value, random)
		}
		if err != nil {
			return nil, fmt.Errorf("--input: row %d: %w", i+1, err)
		}
	}
	return reports, nil
}

// mostCategories is the number of values that a back end counts.
var mostCategories = map[string]int{"sum": 4096, "mix": 1 << 16}

// count counts the reports: by a secure sum of vectors with a single 1, or as a mix-net delivers them.
func (f *histogramFlags) count(
	ctx context.Context, x response.Response, reports []int,
) (counts []int64, seconds float64, err error) {
	r := &run.RowSum{Rows: len(reports), Cols: f.categories, Computes: f.computes, FracBits: 0}
	if f.backend == "mix" {
		r.Cols = 1
		r.Mix = true
	}
	for _, y := range reports {
		if r.Mix {
			r.Data = append(r.Data, float64(y))
			continue
		}
		for _, c := range x.Vector(y) {
			r.Data = append(r.Data, float64(c))
		}
	}
	if f.transport == "nats" || f.transport == "auto" && r.Rows <= manyRows {
		r.Network = embeddedBroker
	}
	out, err := r.Run(ctx)
	if err != nil || !r.Mix {
		if err == nil {
			counts, seconds = out.Units, out.Seconds
		}
		return counts, seconds, err
	}
	counts = make([]int64, f.categories)
	for _, y := range out.Reports {
		if y[0] < 0 || y[0] >= int64(f.categories) {
			return nil, 0, protocol.Fail(protocol.ClassIntegrity, "a report of the value %d, which is none", y[0])
		}
		counts[y[0]]++
	}
	return counts, out.Seconds, nil
}

// guarantees bounds what each adversary learns about one party's value.
func (f *histogramFlags) guarantees(x response.Response, n int) ([]shuffleProtect, error) {
	local := shuffle.Round{Kind: shuffle.RandomisedResponse, Categories: f.categories, Gamma: x.Gamma(),
		Count: 1}
	var out []shuffleProtect
	for _, c := range []struct {
		name   string
		honest int
	}{
		{"outsider, aggregator, all compute nodes but one", n},
		{fmt.Sprintf("the same with one curious party and %d more", f.colluder), n - f.colluder - 1},
	} {
		local.Users = c.honest
		q := privacy.ShuffleQuery{Rounds: []shuffle.Round{local}, Delta: f.delta}
		got, err := q.Answer()
		if err != nil {
			return nil, err
		}
		out = append(out, shuffleProtect{c.name, c.honest, got.Epsilon, got.LowerBound, f.delta})
	}
	eps0 := local.LocalEpsilon() // its loss is attained by every report of the own value
	return append(out, shuffleProtect{"everybody else, all compute nodes too", 1, eps0, eps0 * (1 - 1e-9),
		0}), nil
}

func (r *histogramResult) estimate(x response.Response, interval []float64) error {
	all, err := x.Histogram(r.Reports)
	if err != nil {
		return err
	}
	for _, e := range all {
		r.Estimates = append(r.Estimates, estimate(e))
	}
	if interval == nil {
		return nil
	}
	lo, width := interval[0], interval[1]-interval[0]
	m, err := x.Mean(r.Reports)
	if err != nil {
		return err
	}
	r.Mean = &estimate{lo + width*m.Value, width * m.SD}
	for _, q := range []float64{0.25, 0.5, 0.75} {
		v, err := x.Quantile(r.Reports, q)
		if err != nil {
			return err
		}
		r.Quartiles = append(r.Quartiles, lo+width*v)
	}
	return nil
}

func (r *histogramResult) print(w io.Writer) {
	fmt.Fprintf(w, "%8s %10s %12s %10s\n", "value", "reports", "estimate", "sd")
	for v, e := range r.Estimates {
		if len(r.Estimates) > mostCategories["sum"] && r.Reports[v] == 0 {
			continue // too many to read; --format json has them
		}
		fmt.Fprintf(w, "%8d %10d %12.1f %10.1f\n", v, r.Reports[v], e.Value, e.SD)
	}
	if r.Mean != nil {
		fmt.Fprintf(w, "mean      %.6g (sd %.2g)\nquartiles %.6g, %.6g, %.6g\n", r.Mean.Value, r.Mean.SD,
			r.Quartiles[0], r.Quartiles[1], r.Quartiles[2])
	}
	for _, g := range r.Guarantees {
		cli.Wrap(w, fmt.Sprintf("epsilon %-8.4g ", g.Epsilon),
			fmt.Sprintf("at delta %g against %s", g.Delta, g.Adversary))
	}
}
