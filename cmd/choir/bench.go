package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"choir/crypto/channel"
	"choir/lab/bench"
	"choir/protocol"
)

func (a *app) bench() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure the protocol beside the limits of this machine", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.benchDCA(), a.benchTable1(), a.benchScale(), a.benchDocs(),
		a.benchPart("noise", "Measure the noise samplers at sigma = 2^4 to 2^30"),
		a.benchPart("channel", "Measure setting up channels in both suites"),
		a.benchPart("verify", "Measure signatures, alone and in batches with and without a bad one"),
		a.benchPart("audit", "Measure commitments at d = 1e2 to 1e5"))
	return cmd
}

// cellFlags are a cell as the command line writes it.
type cellFlags struct {
	bench.Config
	suite, noise, format string
}

// addCell adds the flags that every verb with cells has.
func (f *cellFlags) addCell(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.suite, "suite", "hybrid", "cipher suite: hybrid or x25519")
	s.StringVar(&f.noise, "noise", "party", "who adds noise: party or none")
	s.Uint64Var(&f.Sigma, "sigma", 1<<10, "standard deviation of a party's noise, grid units")
	s.StringVar(&f.Pairs, "pairs", bench.PairsAuto, "two coordinates in a field element: auto, yes or no; auto: under the stream driver where the headroom allows it")
	s.IntVar(&f.Workers, "workers", 0, "goroutines that step machines and measure limits; 0: one a core")
	formatFlag(cmd, &f.format)
}

// parse turns names into values.
func (f *cellFlags) parse(cmd *cobra.Command) (err error) {
	if err := checkFormat(f.format); err != nil {
		return err
	}
	if f.Suite, err = suiteOf(f.suite); err != nil {
		return err
	}
	if err := oneOf("noise", f.noise, "party", "none"); err != nil {
		return err
	}
	if err := oneOf("pairs", f.Pairs, bench.PairsAuto, bench.PairsYes, bench.PairsNo); err != nil {
		return err
	}
	switch {
	case f.Rounds < 1: // in a Config, 0 stands for the default
		return protocol.Fail(protocol.ClassInput, "rounds: %d isn't in 1..1000", f.Rounds)
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
	return 0, oneOf("suite", name, "hybrid", "x25519")
}

// commandLine is the command as it was given, for whoever repeats it.
func commandLine() string { return "choir " + strings.Join(os.Args[1:], " ") }

func (a *app) benchDCA() *cobra.Command {
	f := &cellFlags{format: "text"}
	cmd := &cobra.Command{
		Use:   "dca --parties N --dim D",
		Short: "Measure one secure sum: time, bytes and memory by phase and role",
		Long: `Run a secure sum of N vectors of D coordinates with real parties, compute nodes
and aggregator, with keys, channels, sealing, signatures, agreement and noise, and
measure it beside the limits of this machine. The sum is held against the plain sum.

Channels are set up once a plan and are reported beside the round, as is sampling
noise. A limit's ratio is the fraction of the limit that was reached.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.parse(cmd); err != nil {
				return err
			}
			r, err := bench.Run(cmd.Context(), f.Config)
			if err != nil {
				return err
			}
			r.Command = commandLine()
			return a.print(f.format, r, func() { printCell(a.out, r) })
		},
	}
	cmd.Flags().IntVar(&f.Parties, "parties", 10, "parties, N")
	cmd.Flags().IntVar(&f.Dim, "dim", 10000, "coordinates, d")
	cmd.Flags().IntVar(&f.Computes, "compute-nodes", 3, "compute nodes, M")
	cmd.Flags().IntVar(&f.Rounds, "rounds", 1, "rounds of the session; under the stream driver, sessions")
	cmd.Flags().StringVar(&f.Transport, "transport", bench.Memory, "memory, or nats: an embedded server with file-backed JetStream")
	cmd.Flags().StringVar(&f.Driver, "driver", bench.DriverAuto, "host: members as in a deployment; stream: their machines alone, for any number; auto")
	f.addCell(cmd)
	return cmd
}

func printCell(w io.Writer, r *bench.Result) {
	fmt.Fprintf(w, "N = %d, d = %d, M = %d, %s, %s driver, %s, sigma %d, %s: %s\n", r.Parties, r.Dim, r.Computes, r.Transport, r.Driver, r.Suite, r.Sigma, r.Pairing(), r.Checked)
	fmt.Fprintf(w, "%s, %d cores, %.1f processes competing\n\n", r.Machine.CPU, r.Machine.Cores, r.Machine.Load)
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "role\tphase\tin round\tseconds\tcpu seconds\tbytes\tallocs\tlimit seconds\tof the limit")
	for _, p := range r.Phases {
		limit, ratio := "", ""
		if p.LimitRatio > 0 {
			limit, ratio = fmt.Sprintf("%.4g", p.LimitSeconds), fmt.Sprintf("%.0f %%", 100*p.LimitRatio)
		}
		fmt.Fprintf(t, "%s\t%s\t%t\t%.4g\t%.4g\t%d\t%d\t%s\t%s\n", p.Role, p.Phase, p.InRound, p.Seconds, p.CPUSeconds, p.Bytes, p.Allocs, limit, ratio)
	}
	_ = t.Flush() // stdout's own errors show nowhere better
	fmt.Fprintf(w, "\nset-up %.4g s, round %.4g s, noise %.4g s (%s), in all %.4g s\n", r.SecondsSetup, r.SecondsRound, r.SecondsNoise, noiseIn(r.NoiseIn), r.SecondsTotal)
	fmt.Fprintf(w, "a party uploads %d bytes a round and %d once; a node holds %d bytes at the most and peaks below %d\n", r.UploadBytesPerParty, r.UploadSetupBytes, r.NodeLiveBytes, r.NodePeakBytes)
	fmt.Fprintf(w, "limits: keystream and addition %.3g, AES-GCM %.3g bytes a core and second\n", r.Limits.KeystreamAdd, r.Limits.GCM)
	if r.Bare != nil {
		fmt.Fprintf(w, "bare transfer of the round's %d bytes in %d messages: %.4g s\n", r.Bare.Bytes, r.Bare.Messages, r.Bare.Seconds)
	}
	fmt.Fprintf(w, "limit ratio %.3f: %s\n", r.LimitRatio, r.LimitOf)
}

func noiseIn(where string) string {
	if where == "" {
		return "none"
	}
	return "in " + strings.TrimPrefix(where, "seconds_")
}
