package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"choir/crypto/fixedpoint"
	"choir/internal/atomicfile"
	"choir/internal/strictjson"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/evaluate"
	"choir/learn/gauss"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
)

// ModelFile is the model of a session, in model.json and model.npz. It is public, like
// the aggregates from which it was computed, and has all that a prediction needs. The
// model of a plan of sums predicts nothing.
type ModelFile struct {
	SchemaVersion int       `json:"schema_version"`
	Plan          string    `json:"plan"`
	Application   string    `json:"application"`
	Rounds        uint32    `json:"rounds"`
	FracBits      uint8     `json:"frac_bits"`
	State         []int64   `json:"state"`             // the public model, grid units
	Columns       []string  `json:"columns,omitempty"` // names of the weights
	Mean          []float64 `json:"mean,omitempty"`    // posterior mean; the sum under a plan of sums
	// Mean and SD are of single weights, and Predictive is of all together: its means may be
	// others, and its variances do not count correlations of columns that are not known.
	SD []float64 `json:"sd,omitempty"`
	// Covariance is that of single weights, by row, where it isn't the predictive one in units of SD.
	Covariance [][]float64 `json:"covariance,omitempty"`
	// Noise tells whether the posterior counts the privacy noise, in a sentence; NoiseIncluded
	// for programs. Mean, SD and Predictive are those of this posterior.
	Noise         string      `json:"noise,omitempty"`
	NoiseIncluded bool        `json:"privacy_noise_included"`
	Predictive    *Predictive `json:"predictive,omitempty"`
	Draws         *Draws      `json:"draws,omitempty"` // of a sampler, over which predictions are averaged
	// Plain is the posterior as if the noise on the sums were data, where it is another one.
	Plain  *Plain          `json:"plain,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"` // how records are encoded, canonical
	// Centres has the position of the mean of every column that is encoded by its range, in
	// [-1, 1] of the range; empty unless the plan measured them. The weights are those of
	// columns that are centred there; see package centre.
	Centres []float64 `json:"centres,omitempty"`
	// Units has the unit of every such column after centring, in halves of its range.
	Units []float64 `json:"units,omitempty"`
	// Missing has where a missing number of every encoded column is, where statistics measured it. After
	// centring it is at the centre, and at 0 otherwise.
	Missing []float64 `json:"missing,omitempty"`
	// Evaluation has the scores on the parties' held-out records, by round; empty unless the plan
	// has an evaluation.
	Evaluation []evaluate.Point `json:"evaluation,omitempty"`
	// Warnings names what the public states show to be wrong with the run.
	Warnings []string `json:"warnings,omitempty"`
}

// Predictive is a posterior and its likelihood.
type Predictive struct {
	bayes.Likelihood
	// NoiseSDFrom is what a linear model's noise_sd is from: "plan", an assumption of the plan's,
	// "residuals" if residual rounds measured it, or "statistics".
	NoiseSDFrom string `json:"noise_sd_from,omitempty"`
	// Measured has the interval of what residual rounds measured; nil if they did not.
	Measured *bayes.Measured `json:"measured_noise,omitempty"`
	Natural  []float64       `json:"natural"` // in the layout of package gauss
}

// Plain is a posterior that takes the revealed sums for exact.
type Plain struct {
	Note    string       `json:"note"`
	Family  gauss.Family `json:"family"`
	Natural []float64    `json:"natural"`
	Mean    []float64    `json:"mean"`
	SD      []float64    `json:"sd"`
}

// Notes about the privacy noise in a posterior.
const (
	noteIncluded = "privacy noise included"
	noteExcluded = "privacy noise not included"
	noteNone     = "the session added no privacy noise"
)

// ErrNoPredictions reports a model file without a posterior.
var ErrNoPredictions = errors.New("the file holds no posterior of a model that predicts")

// NewModelFile returns the model file of a plan's public state, to which the trace led.
func NewModelFile(s protocol.BoundPlan, state []int64, trace []app.Revealed) (*ModelFile, error) {
	p := s.Plan
	f := &ModelFile{SchemaVersion: 1, Plan: s.ID.String(), Application: p.Application, Rounds: p.Rounds,
		FracBits: p.FracBits, State: state}
	if p.Application == app.NameSum || p.Application == app.NameTable || p.Application == app.NameShuffle {
		f.Mean = make([]float64, len(state))
		(fixedpoint.Grid{FracBits: p.FracBits}).Float(f.Mean, state)
		return f, nil
	}
	a, err := app.Of(p)
	if err != nil {
		return nil, err
	}
	schema, err := a.Encoding()
	if err != nil {
		return nil, err
	}
	if f.Schema, err = schema.Canonical(); err != nil {
		return nil, err
	}
	if f.Warnings, err = Warnings(p, lastStates(state, trace)...); err != nil {
		return nil, err
	}
	if err = f.setFrame(p, a, state); err != nil {
		return nil, err
	}
	if f.Evaluation, err = app.Evaluations(p, a, trace); err != nil {
		return nil, err
	}
	posterior, err := f.choose(p, a, trace)
	if err != nil {
		return nil, err
	}
	f.Predictive = predictiveOf(a, posterior)
	if m, ok := a.(*app.MCMC); ok {
		if f.Draws, err = drawsOf(m, p, state); err != nil {
			return nil, err
		}
	}
	f.Columns = f.Predictive.WeightNames(schema.EncodedColumns())
	f.Mean = posterior.Mean()
	f.SD = posterior.SD()
	f.setCovariance(posterior, schema)
	if f.NoiseIncluded {
		f.Warnings = append(f.Warnings, AwareWarnings(p, posterior, f.Warnings)...)
	}
	return f, nil
}

// lastStates are the last different states of a trace, up to three, the final one last.
func lastStates(state []int64, trace []app.Revealed) [][]int64 {
	all := [][]int64{state}
	for i := len(trace) - 1; i >= 0 && len(all) < 3; i-- {
		if !slices.Equal(trace[i].Before, all[0]) {
			all = slices.Insert(all, 0, trace[i].Before)
		}
	}
	return all
}

// choose returns the noise-aware posterior where the method has one, and sets what the file
// says of it.
func (f *ModelFile) choose(p *protocol.Plan, a app.Spec, trace []app.Revealed) (*bayes.Posterior, error) {
	plain, err := a.Posterior(p, f.State)
	if err != nil {
		return nil, err
	}
	if p.Noise == protocol.NoiseNone {
		f.Noise = noteNone
		return plain, nil
	}
	aware, err := NoiseAware(p, a, trace)
	if errors.Is(err, pvi.ErrUncorrected) {
		f.Noise = fmt.Sprintf("%s; too narrow where the noise is large (%v)", noteExcluded, err)
		return plain, nil
	}
	if err != nil {
		return nil, err
	}
	f.Noise = noteIncluded
	f.NoiseIncluded = true
	if a.Name() != app.NameStatistics && a.Name() != app.NameMCMC {
		f.Plain = &Plain{Note: noteExcluded, Family: plain.Likelihood().Family, Natural: plain.Natural(),
			Mean: plain.Mean(), SD: plain.SD()}
	}
	return aware, nil
}

// NoiseAware returns the posterior that counts the privacy noise on the rounds of a trace. The
// error is pvi.ErrUncorrected if there is no such posterior: for the method, or for a trace
// without rounds.
func NoiseAware(p *protocol.Plan, a app.Spec, trace []app.Revealed) (*bayes.Posterior, error) {
	if len(trace) == 0 {
		return nil, fmt.Errorf("%w: no revealed sum is on record here", pvi.ErrUncorrected)
	}
	return a.NoiseAware(p, trace)
}

// Write writes model.json, model.npz and model.csv in a folder, and draws.csv where there are
// draws, and evaluation.csv where the plan has an evaluation. model.csv has a line for each
// weight with its marginal mean and standard deviation,
// or for each coordinate of a sum.
func (f *ModelFile) Write(dir string) error {
	if err := atomicfile.WriteJSON(filepath.Join(dir, "model.json"), f); err != nil {
		return err
	}
	arrays, err := f.arrays()
	if err != nil {
		return err
	}
	var npz bytes.Buffer
	if err := arrays.WriteNPZ(&npz); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, "model.npz"), npz.Bytes()); err != nil {
		return err
	}
	if f.Draws != nil {
		header, rows := f.drawTable()
		if err := atomicfile.WriteCSV(filepath.Join(dir, drawsFile), header, rows); err != nil {
			return err
		}
	}
	if len(f.Evaluation) > 0 {
		header, rows := f.evaluationTable()
		if err := atomicfile.WriteCSV(filepath.Join(dir, evaluationFile), header, rows); err != nil {
			return err
		}
	}
	header, rows := f.table()
	return atomicfile.WriteCSV(filepath.Join(dir, "model.csv"), header, rows)
}

// table returns the contents of model.csv.
func (f *ModelFile) table() (header []string, rows [][]any) {
	header, rows = []string{"weight", "mean", "sd"}, make([][]any, len(f.Mean))
	for i, m := range f.Mean {
		switch {
		case f.Predictive == nil:
			header, rows[i] = []string{"coordinate", "sum"}, []any{i, m}
		default:
			rows[i] = []any{f.Columns[i], m, f.SD[i]}
		}
	}
	return header, rows
}

// arrays are the file's numbers by name: mean and sd by weight, natural, covariance in the full family or
// with categories, draws by draw, then chain, and weight; header is the rest as JSON in UTF-8.
func (f *ModelFile) arrays() (dataset.Arrays, error) {
	head := *f
	head.Mean, head.SD, head.Covariance = nil, nil, nil
	all := dataset.Arrays{"mean": dataset.NewVector(f.Mean)}
	if f.Predictive != nil {
		p := *f.Predictive
		p.Natural = nil
		head.Predictive = &p
		all["sd"], all["natural"] = dataset.NewVector(f.SD), dataset.NewVector(f.Predictive.Natural)
		if p.Family == gauss.Full || f.Covariance != nil {
			posterior, err := f.posterior()
			if err != nil {
				return nil, err
			}
			d := len(f.Mean)
			all["covariance"] = &dataset.Array{Shape: []int{d, d}}
			for i := range d {
				for j := range d {
					all["covariance"].Data = append(all["covariance"].Data, posterior.Covariance().At(i, j))
				}
			}
		}
	}
	if f.Draws != nil {
		d := *f.Draws
		all["draws"] = d.array()
		d.Values = nil
		head.Draws = &d
	}
	text, err := app.Canonical(head)
	if err != nil {
		return nil, err
	}
	all["header"] = dataset.NewText(text)
	return all, nil
}

// ReadModel reads a model file, in JSON unless its name ends in .npz, and checks that
// it is complete and consistent.
func ReadModel(path string) (*ModelFile, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "model: %w", err)
	}
	parse := parseModel
	if strings.EqualFold(filepath.Ext(path), ".npz") {
		parse = parseModelArrays
	}
	f, err := parse(b)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "model: %s: %w", path, err)
	}
	return f, nil
}

func parseModel(b []byte) (*ModelFile, error) {
	if err := strictjson.Check(b); err != nil {
		return nil, fmt.Errorf("not a model: %w", err)
	}
	f := new(ModelFile)
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		return nil, fmt.Errorf("not a model: %w", err)
	}
	if d.More() {
		return nil, errors.New("not a model: something follows it")
	}
	return f, nil
}

func parseModelArrays(b []byte) (*ModelFile, error) {
	all, err := dataset.ReadNPZ(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if all["header"] == nil || all["mean"] == nil {
		return nil, errors.New("not a model: it has no arrays called header and mean")
	}
	f, err := parseModel(all["header"].Bytes())
	if err != nil {
		return nil, err
	}
	f.Mean = all["mean"].Data
	if f.Predictive == nil {
		return f, nil
	}
	if all["sd"] == nil || all["natural"] == nil {
		return nil, errors.New("not a model: it has no arrays called sd and natural")
	}
	f.SD, f.Predictive.Natural = all["sd"].Data, all["natural"].Data
	if err := f.fillCovariance(all["covariance"]); err != nil {
		return nil, err
	}
	if f.Draws != nil {
		return f, f.Draws.fill(all["draws"], len(f.Mean))
	}
	return f, nil
}

// check compares the parts with each other.
func (f *ModelFile) check() error {
	if f.SchemaVersion != 1 {
		return fmt.Errorf("schema_version %d isn't 1", f.SchemaVersion)
	}
	if f.Predictive == nil {
		return nil
	}
	schema, err := dataset.ReadSchema(bytes.NewReader(f.Schema))
	if err != nil {
		return err
	}
	if f.Schema, err = schema.Canonical(); err != nil { // the file may be indented
		return err
	}
	p, err := f.posterior()
	if err != nil {
		return err
	}
	if schema.Dim() != f.Predictive.Features {
		return fmt.Errorf("its schema encodes %d columns, its model has %d", schema.Dim(), f.Predictive.Features)
	}
	if len(f.Mean) != len(p.Mean()) || len(f.SD) != len(f.Mean) || len(f.Columns) != len(f.Mean) {
		return fmt.Errorf("%d means, %d standard deviations and %d names of %d weights", len(f.Mean), len(f.SD),
			len(f.Columns), len(p.Mean()))
	}
	for i, m := range p.Mean() {
		if tol := 1e-6 * (1 + math.Abs(m)); math.Abs(m-f.Mean[i]) > tol {
			return fmt.Errorf("mean %d isn't the posterior's", i)
		}
	}
	return nil
}
