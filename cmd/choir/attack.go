package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"choir/attack/collude"
	"choir/cmd/internal/cli"
	"choir/lab/report"
	"choir/protocol"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

const attackLong = `Let members work together against a session and see what they get. The sessions
are real: every role, key and message is a deployment's, on inputs that the
attack chooses. An attack sees the coalition's joint view and nothing else.`

func (a *tools) attack() *cobra.Command {
	cmd := &cobra.Command{Use: "attack", Short: "Attack sessions with colluding members", Long: attackLong,
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(a.attackList(), a.attackRun(), a.attackSweep(), a.attackReport(), a.attackStory())
	return cmd
}

func (a *tools) attackList() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "list", Short: "List the attacks, what each needs and which promise it tests", Args: cobra.NoArgs,
		Example: "  choir attack list\n  choir attack list --format json",
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				SchemaVersion int            `json:"schema_version"`
				Attacks       []collude.Info `json:"attacks"`
			}{SchemaVersion: 1}
			for _, x := range collude.Catalogue() {
				v.Attacks = append(v.Attacks, x.Info())
			}
			return a.Print(format, v, func() {
				for _, i := range v.Attacks {
					fmt.Fprintf(a.Out, "%s (%s)\n", i.ID, i.Kind)
					cli.Wrap(a.Out, "  ", i.What)
					cli.Wrap(a.Out, "  needs: ", i.Needs)
					cli.Wrap(a.Out, "  promise: ", i.Promise)
					cli.Wrap(a.Out, "  expected: ", string(i.Expected))
					cli.Wrap(a.Out, "  control: ", i.Control)
				}
			})
		},
	}
	cli.FormatFlag(cmd, &format)
	return cmd
}

// attackFlags are those of attack run and attack sweep.
type attackFlags struct {
	target                            collude.Target
	dropouts                          int
	noise, coalition, transport, exec string
	data, format, out                 string
	scenarios                         []string
	runs                              int
	time                              time.Duration
	seed                              uint64
}

// placements are the places of noise that an attack can look at.
var placements = map[string]protocol.Placement{"none": protocol.NoiseNone, "party": protocol.NoiseParty,
	"compute": protocol.NoiseCompute, "local": protocol.NoiseLocal}

const attackRunLong = `Run attacks with a coalition: its members' joint view is collected from real
sessions on the terms of PLAN, or of the flags, and every attack works on it.

--coalition is a list of parties=N, nodes=N, aggregator and broker. The victim
is never in it. --runs is how often the session of one number is repeated, as
the coordinates of one session.

Every attack also runs where it must succeed, as a positive control: a control
that does not break is reported as undecided.

--exec CMD adds an adversary of your own: CMD is called with a folder that has
view.json and view.npz, and prints {"scores": [...]}, one for each coordinate,
the higher the likelier that the record is in the victim's data there.

--data FILE takes the records of membership from a file of at least 100 rows:
encoded by the plan's schema, or without PLAN rows of numbers.

Exits with 7 when a promise broke, with 1 when something is undecided.`

func (a *tools) attackRun() *cobra.Command {
	f := &attackFlags{format: "text"}
	cmd := &cobra.Command{
		Use: "run [PLAN] --coalition MEMBERS", Short: "Attack a session and judge its promises",
		Long: attackRunLong, Args: cobra.MaximumNArgs(1),
		Example: "  choir attack run --parties 10 --coalition parties=3,nodes=2,aggregator\n" +
			"  choir attack run plan.choir --coalition nodes=2,broker --out attacked\n" +
			"  choir attack run plan.choir --scenario membership --data rows.csv",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.executeAttack(cmd, args, f, collude.Options.Execute, a.printAttack)
		},
	}
	s := cmd.Flags()
	f.targetFlags(cmd)
	s.StringVar(&f.coalition, "coalition", "aggregator", "who works together, such as parties=2,nodes=2,broker")
	s.StringSliceVar(&f.scenarios, "scenario", nil, "attacks or kinds of attack; default: all")
	s.StringVar(&f.exec, "exec", "", "an adversary of your own: a program and its arguments")
	s.StringVar(&f.data, "data", "", "CSV file whose records membership attacks; default: drawn ones")
	s.StringVar(&f.out, "out", "", "folder for the joint view, the verdicts and the report")
	cli.Folders(cmd, "out")
	cli.FilesOf(cmd, "csv", "data")
	cli.Values(cmd, "scenario", scenarioNames()...)
	cli.FormatFlag(cmd, &f.format)
	return cmd
}

func scenarioNames() (names []string) {
	for _, x := range collude.Catalogue() {
		names = append(names, x.Info().ID)
	}
	return append(names, "leak", "lie", "break")
}

func (f *attackFlags) targetFlags(cmd *cobra.Command) {
	s := cmd.Flags()
	s.IntVar(&f.target.Parties, "parties", 10, "parties (without PLAN)")
	s.IntVar(&f.target.Nodes, "nodes", 3, "compute nodes (without PLAN)")
	s.IntVar(&f.target.Colluders, "colluders", 2, "T, the parties that may collude with one more (without PLAN)")
	s.IntVar(&f.dropouts, "dropouts", 0, "parties that may be missing (without PLAN)")
	s.IntVar(&f.target.Rounds, "rounds", 10, "rounds (without PLAN)")
	s.Float64Var(&f.target.Epsilon, "epsilon", 1, "budget of all rounds (without PLAN)")
	s.Float64Var(&f.target.Delta, "delta", 1e-5, "and its delta (without PLAN)")
	s.StringVar(&f.noise, "noise", "party", "who adds noise: party, compute or local (without PLAN)")
	s.StringVar(&f.transport, "transport", "memory",
		"what members connect over: memory or nats (embedded server)")
	s.IntVar(&f.runs, "runs", 0, "repetitions of a sum; 0: 65536, or what memory allows")
	s.DurationVar(&f.time, "time", time.Minute,
		"processor time after which attacks get short; the run ends at ten times as much on the clock; 0: no limit")
	s.Uint64Var(&f.seed, "seed", 1, "seed of the attacks' own choices")
	cli.Values(cmd, "noise", "party", "compute", "local")
	cli.Values(cmd, "transport", "memory", "nats")
}

// planFlags are those that a PLAN replaces.
var planFlags = []string{"parties", "nodes", "colluders", "dropouts", "rounds", "epsilon", "delta", "noise"}

// options are the flags as an attack's options.
func (f *attackFlags) options(cmd *cobra.Command, args []string) (o collude.Options, err error) {
	var plan *protocol.Plan
	if len(args) > 0 {
		for _, name := range planFlags {
			if cmd.Flags().Changed(name) {
				return o, protocol.Fail(protocol.ClassInput, "--%s: the plan says it", name)
			}
		}
		signed, err := terms.ReadPlan(args[0])
		if err != nil {
			return o, err
		}
		plan = signed.Plan
		if o.Target, err = collude.TargetOf(plan); err != nil {
			return o, err
		}
	} else {
		placement, ok := placements[f.noise]
		if !ok || placement == protocol.NoiseNone {
			return o, cli.OneOf("noise", f.noise, "party", "compute", "local")
		}
		t := f.target
		t.Noise, t.MinParties = placement, t.Parties-f.dropouts
		if o.Target, err = collude.NewTarget(t); err != nil {
			return o, err
		}
	}
	if err := cli.OneOf("transport", f.transport, "memory", "nats"); err != nil {
		return o, err
	}
	if f.transport == "nats" {
		o.Lab.Network = overServer
	}
	if f.exec != "" {
		o.Own = []collude.Attack{collude.Scored(collude.Command(strings.Fields(f.exec)))}
	}
	if f.data != "" {
		if o.Records, err = population(plan, f.data); err != nil {
			return o, err
		}
	}
	o.Runs, o.Time, o.Seed, o.Scenarios, o.Out = f.runs, f.time, f.seed, f.scenarios, f.out
	o.Coalition, err = collude.ParseCoalition(f.coalition)
	return o, err
}

// overServer connects a session's members over a NATS server in this process.
func overServer(ctx context.Context, s protocol.BoundPlan) (run.Connect, func(), error) {
	dir, err := os.MkdirTemp("", "choir-attack-")
	if err != nil {
		return nil, nil, err
	}
	server, err := embedded.Start(embedded.Config{StoreDir: dir})
	if err != nil {
		return nil, nil, err
	}
	shut := func() {
		server.Shutdown()
		_ = os.RemoveAll(dir)
	}
	return run.OverNATS(ctx, s, natsbus.Config{Server: server, Storage: natsbus.Memory}), shut, nil
}

// executeAttack runs attacks, prints the verdicts and leaves the report.
func (a *tools) executeAttack(cmd *cobra.Command, args []string, f *attackFlags,
	execute func(collude.Options, context.Context) (*collude.Result, error), text func(*collude.Result)) error {
	if err := cli.CheckFormat(f.format); err != nil {
		return err
	}
	o, err := f.options(cmd, args)
	if err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o700); err != nil {
			return protocol.Fail(protocol.ClassInput, "--out: %w", err)
		}
	}
	o.Progress = func(done, all int, what string) { a.Console.Set(fmt.Sprintf("%d/%d  %s", done, all, what)) }
	r, err := execute(o, cmd.Context())
	if err != nil {
		return err
	}
	a.Console.End()
	if err := a.Print(f.format, r, func() { text(r) }); err != nil {
		return err
	}
	if f.out != "" {
		if err := reportIn(f.out); err != nil {
			return err
		}
	}
	return verdictError(r.Failed())
}

func verdictError(broke, undecided int) error {
	switch {
	case broke > 0:
		return protocol.Fail(protocol.ClassIntegrity, "broken promises: %d", broke)
	case undecided > 0:
		return protocol.Fail(protocol.ClassFailed, "undecided attacks: %d", undecided)
	}
	return nil
}

func (a *tools) printAttack(r *collude.Result) {
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "verdict\tattack\tclaimed\tmeasured\tunit")
	for _, v := range r.Verdicts {
		name := v.Scenario
		if v.Control {
			name += " (control)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", v.Verdict, name, numberText(v.Claimed), numberText(v.Measured),
			v.Unit)
	}
	_ = t.Flush() // a.Out reports its errors elsewhere
	for _, v := range r.Verdicts {
		broke := v.Verdict == collude.Broke && !v.Control || v.Verdict == collude.Undecided
		if broke || v.Reason != "" {
			control := ""
			if v.Control {
				control = ", control,"
			}
			fmt.Fprintf(a.Out, "\n%s%s against %s:\n", v.Scenario, control, v.Coalition)
		}
		if v.Control && v.Verdict == collude.Held {
			fmt.Fprintf(a.Out, "\n%s:\n", v.Scenario)
			cli.Wrap(a.Out, "  ", "its control must break and did not: the attack proves nothing either way")
		}
		if v.Reason != "" {
			cli.Wrap(a.Out, "  ", v.Reason)
		}
		for _, line := range v.Story {
			if broke {
				cli.Wrap(a.Out, "  ", line)
			}
		}
		for _, line := range v.Repeat {
			if broke {
				fmt.Fprintln(a.Out, "  "+line)
			}
		}
	}
}

func numberText(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *x)
}

const attackSweepLong = `Measure epsilon for the aggregator together with every number of parties and
compute nodes that the plan tolerates, and with one more of each. All coalitions
look at one session; a session without noise is the control.

--scenario runs other attacks, each against all of these coalitions. The report
then has a matrix of coalitions and attacks.

Exits with 7 when a claim broke, with 1 when something is undecided.`

func (a *tools) attackSweep() *cobra.Command {
	f := &attackFlags{format: "text"}
	cmd := &cobra.Command{
		Use: "sweep [PLAN]", Short: "Measure epsilon for every coalition of a plan", Long: attackSweepLong,
		Args: cobra.MaximumNArgs(1),
		Example: "  choir attack sweep plan.choir\n  choir attack sweep --parties 6 --colluders 1 --out swept\n" +
			"  choir attack sweep --scenario rank,epsilon,retries --out swept",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.executeAttack(cmd, args, f, collude.Options.Sweep, a.printSweep)
		},
	}
	f.targetFlags(cmd)
	cmd.Flags().StringVar(&f.out, "out", "", "folder for the figures and the report")
	cmd.Flags().StringSliceVar(&f.scenarios, "scenario", nil, "attacks or kinds of attack; default: epsilon")
	cli.Values(cmd, "scenario", scenarioNames()...)
	cli.Folders(cmd, "out")
	cli.FormatFlag(cmd, &f.format)
	return cmd
}

// printSweep is a table with a row for each number of parties and a column for each of nodes.
func (a *tools) printSweep(r *collude.Result) {
	if len(r.Cells) < len(r.Verdicts)-1 { // other attacks than epsilon
		a.printMatrix(r)
	}
	if len(r.Cells) == 0 {
		return
	}
	fmt.Fprintln(a.Out, "measured/claimed epsilon of the aggregator with parties and compute nodes;\n"+
		"* the plan tolerates the coalition")
	parties, nodes := 0, 0
	for _, c := range r.Cells {
		parties, nodes = max(parties, c.Parties), max(nodes, c.Nodes)
	}
	head, rows := []string{"parties"}, make([][]string, parties+1)
	for k := range nodes + 1 {
		head = append(head, fmt.Sprintf("%d nodes", k))
	}
	for i := range rows {
		rows[i] = append([]string{fmt.Sprint(i)}, slices.Repeat([]string{"-"}, nodes+1)...)
	}
	for _, c := range r.Cells {
		mark := ""
		if c.Tolerated {
			mark = "*"
		}
		rows[c.Parties][1+c.Nodes] = fmt.Sprintf("%.3g/%s%s", c.Measured, numberText(c.Claimed), mark)
	}
	a.printColumns(head, rows)
}

// printColumns is a table whose columns are in as many blocks as lines of 80 characters take, each with the
// first column. All rows are as long as the head.
func (a *tools) printColumns(head []string, rows [][]string) {
	width := func(col int) int {
		most := len(head[col])
		for _, row := range rows {
			most = max(most, len(row[col]))
		}
		return most + 2
	}
	for from := 1; from < len(head); {
		to, wide := from, width(0)
		for to < len(head) && (to == from || wide+width(to) <= 82) {
			wide += width(to)
			to++
		}
		t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{head}, rows...) {
			fmt.Fprintln(t, row[0]+"\t"+strings.Join(row[from:to], "\t"))
		}
		_ = t.Flush() // a.Out reports its errors elsewhere
		if from = to; from < len(head) {
			fmt.Fprintln(a.Out)
		}
	}
}

// printMatrix is a table with a row for each coalition and a column for each attack.
func (a *tools) printMatrix(r *collude.Result) {
	m := report.MatrixOf(r)
	var rows [][]string
	for i, c := range m.Coalitions {
		row := []string{c}
		for _, v := range m.Verdicts[i] {
			row = append(row, string(v))
		}
		rows = append(rows, append(row, make([]string, 1+len(m.Attacks)-len(row))...))
	}
	a.printColumns(append([]string{"coalition"}, m.Attacks...), rows)
	fmt.Fprintln(a.Out)
}

func (a *tools) attackReport() *cobra.Command {
	return &cobra.Command{
		Use: "report DIR", Short: "Write an HTML report of a run's folder", Args: cobra.ExactArgs(1),
		Example: "  choir attack report attacked",
		RunE: func(_ *cobra.Command, args []string) error {
			page, err := report.OfAttack(args[0])
			if err != nil {
				return err
			}
			out := filepath.Join(args[0], "report.html")
			if err := writeReport(page, out); err != nil {
				return err
			}
			fmt.Fprintln(a.Out, out)
			return nil
		},
	}
}
