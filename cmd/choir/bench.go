package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/crypto/channel"
	"choir/lab/bench"
	"choir/protocol"
)

func (a *tools) bench() *cobra.Command {
	return cli.Group("bench", "Measure the protocol, compared with the limits of this machine",
		a.benchDCA(), a.benchTable1(), a.benchScale(), a.benchDocs(),
		a.benchPart("noise", "Measure the noise samplers at sigma = 2^4 to 2^30"),
		a.benchPart("channel", "Measure setting up channels in both suites"),
		a.benchPart("verify", "Measure signatures, alone and in batches with and without a bad one"),
		a.benchPart("audit", "Measure commitments at d = 1e2 to 1e5"))
}

// cellFlags are the flags that describe a cell.
type cellFlags struct {
	bench.Config
	suite, noise, format string
	rtt                  time.Duration
}

// addCell adds the flags of every verb that measures cells.
func (f *cellFlags) addCell(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.suite, "suite", "hybrid", "cipher suite: hybrid or x25519")
	s.IntVar(&f.Workers, "workers", 0, "goroutines that step machines and measure limits; 0: one a core")
	cli.Values(cmd, "suite", "hybrid", "x25519")
	cli.FormatFlag(cmd, &f.format)
}

// addNoise adds those of the verbs that sum with noise.
func (f *cellFlags) addNoise(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.noise, "noise", "party", "placement of the noise: party or none")
	s.Uint64Var(&f.Sigma, "sigma", 1<<10, "standard deviation of a party's noise, grid units")
	s.StringVar(&f.Pairs, "pairs", bench.PairsAuto,
		"two coordinates in a field element: auto, yes or no; auto: under the stream driver, where the headroom "+
			"allows it")
	cli.Values(cmd, "noise", "party", "none")
	cli.Values(cmd, "pairs", bench.PairsAuto, bench.PairsYes, bench.PairsNo)
}

// parse turns names into values.
func (f *cellFlags) parse(cmd *cobra.Command) (err error) {
	if err := cli.CheckFormat(f.format); err != nil {
		return err
	}
	f.Link.RTT = f.rtt.Seconds()
	if f.Suite, err = suiteOf(f.suite); err != nil {
		return err
	}
	if cmd.Flags().Changed("rounds") && f.Rounds < 1 { // in a Config, 0 means the default
		return protocol.Fail(protocol.ClassInput, "rounds: %d isn't in 1..1000", f.Rounds)
	}
	if cmd.Flags().Lookup("noise") == nil {
		return nil
	}
	if err := cli.OneOf("noise", f.noise, "party", "none"); err != nil {
		return err
	}
	if err := cli.OneOf("pairs", f.Pairs, bench.PairsAuto, bench.PairsYes, bench.PairsNo); err != nil {
		return err
	}
	switch {
	case f.noise == "none" && cmd.Flags().Changed("sigma"):
		return protocol.Fail(protocol.ClassInput, "sigma: contradicts --noise none")
	case f.noise == "none":
		f.Sigma = 0
	case f.Sigma == 0:
		return protocol.Fail(protocol.ClassInput, "sigma: 0 is no noise; --noise none says so")
	}
	return nil
}

func suiteOf(name string) (channel.Suite, error) {
	switch name {
	case "hybrid":
		return channel.SuiteHybrid, nil
	case "x25519":
		return channel.SuiteX25519, nil
	}
	return 0, cli.OneOf("suite", name, "hybrid", "x25519")
}

// commandLine is the command as it was given, so that it can be repeated.
func commandLine() string { return "choir " + strings.Join(os.Args[1:], " ") }

const benchDCALong = `Run a secure sum of N vectors of D coordinates with real parties, compute nodes
and aggregator, including keys, channels, sealing, signatures, agreement and
noise, and compare it with the limits of this machine. The sum is compared with
the plain one.

Channels are set up once per plan. That and sampling noise are reported apart
from the round. A limit's ratio is the fraction of the limit that was reached.`

func (a *tools) benchDCA() *cobra.Command {
	f, phases, wide := &cellFlags{format: "text"}, false, false
	cmd := &cobra.Command{
		Use:     "dca --parties N --dim D",
		Short:   "Measure one secure sum: time, bytes and memory by phase and role",
		Long:    benchDCALong,
		Example: "  choir bench dca\n  choir bench dca --parties 1000 --dim 1000 --phases",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.parse(cmd); err != nil {
				return err
			}
			f.Progress = a.Console.Set
			r, err := bench.Run(cmd.Context(), f.Config)
			if err != nil {
				return err
			}
			r.Command = commandLine()
			return a.Print(f.format, r, func() {
				printCell(a.Out, r)
				if phases || wide {
					printPhases(a.Out, r, wide)
				}
			})
		},
	}
	s := cmd.Flags()
	s.IntVar(&f.Parties, "parties", 10, "number of parties, N")
	s.IntVar(&f.Dim, "dim", 10000, "number of coordinates, d")
	s.IntVar(&f.Computes, "compute-nodes", 3, "number of compute nodes, M")
	s.IntVar(&f.Dropouts, "dropouts", 0, "parties that set up channels and never contribute (stream driver)")
	s.IntVar(&f.Rounds, "rounds", 1, "rounds of a session; under the stream driver one")
	s.IntVar(&f.Repeats, "repeats", 0, "sessions, of which the median one counts; 0: one, or under the host "+
		"driver three if they take less than 20 s")
	s.StringVar(&f.Transport, "transport", bench.Memory,
		"memory, or nats: an embedded server with file-backed JetStream")
	s.DurationVar(&f.rtt, "rtt", 0, "round trip between each member and the broker, over nats")
	s.Float64Var(&f.Link.Mbit, "mbit", 0,
		"megabits a second of each member's link, both ways, over nats; 0: no limit")
	s.StringVar(&f.Driver, "driver", bench.DriverAuto,
		"host: members as in a deployment; stream: their machines alone, for any number; or auto")
	s.BoolVar(&phases, "phases", false, "print the table of phases, too")
	cli.WideFlag(cmd, &wide)
	cli.Values(cmd, "transport", bench.Memory, "nats")
	cli.Values(cmd, "driver", bench.DriverAuto, "host", "stream")
	f.addCell(cmd)
	f.addNoise(cmd)
	return cmd
}

// printCell is the summary of a cell.
func printCell(w io.Writer, r *bench.Result) {
	cli.Wrap(w, "", fmt.Sprintf("N = %d, d = %d, M = %d, %s, %s driver, %s, sigma %d, %s: %s",
		r.Parties, r.Dim, r.Computes, r.Transport, r.Driver, r.Suite, r.Sigma, r.Pairing(), r.Checked))
	cli.Wrap(w, "", fmt.Sprintf("%s, %d cores, %.1f processes competing", r.Machine.CPU, r.Machine.Cores,
		r.Machine.Load))
	if r.Dropouts > 0 {
		cli.Wrap(w, "", fmt.Sprintf("%d of the parties never contribute; the wait for the plan's deadline is not "+
			"counted", r.Dropouts))
	}
	if r.Link != (bench.Link{}) {
		rate := "no limit on the rate"
		if r.Link.Mbit > 0 {
			rate = fmt.Sprintf("%g Mbit/s", r.Link.Mbit)
		}
		cli.Wrap(w, "", fmt.Sprintf("each member's link to the broker: round trip %g s, %s", r.Link.RTT, rate))
	}
	cli.Wrap(w, "", fmt.Sprintf("set-up %.4g s, round %.4g s%s, noise %.4g s (%s), in all %.4g s",
		r.SecondsSetup, r.SecondsRound, sessionsOf(r), r.SecondsNoise, noiseIn(r.NoiseIn), r.SecondsTotal))
	printTraffic(w, r.Traffic)
	cli.Wrap(w, "", fmt.Sprintf("a node stores at most %d bytes and peaks below %d", r.NodeLiveBytes,
		r.NodePeakBytes))
	cli.Wrap(w, "", fmt.Sprintf("limits: keystream and addition %.3g, AES-GCM %.3g bytes per core and second",
		r.Limits.KeystreamAdd, r.Limits.GCM))
	cli.Wrap(w, "", fmt.Sprintf("the set-up takes %.4g cpu s, %.2f times its encapsulations and decapsulations "+
		"alone (%.4g cpu s)", r.CPUSetup, r.SetupRatio, r.LimitSetup))
	if r.SecondsAggregate < r.SecondsRound {
		cli.Wrap(w, "", fmt.Sprintf("the aggregator has the sum after %.4g s; the round ends when the last member "+
			"has checked and stored the result", r.SecondsAggregate))
	}
	if r.Bare != nil {
		cli.Wrap(w, "", fmt.Sprintf("bare transfer of the round's %d bytes in %d messages: %.4g s", r.Bare.Bytes,
			r.Bare.Messages, r.Bare.Seconds))
	}
	cli.Wrap(w, "", fmt.Sprintf("limit ratio %.3f: %s", r.LimitRatio, r.LimitOf))
}

// printTraffic is the table of what members send and receive.
func printTraffic(w io.Writer, traffic []bench.RoleTraffic) {
	fmt.Fprintln(w, "the most that one member sends and receives, in messages and bytes:")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tmembers\tsent\tbytes\treceived\tbytes\t")
	for _, r := range traffic {
		for _, part := range []struct {
			name string
			bench.Flow
		}{{"set-up", r.Setup}, {"a round", r.Round}} {
			fmt.Fprintf(t, "%s, %s\t%d\t%d\t%d\t%d\t%d\t\n", r.Role, part.name, r.Members, part.MessagesSent,
				part.BytesSent, part.MessagesReceived, part.BytesReceived)
		}
		if r.Wire != nil {
			fmt.Fprintf(t, "%s, all on its link\t%d\t\t%d\t\t%d\t\n", r.Role, r.Members, r.Wire.BytesSent,
				r.Wire.BytesReceived)
		}
	}
	_ = t.Flush() // w reports its errors elsewhere
}

// printPhases is the table of phases. Those of the round have a star.
func printPhases(w io.Writer, r *bench.Result, wide bool) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head, more := "\n\trole\tphase\tseconds\tcpu s\tbytes\tof limit", "\tlimit s\tallocs"
	if !wide {
		more = ""
	}
	fmt.Fprintln(t, head+more)
	for _, p := range r.Phases {
		star, limit, ratio := "", "", ""
		if p.InRound {
			star = "*"
		}
		if p.LimitRatio > 0 {
			limit = fmt.Sprintf("%.4g", p.LimitSeconds)
			ratio = fmt.Sprintf("%.0f %%", 100*p.LimitRatio)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.4g\t%.4g\t%d\t%s", star, p.Role, p.Phase, p.Seconds, p.CPUSeconds, p.Bytes,
			ratio)
		if wide {
			fmt.Fprintf(t, "\t%s\t%d", limit, p.Allocs)
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // w reports its errors elsewhere
	fmt.Fprintln(w, "* in the round")
}

// sessionsOf is how much the rounds of several sessions vary.
func sessionsOf(r *bench.Result) string {
	if len(r.Quartiles) == 0 {
		return ""
	}
	return fmt.Sprintf(" (median of %d sessions, quartiles %.4g and %.4g)", r.Repeats, r.Quartiles[0],
		r.Quartiles[2])
}

func noiseIn(where string) string {
	switch where {
	case "":
		return "none"
	case "apart":
		return where
	}
	return "in " + strings.TrimPrefix(where, "seconds_")
}
