// Package poisson is a model in one folder, as an example of how to add one: Poisson
// regression, y ~ Poisson(exp(x'w)) with a Gaussian prior on the weights w.
//
// Shard has the methods of model.Site, the likelihood of one part of a party's data.
// Party lets a party of a session compute its updates by shards of this model, while
// Choir keeps what privacy rests on: clipping, rounding, noise and the secret shares. The
// session's plan has the model "external" with one parameter for each weight.
//
// A model that every member shall know by name has the same Shard in package model, with
// a row in model.Lookup, and a model.Predictor.
package poisson

import (
	"context"
	"math"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
	"choir/learn/pvi"
)

const (
	steps    = 60  // natural-gradient steps of an update
	rate     = 0.5 // of each step
	exponent = 50  // largest log rate that is computed
	floor    = 0.1 // least precision on the way
)

// Shard is one part of a party's records: a model.Site in the mean-field family.
type Shard struct {
	features int
	x, y     []float64 // x is row-major, features numbers for each count in y
}

var _ model.Site = (*Shard)(nil)

// NewShard returns a shard with these records. The last column of x is the constant 1.
func NewShard(features int, x, y []float64) *Shard { return &Shard{features, x, y} }

// Rows returns the number of records.
func (s *Shard) Rows() int { return len(s.y) }

// Update writes the change of natural parameters, this shard's posterior minus q, into
// dst. It takes natural-gradient steps on the local free energy
//
//	E_q'[log p(y | x, w)] - KL(q' || cavity)
//
// whose data term is in closed form: under q' with means m and variances v, the expected
// rate of a record is exp(x'm + sum of x_j^2 v_j / 2). A step moves the shard's factor
// towards the Gaussian with the gradient and the curvature at the current q' [KL17].
func (s *Shard) Update(_ *model.Workspace, dst, q, cavity []float64) {
	space := gauss.Space{Family: gauss.MeanField, Features: s.features}
	now := append([]float64(nil), q...)
	factor := make([]float64, space.Dim())
	for i := range factor {
		factor[i] = q[i] - cavity[i]
	}
	target := make([]float64, space.Dim())
	for range steps {
		s.target(target, now)
		for i := range factor {
			factor[i] += rate * (target[i] - factor[i])
			now[i] = cavity[i] + factor[i]
		}
		for j := range s.features { // an improper cavity must not lead to an improper posterior
			at := space.Index(j, j)
			now[at] = min(now[at], -floor/2)
		}
	}
	for i := range dst {
		dst[i] = now[i] - q[i]
	}
}

// target writes the natural parameters of the Gaussian that has the gradient and the
// curvature of the expected log-likelihood at now.
func (s *Shard) target(dst, now []float64) {
	n := s.features
	clear(dst)
	for r, y := range s.y {
		x := s.x[r*n : (r+1)*n]
		log := 0.0
		for j, v := range x {
			variance := -1 / (2 * now[n+j])
			log += v*now[j]*variance + v*v*variance/2
		}
		expected := math.Exp(min(log, exponent))
		for j, v := range x {
			mean := -now[j] / (2 * now[n+j])
			curvature := v * v * expected
			dst[j] += v*(y-expected) + curvature*mean
			dst[n+j] -= curvature / 2
		}
	}
}

// Party computes a party's updates with shards of this model.
type Party struct {
	shards []*Shard
}

var _ pvi.Outside = Party{}

// NewParty returns a party with one shard for each part of its data (bayes.Data.Split).
func NewParty(features int, parts []bayes.Data) Party {
	var p Party
	for _, d := range parts {
		p.shards = append(p.shards, NewShard(features, d.X, d.Y))
	}
	return p
}

// Updates implements pvi.Outside. Each shard's update depends on its own records only.
func (p Party) Updates(ctx context.Context, w pvi.OutsideWork) ([][]float64, error) {
	updates := make([][]float64, len(p.shards))
	for k, s := range p.shards {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		updates[k] = make([]float64, len(w.Global))
		s.Update(nil, updates[k], w.Global, w.Cavity[k])
	}
	return updates, nil
}
