package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/lab/experiment"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/terms"
)

// demoFlags are the flags of choir demo as they were given.
type demoFlags struct {
	experiment.Demo
	model, strategy string
	method          string
	data, target    string
	schema          string
	columns         []string
	seed            uint64
	train           float64
	rho, kappa      float64
	processes       bool
	resume          string
	format          string
}

const demoLong = `Run a whole session on this machine: an embedded NATS server, parties, compute
nodes and an aggregator, each with its own identity, connection and store. They
agree on a signed plan and learn a Bayesian model under (epsilon, delta)-
differential privacy. The result is compared with references computed in the
same run. Without --data, the data is generated.`

const demoExample = `  choir demo
  choir demo --parties 30 --epsilon 2 --out my-demo
  choir demo --data records.csv --target ill --column age=0:100
  choir demo --processes`

func (a *tools) demo() *cobra.Command {
	f := &demoFlags{}
	cmd := &cobra.Command{
		Use: "demo", Short: "Run a whole session on this machine, with references", Long: demoLong,
		Example:     demoExample,
		Annotations: cli.EndsByClosing(),
		Args:        cobra.NoArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.runDemo(cmd, f) },
	}
	f.register(cmd)
	return cmd
}

func (f *demoFlags) register(cmd *cobra.Command) {
	s := cmd.Flags()
	s.IntVar(&f.Parties, "parties", mostDemoParties, "parties that hold data; by default fewer for a short file")
	s.IntVar(&f.Computes, "computes", 3, "compute nodes; one honest one is enough")
	s.IntVar(&f.Rounds, "rounds", 0,
		"rounds of learning; default by the method and the columns, with --method global 200, statistics 10, "+
			"mcmc 100")
	s.IntVar(&f.Colluders, "colluders", 0, "parties that may pool what they know")
	s.IntVar(&f.Dropouts, "dropouts", 0,
		"parties that may be missing in a round; that many leave half way")
	s.Float64Var(&f.Epsilon, "epsilon", 1, "privacy budget over all rounds")
	s.Float64Var(&f.Delta, "delta", 1e-5, "delta of the privacy budget")
	s.Float64Var(&f.Clip, "clip", 0, "bound on an update in natural parameters; 0: the strategy's default")
	s.StringVar(&f.method, "method", "dp-pvi",
		"dp-pvi (few rounds of many local steps), global (many rounds of one gradient) "+
			"statistics (linear regression from sums) or mcmc (draws from the posterior by noisy ratios)")
	s.StringVar((*string)(&f.Sampler), "sampler", "",
		"with --method mcmc: trace (the default), penalty, barker, langevin or hmc")
	s.StringVar(&f.model, "model", string(bayes.Logistic),
		"logistic, linear (by method statistics, unless a strategy is given) "+
			"or bnn (a network, by strategy optimisation)")
	s.StringVar(&f.strategy, "strategy", "virtual",
		"virtual (many factors a party), dataset (one) "+
			"or optimisation (noisy gradients of single records, with all noise "+
			"at every party)")
	s.IntVar(&f.Shards, "shards", 0, "factors of a party under the virtual strategy; 0: the default")
	s.StringVar(&f.data, "data", "", "CSV with a header, a UCI original or its folder; empty: generated")
	s.StringVar(&f.target, "target", "", "column to predict")
	s.StringVar(&f.schema, "schema", "", "file with the public encoding of the columns")
	s.StringArrayVar(&f.columns, "column", nil,
		"public bounds or categories of a column: age=17:90 or ward=A|B (repeatable)")
	s.Float64Var(&f.train, "train", 0.8, "fraction of the rows to learn from; the others are for testing")
	s.Float64Var(&f.rho, "rho", -1,
		"unevenness of the parties' sizes, from 0 (equal) to 1; default 0.5 for generated data, else 0")
	s.Float64Var(&f.kappa, "kappa", 0,
		"unevenness of their labels; 1: small parties have the majority class only; below 0: the minority class")
	s.Uint64Var(&f.seed, "seed", 1, "seed of the generated data and of the split, not of the noise")
	s.StringVar(&f.Out, "out", "", "folder for the results; default choir-out/<time>")
	s.BoolVar(&f.processes, "processes", false, "run each role in its own process")
	s.StringVar(&f.resume, "resume", "", "resume the session in this folder, which --processes has left")
	f.format = "text"
	cli.FormatFlag(cmd, &f.format)
	s.Lookup("rho").DefValue = "0" // its help names the defaults
	f.complete(cmd)
}

// complete sets up the completion of the flags' values.
func (f *demoFlags) complete(cmd *cobra.Command) {
	cli.Values(cmd, "method", string(experiment.MethodPVI), string(experiment.MethodGlobal),
		string(experiment.MethodStatistics), string(experiment.MethodMCMC))
	cli.Values(cmd, "sampler", "trace", "penalty", "barker", "langevin", "hmc")
	cli.Values(cmd, "model", string(bayes.Logistic), string(bayes.Linear), string(bayes.BNN))
	cli.Values(cmd, "strategy", "virtual", "dataset", "optimisation")
	cli.Folders(cmd, "out", "resume")
	cli.FilesOf(cmd, "csv", "data")
	cli.FilesOf(cmd, "json", "schema")
}

func (a *tools) runDemo(cmd *cobra.Command, f *demoFlags) error {
	if err := cli.CheckFormat(f.format); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if f.resume != "" {
		if err := resumesAlone(cmd); err != nil {
			return err
		}
		d := &experiment.Demo{Out: f.resume}
		resume := func(ctx context.Context) (*experiment.Result, error) { return d.Resume(ctx, exe) }
		return a.present(cmd.Context(), d.Out, &d.Progress, f.format, resume)
	}
	if cmd.Flags().Changed("rounds") && f.Rounds < 1 {
		return protocol.Fail(protocol.ClassInput, "rounds: %d isn't in 1..%d", f.Rounds, experiment.MaxRounds)
	}
	if !cmd.Flags().Changed("parties") {
		f.Parties = f.partiesFor(lines(f.data))
	}
	if !cmd.Flags().Changed("model") {
		f.model = string(experiment.Method(f.method).DefaultModel())
	}
	if !cmd.Flags().Changed("strategy") {
		f.strategy = ""
		if f.model == string(bayes.Linear) && !cmd.Flags().Changed("method") {
			f.method = string(experiment.MethodStatistics)
		}
	}
	d, err := f.build(time.Now())
	if err != nil {
		return err
	}
	d.Command = repeatable(cmd)
	if !f.processes {
		return a.present(cmd.Context(), d.Out, &d.Progress, f.format, d.Run)
	}
	processes := func(ctx context.Context) (*experiment.Result, error) { return d.RunProcesses(ctx, exe) }
	err = a.present(cmd.Context(), d.Out, &d.Progress, f.format, processes)
	if cli.Interrupted(cmd.Context(), err) {
		return cli.WithHint(cli.ErrInterrupted, "choir demo --resume "+d.Out+" resumes the session")
	}
	return err
}

// sessionFlags describe a session; one that is resumed has them already.
var sessionFlags = strings.Fields(`parties computes rounds colluders dropouts epsilon delta clip method
	sampler model strategy shards data target schema column train rho kappa seed out processes`)

// resumesAlone refuses flags that describe another session than the resumed one.
func resumesAlone(cmd *cobra.Command) error {
	for _, name := range sessionFlags {
		if cmd.Flags().Changed(name) {
			return protocol.Fail(protocol.ClassInput,
				"--%s: --resume resumes the session in its folder, which has its own", name)
		}
	}
	return nil
}

// present runs a demonstration with its progress on stderr and its result on
// stdout.
func (a *tools) present(ctx context.Context, out string, to *func(experiment.Progress), format string,
	run func(context.Context) (*experiment.Result, error)) error {
	p := &progress{w: a.Err, console: a.Console, json: format == "json"}
	*to = p.show
	res, err := p.watched(func() (*experiment.Result, error) { return run(ctx) },
		func() error { return reportIn(out) })
	a.Console.End()
	if err != nil {
		return err
	}
	if err := a.Print(format, res, func() { printResult(a.Out, res) }); err != nil {
		return err
	}
	if better := res.Worse(); better != "" {
		return protocol.Fail(protocol.ClassFailed, "the result is worse than predicting %s for every row", better)
	}
	return nil
}

// build turns the flags into a valid demonstration.
func (f *demoFlags) build(now time.Time) (*experiment.Demo, error) {
	d := &f.Demo
	d.Method = experiment.Method(f.method)
	d.Model = bayes.Model(f.model)
	d.Strategy = pvi.StrategyName(f.strategy)
	if err := d.Validate(); err != nil {
		return nil, err
	}
	if err := f.source(); err != nil {
		return nil, err
	}
	var err error
	d.Out, err = experiment.OutDir(d.Out, now)
	return d, err
}

// splits completes and checks the split of the rows.
func (f *demoFlags) splits() error {
	if f.rho == -1 {
		f.rho = 0
		if f.data == "" {
			f.rho = 0.5
		}
	}
	switch {
	case !(f.train > 0 && f.train < 1):
		return protocol.Fail(protocol.ClassInput, "train: %v isn't in (0, 1)", f.train)
	case !(f.rho >= 0 && f.rho < 1):
		return protocol.Fail(protocol.ClassInput, "rho: %v isn't in [0, 1)", f.rho)
	case !(f.kappa <= 1) || math.IsInf(f.kappa, 0):
		return protocol.Fail(protocol.ClassInput, "kappa: %v isn't at most 1", f.kappa)
	}
	return nil
}

// generatedRows are the rows of generated data, test rows included: some hundreds for each of
// the default's parties.
const generatedRows = 12_000

// source sets the origin of the data.
func (f *demoFlags) source() (err error) {
	s := &f.Data
	if err := f.splits(); err != nil {
		return err
	}
	s.Path = f.data
	s.Target = f.target
	s.Seed = f.seed
	s.Train = f.train
	s.Rho = f.rho
	s.Kappa = f.kappa
	if f.data == "" {
		s.Rows = generatedRows
		for _, given := range []struct {
			flag string
			set  bool
		}{{"target", f.target != ""}, {"schema", f.schema != ""}, {"column", len(f.columns) > 0}} {
			if given.set {
				return protocol.Fail(protocol.ClassInput, "%s: needs --data", given.flag)
			}
		}
		return nil
	}
	if f.schema != "" {
		if s.Schema, err = terms.ReadSchema(f.schema); err != nil {
			return err
		}
	}
	for _, text := range f.columns {
		c, err := dataset.ParseColumn(text)
		if err != nil {
			return protocol.Fail(protocol.ClassInput, "column: %w", err)
		}
		s.Columns = append(s.Columns, c)
	}
	return nil
}

// The default number of parties: one for every hundred rows of a file, within these.
const (
	leastDemoParties = 3
	mostDemoParties  = 30
	rowsOfDemoParty  = 100
)

// partiesFor is the default number of parties for a file of these lines, 0 if unknown. It leaves room for
// colluders and drop-outs.
func (f *demoFlags) partiesFor(lines int) int {
	if lines == 0 {
		return mostDemoParties
	}
	n := min(max(lines/rowsOfDemoParty, leastDemoParties), mostDemoParties)
	return min(max(n, f.Colluders+f.Dropouts+2), mostDemoParties)
}

// lines counts the lines of a file; 0 for a folder or a file that cannot be read, which is
// reported where its rows are.
func lines(path string) int {
	if path == "" {
		return 0
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return bytes.Count(b, []byte{'\n'})
}
