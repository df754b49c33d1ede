package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"choir/cmd/internal/cli"
	"choir/internal/atomicfile"
	"choir/learn/dataset"
	"choir/learn/model"
	"choir/protocol"
	"choir/session/result"
)

const predictLong = `Score a CSV by a model that a session has left (model.json or model.npz in its
results folder). Records are encoded by the model's own public schema; the file
needs its columns, and may have the target. What a record lacks, or a category
that the schema doesn't know, is handled as the plan says and named in the
column "remark".

For every record the table has the expected target (for classes: the probability
of the positive one), the standard deviation of that expectation over the
posterior, which is the model's uncertainty, and for numbers the standard
deviation of the target itself. If the file has targets, scores go to stderr and
into the JSON, with how many targets the schema doesn't know or cuts.`

func (a *tools) predict() *cobra.Command {
	var file, data, format, by string
	cmd := &cobra.Command{
		Use:   "predict --model FILE --data CSV",
		Short: "Score a CSV by a trained model, with uncertainty", Long: predictLong,
		Example: "  choir predict --model result/model.npz --data new.csv\n" +
			"  choir predict --model result/model.json --data new.csv --format json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" || data == "" {
				return protocol.Fail(protocol.ClassInput, "predict: --model and --data are both needed")
			}
			if err := cli.OneOf("format", format, "csv", "json"); err != nil {
				return err
			}
			p, err := predict(file, data, model.Predictive(by))
			if err != nil {
				return err
			}
			return a.printPredictions(p, format)
		},
	}
	s := cmd.Flags()
	s.StringVar(&file, "model", "", "model.json or model.npz of a session, or the folder with it")
	s.StringVar(&data, "data", "", "CSV with a header, or .npy with the columns x1, x2, ...")
	s.StringVar(&format, "format", "csv", "output format: csv or json")
	s.StringVar(&by, "predictive", "", "average of a logistic model over its posterior: draws, quadrature, "+
		"probit or monte-carlo (default draws for a sampler's model, otherwise quadrature)")
	cli.Values(cmd, "format", "csv", "json")
	cli.Values(cmd, "predictive", string(model.Draws), string(model.Quadrature), "probit", "monte-carlo")
	return cmd
}

func predict(file, data string, by model.Predictive) (*result.Predictions, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "model.json")
	}
	m, err := result.ReadModel(file)
	if err != nil {
		return nil, err
	}
	records, err := dataset.LoadRecords(data)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	return m.Predict(records, by)
}

func (a *tools) printPredictions(p *result.Predictions, format string) error {
	if format == "json" {
		return a.Print(format, p, nil)
	}
	b, err := atomicfile.EncodeCSV(p.CSV())
	if err != nil {
		return err
	}
	if _, err := a.Out.Write(b); err != nil {
		return err
	}
	if !p.NoiseIncluded && p.Noise != "" {
		fmt.Fprintf(a.Err, "the model's posterior: %s\n", p.Noise)
	}
	if p.Unscored > 0 {
		fmt.Fprintf(a.Err, "not scored: %s with a target that the model's schema doesn't know: %s\n",
			records(p.Unscored), p.Unfit)
	}
	if s := p.Scores; s != nil && p.Classes != nil {
		fmt.Fprintf(a.Err, "scores of %s with a target: accuracy %.4f, mean log-likelihood %.4f\n",
			records(s.Rows), s.Accuracy, s.LogLikelihood)
	} else if s != nil {
		fmt.Fprintf(a.Err, "scores of %s with a target: root mean squared error %.4g, mean log-likelihood %.4f\n",
			records(s.Rows), s.RMSE, s.LogLikelihood)
	}
	if p.ClippedTargets > 0 {
		fmt.Fprintf(a.Err, "%s with a target outside the range of the model's schema: scored as its end\n",
			records(p.ClippedTargets))
	}
	return nil
}

func records(n int) string {
	if n == 1 {
		return "1 record"
	}
	return fmt.Sprintf("%d records", n)
}
