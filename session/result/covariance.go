package result

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
)

// ownCovariance reports whether single weights have a covariance that isn't the predictive one in units of
// SD: counting the noise, with categories. What no record tells of them has the prior's law. Of many weights
// in the mean-field family there is none.
func (f *ModelFile) ownCovariance(schema *dataset.Schema) bool {
	return f.NoiseIncluded && len(schema.Levels()) > 0 &&
		(f.Predictive.Family == gauss.Full || len(f.Mean) <= bayes.MostCovaried)
}

// setCovariance keeps the covariance of single weights where it is their own.
func (f *ModelFile) setCovariance(q *bayes.Posterior, schema *dataset.Schema) {
	if !f.ownCovariance(schema) {
		return
	}
	c := q.Covariance()
	for i := range f.Mean {
		f.Covariance = append(f.Covariance, mat.Row(nil, i, c))
	}
}

// fillCovariance takes it from the array of a file whose header does not have it.
func (f *ModelFile) fillCovariance(a *dataset.Array) error {
	schema, err := dataset.ParseSchema(f.Schema)
	if err != nil || a == nil || len(a.Shape) != 2 || !f.ownCovariance(schema) {
		return err
	}
	f.Covariance = [][]float64{}
	for i := range a.Shape[0] {
		f.Covariance = append(f.Covariance, a.Data[i*a.Shape[1]:(i+1)*a.Shape[1]])
	}
	return nil
}

// errCovariance reports a matrix that isn't the covariance of the weights.
var errCovariance = errors.New("its covariance isn't one")

// covariance checks and returns the covariance of single weights; nil if they have none of their own.
func (f *ModelFile) covariance(schema *dataset.Schema) (*mat.SymDense, error) {
	d := len(f.Mean)
	switch {
	case !f.ownCovariance(schema) && f.Covariance == nil:
		return nil, nil
	case !f.ownCovariance(schema):
		return nil, fmt.Errorf("%w of its weights: the predictive one has theirs", errCovariance)
	case len(f.Covariance) != d || len(f.SD) != d:
		return nil, fmt.Errorf("%w of %d weights: %d rows", errCovariance, d, len(f.Covariance))
	}
	c := mat.NewSymDense(d, nil)
	for i, row := range f.Covariance {
		if len(row) != d {
			return nil, fmt.Errorf("%w of %d weights: row %d has %d numbers", errCovariance, d, i, len(row))
		}
		for j, v := range row {
			if j < i && v != f.Covariance[j][i] {
				return nil, fmt.Errorf("%w: entries %d, %d and %d, %d differ", errCovariance, i, j, j, i)
			}
			c.SetSym(i, j, v)
		}
		if square := f.SD[i] * f.SD[i]; !(math.Abs(row[i]-square) <= 1e-6*square) {
			return nil, fmt.Errorf("%w: variance %d isn't that of sd", errCovariance, i)
		}
	}
	if !definite(c) {
		return nil, fmt.Errorf("%w: it isn't positive definite", errCovariance)
	}
	return c, nil
}

// definite reports whether a matrix has no eigenvalue below 0, but for rounding: what is untold of levels may
// be so long next to their differences that these are lost in it.
func definite(c *mat.SymDense) bool {
	if new(mat.Cholesky).Factorize(c) {
		return true
	}
	var e mat.EigenSym
	return e.Factorize(c, false) && slices.Min(e.Values(nil)) >= -1e-12*mat.Trace(c)
}
