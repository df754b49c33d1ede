// Package task makes the applications that learn from a study's data.
package task

import (
	"encoding/json"

	"choir/lab/experiment"
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/global"
	"choir/learn/pvi"
	"choir/session/app"
	"choir/session/terms"
)

// Task is what an application is made for.
type Task struct {
	Features int
	Parties  int
	Rows     int // that train
	Weights  []float64
	Schema   json.RawMessage
}

// Of is the task of a study's data.
func Of(d *experiment.Data) (Task, error) {
	schema, err := d.Schema.Canonical()
	return Task{Features: d.Schema.Dim(), Parties: len(d.Parts), Rows: d.Train.Rows(), Weights: d.Weights(),
		Schema: json.RawMessage(schema)}, err
}

// PVI is DP-PVI on the logistic model with a mean-field posterior, unless c has a model. What c
// leaves at zero is the prior N(0, I), precisions of at least 1, and a grid by the clip.
func (t Task) PVI(c pvi.Config) app.Spec {
	if c.Model == "" {
		c.Model = bayes.Logistic
	}
	c.Family = gauss.MeanField
	c.Features = t.Features
	c.PriorPrecision = 1
	c.DampingBits = 16
	if c.PrecisionFloor == 0 {
		c.PrecisionFloor = 1
	}
	if c.FracBits == 0 {
		c.FracBits = terms.GridFor(c.Clip)
	}
	return &app.PVI{Version: 1, PVI: c, Weights: t.Weights, Schema: t.Schema}
}

// GlobalVI is global inference by secure gradient sums, on the logistic model and by Adam unless
// c has others. MaxRecords is the number of rows unless c has more.
func (t Task) GlobalVI(c global.Config) app.Spec {
	if c.Model == "" {
		c.Model = bayes.Logistic
	}
	if c.Optimiser == "" {
		c.Optimiser = global.Adam
	}
	c.Features = t.Features
	c.PriorPrecision = 1
	c.Records = int64(t.Rows)
	c.MaxRecords = max(c.MaxRecords, c.Records)
	if c.FracBits == 0 {
		c.FracBits = terms.GridFor(c.Clip)
	}
	return &app.GlobalVI{Version: 1, Global: c, Schema: t.Schema}
}

// OneStep is one natural-gradient step of full length.
func OneStep() pvi.Fit { return pvi.Fit{Optimiser: pvi.Natural, Steps: 1, LearningRate: 1} }
