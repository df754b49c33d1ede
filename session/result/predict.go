package result

import (
	"fmt"
	"math"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/model"
	"choir/protocol"
)

// Predictions are a model's predictions for new records, in the target's units.
type Predictions struct {
	SchemaVersion int         `json:"schema_version"`
	Plan          string      `json:"plan"`
	Model         bayes.Model `json:"model"`
	Target        string      `json:"target"`
	Classes       []string    `json:"classes,omitempty"` // negative, positive; none for numbers
	Predictive    string      `json:"predictive"`
	// Noise tells whether the predictions count the privacy noise.
	Noise         string      `json:"noise"`
	NoiseIncluded bool        `json:"privacy_noise_included"`
	Rows          []Predicted `json:"rows"`
	Ignored       []string    `json:"ignored,omitempty"` // columns of the file that the model does not use
	// Scores are over the Labelled records, those with a target; nil if there are none.
	Labelled int           `json:"labelled"`
	Scores   *bayes.Scores `json:"scores,omitempty"`
	// Unscored is the number of records with a target that the schema doesn't know, and Unfit why the first
	// one doesn't fit. ClippedTargets count as the end of the schema's range.
	Unscored       int    `json:"unscored,omitempty"`
	Unfit          string `json:"unfit,omitempty"`
	ClippedTargets int    `json:"clipped_targets,omitempty"`
}

// Predicted is one record's prediction.
type Predicted struct {
	Record int `json:"record"` // in the file, from 1
	// Mean is the expected target, for classes the probability of the positive one.
	// MeanSD is its standard deviation over the posterior.
	Mean   float64 `json:"mean"`
	MeanSD float64 `json:"mean_sd"`
	// SD is the standard deviation of the target.
	SD float64 `json:"sd"`
	// Class is the likelier one, for classes.
	Class string `json:"class,omitempty"`
	// Remark names the values that the schema replaced or clipped; see
	// dataset.Unlabelled.
	Remark string `json:"remark,omitempty"`
	// None reports that the record has no prediction.
	None bool `json:"none,omitempty"`
}

// Predict predicts records, encoded by the model's schema. by is the approximation of
// the average over the posterior; empty: the draws of a sampler, otherwise quadrature.
func (f *ModelFile) Predict(records *dataset.Records, by model.Predictive) (*Predictions, error) {
	posterior, err := f.posterior()
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "model: %w", err)
	}
	if by == "" {
		by = model.Quadrature
		if f.Draws != nil && len(f.Draws.Values) > 0 {
			by = model.Draws
		}
	}
	if posterior, err = posterior.By(by); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "predict: %w", err)
	}
	schema, err := dataset.ParseSchema(f.Schema)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "model: %w", err)
	}
	rows, err := records.EncodeUnlabelled(schema)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "data: %w", err)
	}
	p := &Predictions{SchemaVersion: 1, Plan: f.Plan, Model: f.Predictive.Model, Target: schema.Target.Name,
		Classes:    schema.Target.Categories,
		Predictive: string(by), Noise: f.Noise, NoiseIncluded: f.NoiseIncluded, Ignored: rows.Ignored,
		Unscored: rows.Unread, ClippedTargets: rows.ClippedTargets}
	if rows.Unfit != nil {
		p.Unfit = rows.Unfit.Error()
	}
	for i := range rows.Rows() {
		row := Predicted{Record: i + 1, Remark: rows.Remarks[i], None: !rows.Usable[i]}
		if rows.Usable[i] {
			made, err := posterior.Predict(rows.Row(i))
			if err != nil {
				return nil, fmt.Errorf("record %d: %w", i+1, err)
			}
			row.fill(made, schema.Target)
		}
		p.Rows = append(p.Rows, row)
	}
	return p, p.score(posterior, rows, schema.Target)
}

// fill undoes the target's scaling.
func (r *Predicted) fill(made bayes.Prediction, target dataset.Column) {
	r.Mean, r.MeanSD, r.SD = made.Mean, made.MeanSD, made.SD
	if t := target.Numeric; t != nil {
		r.Mean, r.MeanSD, r.SD = made.Mean*t.Scale+t.Center, made.MeanSD*t.Scale, made.SD*t.Scale
		return
	}
	r.Class = target.Categories[0]
	if made.Mean > 0.5 {
		r.Class = target.Categories[1]
	}
}

// score compares with the targets of the file, in the target's units.
func (p *Predictions) score(posterior *bayes.Posterior, rows *dataset.Unlabelled,
	target dataset.Column) error {
	var d bayes.Data
	for i, labelled := range rows.Labelled {
		if labelled && rows.Usable[i] {
			d.X, d.Y = append(d.X, rows.Row(i)...), append(d.Y, rows.Y[i])
		}
	}
	p.Labelled = d.Rows()
	if p.Labelled == 0 {
		return nil
	}
	s, err := posterior.Evaluate(d)
	if err != nil {
		return err
	}
	if t := target.Numeric; t != nil { // a density over a wider unit is lower
		s.RMSE *= t.Scale
		s.LogLikelihood -= math.Log(t.Scale)
	}
	p.Scores = &s
	return nil
}

// CSV returns the predictions as a table with a line for each record.
func (p *Predictions) CSV() (header []string, rows [][]any) {
	classes := p.Classes != nil
	header = []string{"record", "mean", "mean_sd", "sd", "remark"}
	if classes {
		header = []string{"record", "probability", "probability_sd", "class", "remark"}
	}
	for _, r := range p.Rows {
		switch {
		case r.None:
			rows = append(rows, []any{r.Record, "", "", "", r.Remark})
		case classes:
			rows = append(rows, []any{r.Record, r.Mean, r.MeanSD, r.Class, r.Remark})
		default:
			rows = append(rows, []any{r.Record, r.Mean, r.MeanSD, r.SD, r.Remark})
		}
	}
	return header, rows
}
