package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/run"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

type sumFlags struct {
	input, transport, format string
	computes, bits           int
	sigma                    float64
}

const sumLong = `Sum the rows of a matrix so that no one sees a row: each row belongs to a party,
which secret-shares it to the compute nodes. The file is a CSV of numbers, with
or without a header, or a NumPy .npy file, of at least two rows.

Values are rounded to multiples of 2^-f, and their sum is exact. --sigma adds
noise of that standard deviation to the sum, a part by each party; text output
then leaves out the digits that are noise alone.`

func (a *tools) sum() *cobra.Command {
	f := &sumFlags{}
	cmd := &cobra.Command{
		Use:   "sum --input FILE",
		Short: "Sum the rows of a matrix, one party per row", Long: sumLong, Args: cobra.NoArgs,
		Example: "  choir sum --input rows.csv\n  choir sum --input rows.npy --sigma 10 --format json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runSum(cmd, f) },
	}
	s := cmd.Flags()
	s.StringVar(&f.input, "input", "", "CSV or .npy file")
	s.IntVar(&f.computes, "computes", 3, "compute nodes")
	s.Float64Var(&f.sigma, "sigma", 0, "standard deviation of the noise on the sum, in the inputs' unit")
	s.IntVar(&f.bits, "frac-bits", -1, "resolution 2^-f; -1: the finest that fits, at most 2^-40")
	s.StringVar(&f.transport, "transport", "auto",
		"nats (embedded server), memory, or auto: nats for up to 300 rows")
	f.format = "text"
	cli.FormatFlag(cmd, &f.format)
	cli.Values(cmd, "transport", "auto", "nats", "memory")
	cli.FilesOf(cmd, "csv", "input")
	return cmd
}

// manyRows is the number of rows above which "auto" is "memory": a connection
// for each row would only cost time.
const manyRows = 300

// sumResult is what --format json prints.
type sumResult struct {
	SchemaVersion int           `json:"schema_version"`
	Sum           []json.Number `json:"sum"`
	Parties       int           `json:"parties"`
	ComputeNodes  int           `json:"compute_nodes"`
	FracBits      uint8         `json:"frac_bits"`
	Sigma         float64       `json:"sigma"`
	Seconds       float64       `json:"seconds"`
}

func (a *tools) runSum(cmd *cobra.Command, f *sumFlags) error {
	if err := cli.CheckFormat(f.format); err != nil {
		return err
	}
	if err := cli.OneOf("transport", f.transport, "auto", "nats", "memory"); err != nil {
		return err
	}
	if f.input == "" {
		return protocol.Fail(protocol.ClassInput, "input: name a file")
	}
	m, err := dataset.LoadMatrix(f.input)
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "input: %w", err)
	}
	if m.Rows == 1 {
		return protocol.Fail(protocol.ClassInput, "input: %s has one row: the sum would be that party's row",
			f.input)
	}
	r := &run.RowSum{Rows: m.Rows, Cols: m.Cols, Data: m.Data, Columns: m.Columns, Computes: f.computes,
		FracBits: f.bits, Sigma: f.sigma}
	if f.transport == "nats" || f.transport == "auto" && m.Rows <= manyRows {
		r.Network = embeddedBroker
	}
	out, err := r.Run(cmd.Context())
	if err != nil {
		return err
	}
	res := sumResult{SchemaVersion: 1, Sum: decimals(out), Parties: m.Rows, ComputeNodes: f.computes,
		FracBits: out.FracBits, Sigma: f.sigma, Seconds: out.Seconds}
	return a.Print(f.format, res, func() {
		for _, v := range res.Sum {
			fmt.Fprintln(a.Out, significant(v, f.sigma))
		}
	})
}

// significant leaves out the decimals that are noise alone: the last one kept
// is worth a tenth of the noise's standard deviation, or less.
func significant(v json.Number, sigma float64) string {
	x, ok := new(big.Rat).SetString(v.String())
	if !ok || !(sigma > 0) {
		return v.String()
	}
	text := x.FloatString(max(0, int(math.Ceil(1-math.Log10(sigma)))))
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-") // no negative zero
	}
	return text
}

// decimals writes units of 2^-f as exact decimal numbers.
func decimals(s *run.Summed) []json.Number {
	one := new(big.Int).Lsh(big.NewInt(1), uint(s.FracBits))
	out := make([]json.Number, len(s.Units))
	for i, u := range s.Units {
		text := new(big.Rat).SetFrac(big.NewInt(u), one).FloatString(int(s.FracBits))
		if strings.Contains(text, ".") {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		out[i] = json.Number(text)
	}
	return out
}

// embeddedBroker starts a NATS server in this process for the members of a sum.
func embeddedBroker(ctx context.Context, s protocol.BoundPlan) (run.Connect, func(), error) {
	server, err := embedded.Start(embedded.Config{})
	if err != nil {
		return nil, nil, fmt.Errorf("embedded server: %w", err)
	}
	c := natsbus.Config{Server: server, Storage: natsbus.Memory}
	return run.OverNATS(ctx, s, c), server.Shutdown, nil
}
