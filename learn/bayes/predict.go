package bayes

import (
	"errors"
	"fmt"
	"math"

	"choir/learn/model"
)

// Prediction is the posterior predictive of one record.
type Prediction = model.Prediction

// Scores measure predictions on records that were not learnt from.
type Scores struct {
	Rows int `json:"rows"`
	// Accuracy is the share of rows on the right side of probability 1/2. It is 0 for a
	// model of numbers, where it has no meaning.
	Accuracy float64 `json:"accuracy"`
	// RMSE is the root of the mean squared distance from Prediction.Mean to the target.
	RMSE float64 `json:"rmse"`
	// LogLikelihood is the mean log predictive probability of a class, or density
	// of a number, of the targets, in nats per row.
	LogLikelihood float64 `json:"log_likelihood"`
}

// ErrNoPredictor: the model is computed by a program and cannot predict here.
var ErrNoPredictor = errors.New("only the program that computes the model can predict")

// Predict returns the predictive distribution at features x, of length Features. Errors: ErrShape,
// ErrNoPredictor, model.ErrPredictive.
func (p *Posterior) Predict(x []float64) (Prediction, error) {
	if len(x) != p.of.Features {
		return Prediction{}, fmt.Errorf("predict: %d features, want %d: %w", len(x), p.of.Features, ErrShape)
	}
	predictor, err := p.predictor()
	if err != nil {
		return Prediction{}, fmt.Errorf("predict: %w", err)
	}
	if p.recode != nil {
		x = p.recode(x)
	}
	return predictor.Predict(x), nil
}

// Evaluate scores the predictive distribution on records. It needs at least one. Errors: ErrShape,
// ErrData.
func (p *Posterior) Evaluate(d Data) (Scores, error) {
	if err := p.of.Check(d); err != nil {
		return Scores{}, fmt.Errorf("evaluate: %w", err)
	}
	predictor, err := p.predictor()
	if err != nil {
		return Scores{}, fmt.Errorf("evaluate: %w", err)
	}
	if d.Rows() == 0 {
		return Scores{}, fmt.Errorf("evaluate: %w: no rows", ErrData)
	}
	s := Scores{Rows: d.Rows()}
	n, binary := float64(d.Rows()), p.of.kind().Binary
	for i, y := range d.Y {
		x := d.X[i*p.of.Features : (i+1)*p.of.Features]
		if p.recode != nil {
			x = p.recode(x)
		}
		mean, logDensity := predictor.Score(x, y)
		s.RMSE += (mean - y) * (mean - y) / n
		s.LogLikelihood += logDensity / n
		if binary && (mean > 0.5) == (y == 1) {
			s.Accuracy++
		}
	}
	s.Accuracy /= n
	s.RMSE = math.Sqrt(s.RMSE)
	return s, nil
}

// By returns the posterior with another way of averaging predictions over it; the default
// is model.Quadrature. Errors: model.ErrPredictive, ErrNoPredictor.
func (p *Posterior) By(way model.Predictive) (*Posterior, error) {
	with := *p
	with.by = way
	_, err := with.predictor()
	return &with, err
}

func (p *Posterior) predictor() (model.Predictor, error) {
	if p.by == model.Draws && len(p.draws) == 0 {
		return nil, fmt.Errorf("%w: the posterior has no draws", model.ErrPredictive)
	}
	if len(p.draws) > 0 && (p.by == "" || p.by == model.Draws) {
		return model.LogisticDraws(p.draws), nil
	}
	kind := p.of.kind()
	if kind.Predictor == nil {
		return nil, fmt.Errorf("model %q: %w", p.of.Model, ErrNoPredictor)
	}
	return model.Approximate(kind.Predictor(p.of.settings(), p.moments), p.by)
}
