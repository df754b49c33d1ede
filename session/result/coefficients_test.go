package result

import (
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/mcmc"
	"choir/protocol"
	"choir/session/app"
)

// modelOf is the model file of a posterior with the given moments.
func modelOf(t *testing.T, schema *dataset.Schema, l bayes.Likelihood, m *gauss.Moments) *ModelFile {
	t.Helper()
	text, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	natural, err := gauss.Space{Family: l.Family, Features: l.Features}.Natural(m)
	if err != nil {
		t.Fatal(err)
	}
	f := &ModelFile{SchemaVersion: 1, Plan: "00", Application: app.NamePVI, Schema: text,
		Columns: schema.EncodedColumns(), Mean: m.Mean, Predictive: &Predictive{Likelihood: l, Natural: natural}}
	for _, v := range m.Variance {
		f.SD = append(f.SD, math.Sqrt(v))
	}
	return f
}

// patients has a standardised column, a bounded one and a category.
func patients(target dataset.Column) *dataset.Schema {
	return &dataset.Schema{Version: dataset.SchemaVersion, Source: "a test", Target: target,
		Missing: dataset.Zero, Unseen: dataset.Zero, Columns: []dataset.Column{
			dataset.Standardised("age", -1000, 1000, 40, 20), dataset.Numeric("dose", -10, 30),
			dataset.Categorical("ward", "A", "B")}}
}

// The coefficients of a small posterior, computed by hand. The weights of age and dose are
// per 20 of each, their centres 40 and 10.
func TestCoefficientsByHand(t *testing.T) {
	mean := []float64{2, -1, .5, -.5, .25}
	variance := []float64{.01, .04, .09, .16, .25}
	type row struct {
		name     string
		mean, sd float64
	}
	for _, c := range []struct {
		name   string
		target dataset.Column
		like   bayes.Likelihood
		full   bool
		want   []row
	}{
		{name: "logistic", target: dataset.Binary("ill", "no", "yes"),
			like: bayes.Likelihood{Model: bayes.Logistic, Family: gauss.MeanField, Features: 5},
			want: []row{{"age", .1, .005}, {"dose", -.05, .01}, {"ward=A", .5, .3}, {"ward=B", -.5, .4},
				// .25 - 2 * 40/20 + 1 * 10/20; .25 + 4 * .01 + .25 * .04
				{"intercept", -3.25, math.Sqrt(.3)}, {"ward=B against ward=A", -1, .5}}},
		{name: "linear", target: dataset.Standardised("cost", 0, 1000, 300, 50),
			like: bayes.Likelihood{Model: bayes.Linear, Family: gauss.MeanField, Features: 5, NoiseSD: 1},
			want: []row{{"age", 5, .25}, {"dose", -2.5, .5}, {"ward=A", 25, 15}, {"ward=B", -25, 20},
				{"intercept", 300 - 50*3.25, 50 * math.Sqrt(.3)}, {"ward=B against ward=A", -50, 25}}},
		{name: "linear, correlated", target: dataset.Numeric("cost", 200, 400), full: true,
			like: bayes.Likelihood{Model: bayes.Linear, Family: gauss.Full, Features: 5, NoiseSD: 1},
			want: []row{{"age", 10, .5}, {"dose", -5, 1}, {"ward=A", 50, 30}, {"ward=B", -50, 40},
				// the covariance of age and bias is .02: .3 - 2 * 2 * .02; that of the wards is .05
				{"intercept", 300 - 100*3.25, 100 * math.Sqrt(.22)},
				{"ward=B against ward=A", -100, 100 * math.Sqrt(.15)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &gauss.Moments{Mean: mean, Variance: variance}
			if c.full {
				m.Covariance = correlated(variance)
			}
			got, err := modelOf(t, patients(c.target), c.like, m).Coefficients(nil, .9)
			if err != nil || len(got.Coefficients) != len(c.want)-1 || len(got.Differences) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			const z = 1.6448536269514722
			for i, w := range c.want {
				k := got.Rows()[i]
				if k.Name != w.name || !near(k.Mean, w.mean) || !near(k.SD, w.sd) ||
					!near(k.Lower, w.mean-z*w.sd) || !near(k.Upper, w.mean+z*w.sd) {
					t.Errorf("%+v, want %+v", k, w)
				}
			}
		})
	}
}

// TestNoNegativeZero: a mean that noise has left at -0 is 0.
func TestNoNegativeZero(t *testing.T) {
	like := bayes.Likelihood{Model: bayes.Logistic, Family: gauss.MeanField, Features: 5}
	zero := math.Copysign(0, -1)
	m := &gauss.Moments{Mean: []float64{zero, zero, zero, zero, zero}, Variance: []float64{1, 1, 1, 1, 1}}
	c, err := modelOf(t, patients(dataset.Binary("ill", "no", "yes")), like, m).Coefficients(nil, .9)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range c.Rows() {
		if math.Signbit(k.Mean) {
			t.Errorf("%s: %v", k.Name, k.Mean)
		}
	}
}

// correlated has a covariance of .02 between the first weight and the last, and of .05 between the third and
// the fourth.
func correlated(variance []float64) *mat.SymDense {
	n := len(variance)
	c := mat.NewSymDense(n, nil)
	for i, v := range variance {
		c.SetSym(i, i, v)
	}
	c.SetSym(0, n-1, .02)
	c.SetSym(2, 3, .05)
	return c
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*(1+math.Abs(b)) }

func TestOddsRatios(t *testing.T) {
	schema := patients(dataset.Binary("ill", "no", "yes"))
	schema.Columns[1] = dataset.Numeric("dose", 0, 1e-4)
	m := &gauss.Moments{Mean: []float64{2, -1, .5, -.5, .25}, Variance: []float64{.01, .04, .09, .16, .25}}
	like := bayes.Likelihood{Model: bayes.Logistic, Family: gauss.MeanField, Features: 5}
	c, err := modelOf(t, schema, like, m).Coefficients(nil, .95)
	if err != nil {
		t.Fatal(err)
	}
	age := c.Coefficients[0]
	if !near(*age.OddsRatio, math.Exp(.1)) || !near(*age.OddsRatioLower, math.Exp(age.Lower)) ||
		!near(*age.OddsRatioUpper, math.Exp(age.Upper)) {
		t.Errorf("%+v", age)
	}
	if dose := c.Coefficients[1]; dose.Mean != -20000 || *dose.OddsRatio != 0 {
		t.Errorf("an odds ratio too small for a number: %+v", dose)
	}
	m.Mean[1] = 1
	if c, err = modelOf(t, schema, like, m).Coefficients(nil, .95); err != nil {
		t.Fatal(err)
	}
	if dose := c.Coefficients[1]; dose.OddsRatio != nil {
		t.Errorf("an odds ratio too large for a number: %+v", dose)
	}
	if k := c.Coefficients[4]; k.OddsRatio != nil {
		t.Errorf("the intercept has an odds ratio: %+v", k)
	}
	header, rows := c.CSV()
	if strings.Join(header[5:8], " ") != "odds_ratio odds_ratio_lower odds_ratio_upper" || rows[1][5] != nil ||
		rows[0][5] != *c.Coefficients[0].OddsRatio || len(rows[0]) != len(header) {
		t.Errorf("%v %v", header, rows)
	}
}

// randomModel has n columns of every kind and a random posterior.
func randomModel(t *testing.T, rng *mathrand.Rand, model bayes.Model, family gauss.Family) *ModelFile {
	t.Helper()
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "a test",
		Target: dataset.Binary("y", "no", "yes"), Missing: dataset.Zero, Unseen: dataset.Zero}
	like := bayes.Likelihood{Model: model, Family: family}
	if model == bayes.Linear {
		schema.Target = dataset.Standardised("y", -1e6, 1e6, 100*rng.NormFloat64(), 1+10*rng.Float64())
		like.NoiseSD = 1
	}
	for i := range 5 {
		lo := 50 * rng.NormFloat64()
		hi := lo + 1 + 100*rng.Float64()
		schema.Columns = append(schema.Columns, dataset.Numeric(fmt.Sprintf("a%d", i), lo, hi),
			dataset.Standardised(fmt.Sprintf("b%d", i), lo, hi, lo+30*rng.Float64(), 1+10*rng.Float64()),
			dataset.Categorical(fmt.Sprintf("c%d", i), "u", "v", "w"))
	}
	like.Features = schema.Dim()
	n := like.Features
	m := &gauss.Moments{Mean: make([]float64, n), Variance: make([]float64, n)}
	root := mat.NewDense(n, n, nil)
	for i := range n {
		m.Mean[i] = rng.NormFloat64()
		m.Variance[i] = .01 + rng.Float64()
		for j := range n {
			root.Set(i, j, rng.NormFloat64())
		}
	}
	if family == gauss.Full {
		var product mat.Dense
		product.Mul(root, root.T())
		m.Covariance = mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				m.Covariance.SetSym(i, j, product.At(i, j)/float64(n))
			}
			m.Covariance.SetSym(i, i, m.Covariance.At(i, i)+.1)
			m.Variance[i] = m.Covariance.At(i, i)
		}
	}
	return modelOf(t, schema, like, m)
}

// TestCoefficientsPredict: the linear predictor of random rows is the same on both scales.
func TestCoefficientsPredict(t *testing.T) {
	for _, c := range []struct {
		model  bayes.Model
		family gauss.Family
	}{{bayes.Logistic, gauss.MeanField}, {bayes.Linear, gauss.MeanField}, {bayes.Linear, gauss.Full}} {
		t.Run(fmt.Sprintf("%s, %s", c.model, c.family), func(t *testing.T) {
			rng := mathrand.New(mathrand.NewPCG(1, 2))
			f := randomModel(t, rng, c.model, c.family)
			got, err := f.Coefficients(nil, .95)
			if err != nil {
				t.Fatal(err)
			}
			schema, err := dataset.ParseSchema(f.Schema)
			if err != nil {
				t.Fatal(err)
			}
			table, byHand := randomRows(rng, schema, got, 200)
			rec := records(t, table)
			rows, err := rec.EncodeUnlabelled(schema)
			if err != nil {
				t.Fatal(err)
			}
			predicted, err := f.Predict(rec, "")
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range byHand {
				inside := 0.0
				for j, x := range rows.Row(i) {
					inside += x * f.Mean[j]
				}
				if c.model == bayes.Linear {
					inside = predicted.Rows[i].Mean
				}
				if predicted.Rows[i].Remark != "" || math.Abs(inside-want) > 1e-9*(1+math.Abs(want)) {
					t.Fatalf("row %d: %v by the coefficients, %v inside (%s)", i, want, inside,
						predicted.Rows[i].Remark)
				}
			}
		})
	}
}

// randomRows makes rows within the bounds and predicts them by the coefficients.
func randomRows(rng *mathrand.Rand, s *dataset.Schema, c *Coefficients,
	n int) (csv string, predictor []float64) {
	value := map[string]float64{}
	for _, k := range c.Coefficients {
		value[k.Name] = k.Mean
	}
	var header []string
	for _, col := range s.Columns {
		header = append(header, col.Name)
	}
	lines := []string{strings.Join(header, ",")}
	for range n {
		var cells []string
		sum := value["intercept"]
		for _, col := range s.Columns {
			if r := col.Numeric; r != nil {
				v := r.Lo + (r.Hi-r.Lo)*rng.Float64()
				sum += value[col.Name] * v
				cells = append(cells, fmt.Sprint(v))
				continue
			}
			category := col.Categories[rng.IntN(len(col.Categories))]
			sum += value[col.Name+"="+category]
			cells = append(cells, category)
		}
		lines = append(lines, strings.Join(cells, ","))
		predictor = append(predictor, sum)
	}
	return strings.Join(lines, "\n") + "\n", predictor
}

// TestInterceptVariance: the intercept is the prediction at zero, with its uncertainty.
func TestInterceptVariance(t *testing.T) {
	for _, family := range []gauss.Family{gauss.MeanField, gauss.Full} {
		t.Run(fmt.Sprint(family), func(t *testing.T) {
			f := randomModel(t, mathrand.New(mathrand.NewPCG(3, 4)), bayes.Linear, family)
			schema, err := dataset.ParseSchema(f.Schema)
			if err != nil {
				t.Fatal(err)
			}
			var header, cells []string
			for i := range schema.Columns {
				col := &schema.Columns[i]
				header = append(header, col.Name)
				cells = append(cells, "0")
				if r := col.Numeric; r != nil { // 0 must not be clipped
					r.Lo, r.Hi = -1000, 1000
				}
			}
			if f.Schema, err = schema.Canonical(); err != nil {
				t.Fatal(err)
			}
			p, err := f.Predict(records(t, strings.Join(header, ",")+"\n"+strings.Join(cells, ",")+"\n"), "")
			if err != nil {
				t.Fatal(err)
			}
			c, err := f.Coefficients(nil, .95)
			if err != nil {
				t.Fatal(err)
			}
			k := c.Coefficients[len(c.Coefficients)-1]
			want := p.Rows[0]
			if math.Abs(k.Mean-want.Mean) > 1e-9*math.Abs(want.Mean) ||
				math.Abs(k.SD-want.MeanSD) > 1e-9*want.MeanSD {
				t.Errorf("%+v, the prediction at zero is %+v", k, want)
			}
		})
	}
}

func TestComparePrior(t *testing.T) {
	for _, c := range []struct {
		name     string
		mean, sd float64
		want     bool
	}{
		{name: "the prior", mean: 3, sd: 2, want: true},
		{name: "a few percent narrower, elsewhere", mean: 9, sd: 1.92, want: true},
		{name: "wider", mean: 3, sd: 4, want: true},
		{name: "narrower, with most of the prior", mean: 3, sd: 1.75, want: true},
		{name: "narrower, moved", mean: 5, sd: 1.75},
		{name: "narrow", mean: 3, sd: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := []Coefficient{{Mean: c.mean, SD: c.sd}}
			comparePrior(all, marginals{mean: []float64{3}, sd: []float64{2}})
			if got := all[0].PriorOnly; got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestLevelsNote: where there are categories a note says what to compare their levels with.
func TestLevelsNote(t *testing.T) {
	s := &dataset.Schema{Columns: []dataset.Column{dataset.Numeric("age", 0, 100)}}
	if note := levelsNote(s); note != "" {
		t.Errorf("without categories: %q", note)
	}
	s.Columns = append(s.Columns, dataset.Categorical("site", "A"))
	if note := levelsNote(s); note != "" {
		t.Errorf("without differences: %q", note)
	}
	c, err := wardModel(t, dataset.Zero, dataset.Zero).Coefficients(nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.LevelsNote, "with each other") {
		t.Errorf("%q", c.LevelsNote)
	}
}

// TestCoefficientsWarn: the model's warnings are with its coefficients, and intervals of chains that did not
// mix are marked as useless.
func TestCoefficientsWarn(t *testing.T) {
	f := wardModel(t, dataset.Zero, dataset.Zero)
	c, err := f.Coefficients(nil, .95)
	if err != nil || c.Warnings == nil || len(c.Warnings) > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	f.Warnings = []string{"rare: few", "not mixed: stuck"}
	values := make([][]float64, 8)
	for i := range values {
		values[i] = f.Mean
	}
	f.Draws = &Draws{Method: mcmc.HMC, Chains: 1, Values: values, Effective: []float64{1},
		SplitRHat: []float64{9}}
	if c, err = f.Coefficients(nil, .95); err != nil {
		t.Fatal(err)
	}
	header, rows := c.CSV()
	last := len(header) - 1
	if !slices.Equal(c.Warnings, f.Warnings) || header[last] != "warnings" ||
		rows[0][last] != "rare: few; not mixed: stuck" || !strings.Contains(c.NoiseNote, "don't use them") {
		t.Errorf("%q, %q, %v %v", c.Warnings, c.NoiseNote, header, rows)
	}
	f.Draws = &Draws{Method: mcmc.HMC, Chains: 1, Values: values[:2]}
	if c, err = f.Coefficients(nil, .95); err != nil || !strings.Contains(c.NoiseNote, "too few to tell") {
		t.Errorf("%q, %v", c.NoiseNote, err)
	}
	f.Draws.Method = mcmc.Trace
	if c, err = f.Coefficients(nil, .95); err != nil || strings.Contains(c.NoiseNote, "don't use") {
		t.Errorf("%q, %v", c.NoiseNote, err)
	}
}

func TestCoefficientsRefuse(t *testing.T) {
	for _, level := range []float64{0, 1, -1, 95, math.NaN()} {
		_, err := wardModel(t, dataset.Zero, dataset.Zero).Coefficients(nil, level)
		if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(fmt.Sprint(err), "level") {
			t.Errorf("level %v: %v", level, err)
		}
	}
	for name, change := range map[string]func(*ModelFile){
		"a sum":     func(f *ModelFile) { f.Predictive = nil },
		"a network": func(f *ModelFile) { f.Predictive.Model = bayes.BNN },
		"a program": func(f *ModelFile) { f.Predictive.Model = bayes.External },
	} {
		t.Run(name, func(t *testing.T) {
			f := wardModel(t, dataset.Zero, dataset.Zero)
			change(f)
			if _, err := f.Coefficients(nil, .95); !errors.Is(err, ErrNoCoefficients) ||
				protocol.ClassOf(err) != protocol.ClassInput {
				t.Errorf("%v", err)
			}
		})
	}
	_, err := wardModel(t, dataset.Zero, dataset.Zero).Coefficients(&protocol.Plan{}, .95)
	if !errors.Is(err, protocol.ErrMismatch) {
		t.Errorf("another plan: %v", err)
	}
}

// A column that is called intercept keeps its name.
func TestColumnCalledIntercept(t *testing.T) {
	schema := patients(dataset.Binary("ill", "no", "yes"))
	schema.Columns[0].Name = "intercept"
	got := strings.Join(coefficientNames(schema), " ")
	if want := "intercept dose ward=A ward=B (intercept)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
