package dataset

import (
	"fmt"
	"math"
	"strconv"
)

// Generator makes a documented data set for demonstrations.
//
// Feature j is x_j = s_j (m_j + z_j) where z is Gaussian with unit variances and
// correlation Correlation^|i-j| (a first-order autoregression over the columns), s_j
// runs through 0.01, 0.1, 1, 10, 100, 1000 and m_j is an integer in -3..3. The public
// range of x_j is s_j (m_j +- 4), its public centre s_j m_j and its public scale s_j, so
// that encoded features have about unit variance and magnitude at most 4. Values are
// written with six significant digits.
//
// With the encoded row e(x) and weights w from the seed, scaled so that w'e(x) has
// variance Signal^2, or with Prior as N(0, I) draws them, b among them:
//
//	logistic: P(y = 1) = 1 / (1 + exp(-(w'e(x) + b)))
//	linear:   y = w'e(x) + b + Noise * Gaussian
//
// Everything is a function of the fields; see DefaultGenerator.
type Generator struct {
	Rows        int
	Features    int
	Linear      bool    // a real target instead of a label
	Intercept   float64 // b
	Signal      float64 // standard deviation of w'e(x)
	Noise       float64 // standard deviation of the residual, linear only
	Correlation float64 // of neighbouring features, in (-1, 1)
	Prior       bool    // Weights are standard normal; Intercept and Signal count for nothing
	Seed        uint64
}

// Limits and names of generated data.
const (
	generatedReach  = 4 // public range, in scales around the centre
	generatedDigits = 6 // significant digits of a written value
	generatedTarget = "y"
)

// DefaultGenerator is the demonstration's data: 20,000 x 20, logistic unless linear,
// signal 2, noise 0.5, neighbouring features correlated by 0.4, intercept -1, or 0.5 if linear.
func DefaultGenerator(linear bool, seed uint64) Generator {
	g := Generator{Rows: 20_000, Features: 20, Linear: linear, Signal: 2, Noise: 0.5, Correlation: 0.4,
		Intercept: -1, Seed: seed}
	if linear {
		g.Intercept = 0.5
	}
	return g
}

// Generated is what a Generator makes.
type Generated struct {
	Records *Records  // columns x1..xd and y
	Schema  *Schema   // public bounds: the documented ones
	Weights []float64 // true weights on the encoded columns, bias last
}

// validate rejects parameters outside their ranges.
func (g Generator) validate() error {
	switch {
	case g.Rows < 1 || g.Features < 1 || g.Features > maxColumns:
		return fmt.Errorf("dataset: generator: %d rows of %d features", g.Rows, g.Features)
	case g.Rows > maxCells/(g.Features+1):
		return fmt.Errorf("dataset: generator: %d rows of %d features are more than %d values", g.Rows,
			g.Features, maxCells)
	case !(g.Signal > 0 && g.Signal <= 100):
		return fmt.Errorf("dataset: generator: signal %g is not in (0, 100]", g.Signal)
	case !(g.Noise >= 0 && g.Noise <= 100):
		return fmt.Errorf("dataset: generator: noise %g is not in [0, 100]", g.Noise)
	case !(g.Correlation > -1 && g.Correlation < 1):
		return fmt.Errorf("dataset: generator: correlation %g is not in (-1, 1)", g.Correlation)
	}
	return nil
}

// Generate draws the rows.
func (g Generator) Generate() (*Generated, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	schema := g.schema()
	weights := g.weights()
	rec := &Records{Name: "generated data", Header: make([]string, 0, g.Features+1)}
	for _, c := range schema.Columns {
		rec.Header = append(rec.Header, c.Name)
	}
	rec.Header = append(rec.Header, generatedTarget)
	features, labels := newRand(g.Seed, streamFeatures), newRand(g.Seed, streamLabels)
	z := make([]float64, g.Features)
	for i := range g.Rows {
		g.latent(z, features.NormFloat64)
		cells, score := g.row(schema, weights, z)
		if g.Linear {
			cells = append(cells, format(score+g.Noise*labels.NormFloat64()))
		} else {
			cells = append(cells, label(labels.Float64() < 1/(1+math.Exp(-score))))
		}
		rec.Cells = append(rec.Cells, cells)
		rec.Lines = append(rec.Lines, i+2)
	}
	return &Generated{Records: rec, Schema: schema, Weights: weights}, nil
}

// Table encodes the records by the public schema.
func (d *Generated) Table() (*Table, error) { return d.Records.Encode(d.Schema) }

// schema is the public description that goes with the parameters: only the target's
// bounds depend on anything but the feature count.
func (g Generator) schema() *Schema {
	s := &Schema{
		Version: SchemaVersion, Source: "public: documented ranges of generated data",
		Missing: Refuse, Unseen: Refuse,
	}
	for j := range g.Features {
		scale := math.Pow(10, float64(j%6-2))
		center := scale * float64((j*5)%7-3)
		s.Columns = append(s.Columns, Standardised(fmt.Sprintf("x%d", j+1),
			center-generatedReach*scale, center+generatedReach*scale, center, scale))
	}
	s.Target = Binary(generatedTarget, "0", "1")
	if g.Linear {
		reach := math.Ceil(5 * (g.signal() + g.Noise + 1))
		s.Target = Standardised(generatedTarget, -reach, reach, 0, 1)
	}
	return s
}

// weights draws the direction from the seed and scales it to the signal, unless the prior draws the length.
func (g Generator) weights() []float64 {
	rnd := newRand(g.Seed, streamWeights)
	w := make([]float64, g.Features+1)
	for j := range g.Features {
		w[j] = rnd.NormFloat64()
	}
	if g.Prior {
		w[g.Features] = rnd.NormFloat64()
		return w
	}
	variance := 0.0
	for i := range g.Features {
		for j := range g.Features {
			variance += w[i] * w[j] * math.Pow(g.Correlation, math.Abs(float64(i-j)))
		}
	}
	for j := range g.Features {
		w[j] *= g.Signal / math.Sqrt(variance)
	}
	w[g.Features] = g.Intercept
	return w
}

// signal is the standard deviation of w'e(x), or with Prior that of independent columns.
func (g Generator) signal() float64 {
	if g.Prior {
		return math.Sqrt(float64(g.Features))
	}
	return g.Signal
}

// latent fills z with one draw of the autoregression.
func (g Generator) latent(z []float64, gauss func() float64) {
	fresh := math.Sqrt(1 - g.Correlation*g.Correlation)
	for j := range z {
		z[j] = gauss()
		if j > 0 {
			z[j] = g.Correlation*z[j-1] + fresh*z[j]
		}
	}
}

// row writes one row's cells and scores the values as written and encoded, so that the
// documented model describes the file, including rounding and clipping.
func (g Generator) row(s *Schema, w, z []float64) ([]string, float64) {
	cells := make([]string, 0, g.Features+1)
	score := w[g.Features]
	for j, c := range s.Columns {
		cell := format(c.Numeric.Center + c.Numeric.Scale*z[j])
		cells = append(cells, cell)
		// A cell that format wrote always parses.
		v, _ := strconv.ParseFloat(cell, 64)
		e, _ := c.Numeric.encode(v)
		score += w[j] * e
	}
	return cells, score
}

func format(v float64) string { return strconv.FormatFloat(v, 'g', generatedDigits, 64) }

func label(positive bool) string {
	if positive {
		return "1"
	}
	return "0"
}
