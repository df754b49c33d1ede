package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/privacy"
	"choir/protocol"
)

// answer is what choir account prints.
type answer struct {
	SchemaVersion int      `json:"schema_version"`
	Epsilon       float64  `json:"epsilon"`
	LowerBound    float64  `json:"lower_bound"`
	Delta         float64  `json:"delta"`
	Sigma         float64  `json:"sigma"`
	Accountant    string   `json:"accountant"`
	Assumptions   []string `json:"assumptions"`
}

// accountFlags are a privacy.Query as the command line writes it.
type accountFlags struct {
	privacy.Query
	mechanism, relation, sampling, solve, format string
	epsilon                                      float64
	shuffled                                     shuffleFlags
}

const accountLong = `Compute the epsilon of a mechanism that is run --steps times, adaptively: an
upper bound and a lower bound. With --solve sigma --epsilon E, compute the
least noise that stays within E; with --solve delta, the least delta. Sigma is
the standard deviation of the noise per coordinate, in the unit of
--sensitivity or --clip (the grid's for integer mechanisms). A query without a
proven answer is refused with the reason.

With --shuffle N every run shuffles the reports of N users: of any eps0-LDP
randomiser (ldp), of randomised response over --categories values (k-rr), or of
values with Laplace or Gaussian noise. --solve then finds gamma, eps0, the
number of users or delta. --steps-file has runs of several kinds.`

func (a *tools) account() *cobra.Command {
	f := accountFlags{mechanism: "gaussian", format: "text"}
	f.Steps, f.Delta = 1, 1e-5
	cmd := &cobra.Command{
		Use:   "account --sigma S --steps T --delta D",
		Short: "Compute the epsilon of a mechanism, or the noise for a budget",
		Long:  accountLong,
		Example: "  choir account --sigma 28.9 --clip 1 --relation replace --steps 15\n" +
			"  choir account --solve sigma --epsilon 1 --clip 1 --relation replace --steps 15\n" +
			"  choir account --mechanism k-rr --categories 4 --gamma 0.25 --shuffle 1000\n" +
			"  choir account --mechanism ldp --eps0 2 --shuffle 10000 --steps 100",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runAccount(cmd, &f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.mechanism, "mechanism", f.mechanism,
		strings.Join(append(mechanisms, shuffledMechanisms...), ", "))
	fs.Float64Var(&f.Sigma, "sigma", 0,
		"standard deviation of the noise; for discrete-gaussian the root of its parameter")
	fs.IntVar(&f.Steps, "steps", f.Steps, "number of runs")
	fs.Float64Var(&f.Delta, "delta", f.Delta, "delta at which epsilon holds")
	fs.Float64Var(&f.Sensitivity, "sensitivity", 0,
		"L2 difference between neighbouring outputs; not with poisson and replace")
	fs.Float64Var(&f.Clip, "clip", 0, "a record's L2 bound C: the difference is C (add-remove) or 2C (replace)")
	fs.StringVar(&f.relation, "relation", "", "add-remove or replace; needed with --clip and with sampling")
	fs.Float64Var(&f.Rate, "sample-rate", 0, "fraction of the records in a run; 0 or 1: all")
	fs.StringVar(&f.sampling, "sampling", "",
		"poisson, without-replacement or (k-rr) self; needed with --sample-rate")
	fs.IntVar(&f.Dim, "dim", 1, "coordinates")
	fs.StringVar(&f.Accountant, "accountant", "",
		strings.Join(accountants, ", ")+"; default: the tightest that is proven")
	fs.StringVar(&f.solve, "solve", "", "sigma, gamma, eps0, shuffle or delta: find its value for --epsilon")
	fs.Float64Var(&f.epsilon, "epsilon", 0, "with --solve: the budget")
	cli.FormatFlag(cmd, &f.format)
	cli.Values(cmd, "mechanism", append(mechanisms, shuffledMechanisms...)...)
	cli.Values(cmd, "relation", "add-remove", "replace")
	cli.Values(cmd, "sampling", "poisson", "without-replacement", "self")
	cli.Values(cmd, "accountant", accountants...)
	cli.Values(cmd, "solve", "sigma", "gamma", "eps0", "shuffle", "delta")
	f.shuffled.add(cmd)
	return cmd
}

var (
	mechanisms  = []string{"gaussian", "discrete-gaussian", "skellam"}
	accountants = []string{"analytic", "classical", "zcdp", "rdp", "moments", "pld", "exact", "near-gaussian",
		"clones", "clones-2021", "closed-form", "blanket"}
)

func (a *tools) runAccount(cmd *cobra.Command, f *accountFlags) error {
	if f.isShuffled(cmd) {
		return a.runShuffled(cmd, f)
	}
	if err := f.parse(cmd); err != nil {
		return err
	}
	var got privacy.Answer
	var err error
	switch f.solve {
	case "":
		a.Console.Set("composing the steps")
		got, err = privacy.Account(f.Query)
	case "delta":
		a.Console.Set("searching for delta")
		f.Delta, got, err = privacy.SolveDelta(f.Query, f.epsilon)
	default:
		a.Console.Set("searching for the noise")
		f.Sigma, got, err = privacy.SolveSigma(f.Query, f.epsilon)
	}
	a.Console.Set("")
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "%w", err)
	}
	if math.IsInf(got.Epsilon, 0) || math.IsNaN(got.Epsilon) {
		return protocol.Fail(protocol.ClassInput,
			"sigma: %g is too little noise for any finite epsilon at delta %g by %s",
			f.Sigma, f.Delta, got.Accountant)
	}
	out := answer{SchemaVersion: 1, Epsilon: got.Epsilon, LowerBound: got.LowerBound, Delta: f.Delta,
		Sigma:      f.Sigma,
		Accountant: got.Accountant, Assumptions: got.Assumptions}
	if out.Assumptions == nil {
		out.Assumptions = []string{}
	}
	return a.Print(f.format, out, func() {
		fmt.Fprintf(a.Out, "epsilon      %.6g at delta %.9g (at least %.6g)\n", out.Epsilon, out.Delta,
			out.LowerBound)
		fmt.Fprintf(a.Out, "sigma        %.9g\naccountant   %s\n", out.Sigma, out.Accountant)
		for _, s := range out.Assumptions {
			cli.Wrap(a.Out, "assumes      ", s)
		}
	})
}

// parse turns names into the query's values and refuses flags that contradict
// each other.
func (f *accountFlags) parse(cmd *cobra.Command) error {
	refuse := func(format string, args ...any) error {
		return protocol.Fail(protocol.ClassInput, format, args...)
	}
	set := cmd.Flags().Changed
	switch {
	case set("sensitivity") == set("clip"):
		return refuse("--sensitivity, --clip: give exactly one of the two")
	case f.solve != "" && f.solve != "sigma" && f.solve != "delta":
		return refuse("--solve: %q isn't %q or %q", f.solve, "sigma", "delta")
	case f.solve != "" && set(f.solve):
		return refuse("--%s: contradicts --solve %s", f.solve, f.solve)
	case f.solve != "sigma" && !set("sigma"):
		return refuse("--sigma: is needed")
	case (f.solve == "") == set("epsilon"):
		return refuse("--epsilon: goes with --solve sigma or delta, and --solve with it")
	case set("sample-rate") != set("sampling"):
		return refuse("--sample-rate, --sampling: one needs the other")
	}
	for _, name := range []string{"categories", "gamma", "eps0", "dummies", "adversary", "colluders"} {
		if set(name) {
			return refuse("--%s: goes with --shuffle and a local mechanism", name)
		}
	}
	if err := cli.OneOf("mechanism", f.mechanism, mechanisms...); err != nil {
		return err
	}
	f.Mechanism = privacy.Mechanism(f.mechanism)
	if f.relation != "" {
		r, err := privacy.ParseRelation(f.relation)
		if err != nil {
			return refuse("--relation: %w", err)
		}
		f.Relation = r
	}
	return f.parseSampling()
}

func (f *accountFlags) parseSampling() error {
	switch f.sampling {
	case "":
		f.Sampling = privacy.SamplingNone
	case "poisson":
		f.Sampling = privacy.SamplingPoisson
	case "without-replacement":
		f.Sampling = privacy.SamplingFixed
	default:
		return protocol.Fail(protocol.ClassInput, "--sampling: %q isn't poisson or without-replacement", f.sampling)
	}
	return nil
}
