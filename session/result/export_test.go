package result

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/internal/atomicfile"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/protocol"
	"choir/session/app"
)

// wardModel is a small posterior over an age, two wards and the bias: means 2, -1,
// 1, .5, standard deviations .5, .3, .3, .2.
func wardModel(t *testing.T, missing, unseen dataset.Policy) *ModelFile {
	t.Helper()
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "a test",
		Target: dataset.Binary("ill", "no", "yes"), Missing: missing, Unseen: unseen,
		Columns: []dataset.Column{dataset.Numeric("age", 0, 100), dataset.Categorical("ward", "A", "B")}}
	canonical, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	f := &ModelFile{SchemaVersion: 1, Plan: "00", Application: app.NamePVI, State: []int64{1}, Schema: canonical,
		Columns: schema.EncodedColumns(), Mean: []float64{2, -1, 1, 0.5}, SD: []float64{0.5, 0.3, 0.3, 0.2},
		Predictive: &Predictive{Natural: make([]float64, 8),
			Likelihood: bayes.Likelihood{Model: bayes.Logistic, Family: gauss.MeanField, Features: 4}}}
	for i, m := range f.Mean {
		v := f.SD[i] * f.SD[i]
		f.Predictive.Natural[i], f.Predictive.Natural[4+i] = m/v, -0.5/v
	}
	return f
}

func records(t *testing.T, csv string) *dataset.Records {
	t.Helper()
	rec, err := dataset.ReadRecords(strings.NewReader(csv), dataset.CSVOptions{Name: "new.csv"})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// Probabilities and their spread against a quadrature in another language, with
// 20,001 nodes over 24 standard deviations.
func TestPredictions(t *testing.T) {
	p, err := wardModel(t, dataset.Zero, dataset.Zero).Predict(records(t, "ward,age\nA,50\nB,150\nC,20\nB,\n"),
		"")
	if err != nil {
		t.Fatal(err)
	}
	want := []Predicted{
		{Record: 1, Mean: 0.381076833043506, MeanSD: 0.08272530487971697, Class: "no"},
		{Record: 2, Mean: 0.9652964502063303, MeanSD: 0.022002692151802117, Class: "yes", Remark: "clipped: age"},
		{Record: 3, Mean: 0.33641526935215227, MeanSD: 0.07852331481764989, Class: "no",
			Remark: "unseen category: ward"},
		{Record: 4, Mean: 0.8115742617536092, MeanSD: 0.05468733960643367, Class: "yes", Remark: "missing: age"},
	}
	for i, w := range want {
		got := p.Rows[i]
		if math.Abs(got.Mean-w.Mean) > 1e-9 || math.Abs(got.MeanSD-w.MeanSD) > 1e-8 || got.Record != w.Record ||
			got.Class != w.Class || got.Remark != w.Remark {
			t.Errorf("%+v, want %+v", got, w)
		}
	}
	if p.Scores != nil || p.Target != "ill" || len(p.Rows) != 4 {
		t.Errorf("%+v", p)
	}
	probit, err := wardModel(t, dataset.Zero, dataset.Zero).Predict(records(t, "ward,age\nA,50\n"), "probit")
	if err != nil || math.Abs(probit.Rows[0].Mean-0.38043411471103616) > 1e-12 {
		t.Errorf("probit: %+v, %v", probit, err)
	}
}

func TestPredictionsOfLabelled(t *testing.T) {
	p, err := wardModel(t, dataset.Drop, dataset.Zero).Predict(records(t,
		"ill,ward,age\nno,A,50\nyes,B,150\nyes,A,\n,A,50\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	ll := (math.Log(1-0.381076833043506) + math.Log(0.9652964502063303)) / 2
	if p.Labelled != 2 || p.Scores.Accuracy != 1 || math.Abs(p.Scores.LogLikelihood-ll) > 1e-9 ||
		!p.Rows[2].None || p.Rows[3].None {
		t.Errorf("%+v, %+v, want log-likelihood %v", p, p.Scores, ll)
	}
	header, rows := p.CSV()
	b, err := atomicfile.EncodeCSV(header, rows)
	if err != nil || !strings.HasPrefix(string(b),
		"record,probability,probability_sd,class,remark\n1,0.38107") ||
		!strings.Contains(string(b), "\n3,,,,no prediction: a value is missing\n") {
		t.Errorf("%s, %v", b, err)
	}
}

// A number comes back in the target's own unit: centre 20, scale 10.
func TestPredictionsOfNumbers(t *testing.T) {
	schema := &dataset.Schema{Version: dataset.SchemaVersion, Source: "a test",
		Target: dataset.Numeric("weight", 10, 30), Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Columns: []dataset.Column{dataset.Numeric("age", 0, 100)}}
	canonical, err := schema.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	f := &ModelFile{SchemaVersion: 1, Schema: canonical,
		Predictive: &Predictive{Likelihood: bayes.Likelihood{Model: bayes.Linear, Family: gauss.MeanField,
			Features: 2, NoiseSD: 0.4},
			Natural: []float64{2, 0.5, -2, -0.5}}} // means 1/2 and 1/2, variances 1/4 and 1
	p, err := f.Predict(records(t, "age,weight\n100,33\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	r, v := p.Rows[0], 0.25+1.0
	if math.Abs(r.Mean-30) > 1e-12 || math.Abs(r.MeanSD-10*math.Sqrt(v)) > 1e-12 ||
		math.Abs(r.SD-10*math.Sqrt(v+0.16)) > 1e-12 {
		t.Errorf("%+v", r)
	}
	// The target is clipped to its public bound, 30, which is what was predicted.
	ll := -0.5 * math.Log(2*math.Pi*100*(v+0.16))
	if p.Scores.RMSE > 1e-12 || math.Abs(p.Scores.LogLikelihood-ll) > 1e-12 {
		t.Errorf("scores %+v, want log-likelihood %v", p.Scores, ll)
	}
}

func TestPredictionsNameWhatTheyRefuse(t *testing.T) {
	f := wardModel(t, dataset.Refuse, dataset.Refuse)
	for csv, want := range map[string]string{
		"ward,age\nA,50\nC,20\n": `line 3, column "ward"`,
		"ward,age\nA,\n":         `line 2, column "age"`,
		"ward\nA\n":              `column "age"`,
	} {
		if _, err := f.Predict(records(t, csv), ""); err == nil || !strings.Contains(err.Error(), want) ||
			protocol.ClassOf(err) != protocol.ClassInput {
			t.Errorf("%q: %v, want %s", csv, err, want)
		}
	}
	if _, err := f.Predict(records(t, "ward,age\nA,50\n"), "bootstrap"); err == nil {
		t.Error("an unknown way of averaging was taken")
	}
	sum := &ModelFile{SchemaVersion: 1, Application: app.NameSum}
	if _, err := sum.Predict(records(t, "ward,age\nA,50\n"), ""); !errors.Is(err, ErrNoPredictions) {
		t.Errorf("a sum predicts: %v", err)
	}
}

func TestReadModelRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, spoil := range map[string]func(*ModelFile){
		"version":  func(f *ModelFile) { f.SchemaVersion = 2 },
		"mean":     func(f *ModelFile) { f.Mean[1] = 7 },
		"names":    func(f *ModelFile) { f.Columns = f.Columns[1:] },
		"improper": func(f *ModelFile) { f.Predictive.Natural[7] = 1 },
		"short":    func(f *ModelFile) { f.Predictive.Natural = f.Predictive.Natural[:7] },
		"features": func(f *ModelFile) { f.Predictive.Features = 3 },
		"model":    func(f *ModelFile) { f.Predictive.Model = "oracle" },
		"schema":   func(f *ModelFile) { f.Schema = []byte(`{"version":1}`) },
	} {
		t.Run(name, func(t *testing.T) {
			f := wardModel(t, dataset.Zero, dataset.Zero)
			spoil(f)
			if err := atomicfile.WriteJSON(filepath.Join(dir, "model.json"), f); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadModel(filepath.Join(dir, "model.json")); protocol.ClassOf(err) != protocol.ClassInput {
				t.Errorf("%v, want an input error", err)
			}
		})
	}
	for _, text := range []string{"", "{", `{"schema_version":1,"extra":0}`, `{"schema_version":1} {}`, "PK"} {
		for _, name := range []string{"m.json", "m.npz"} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadModel(path); protocol.ClassOf(err) != protocol.ClassInput {
				t.Errorf("%q in %s: %v, want an input error", text, name, err)
			}
		}
	}
}

// A published posterior that was altered isn't what the transcript leads to.
func TestAlteredPosteriorIsSeen(t *testing.T) {
	want := wardModel(t, dataset.Zero, dataset.Zero)
	for name, alter := range map[string]func(*ModelFile){
		"natural": func(f *ModelFile) { f.Predictive.Natural[0] += 1e-6 },
		"schema": func(f *ModelFile) {
			f.Schema = bytes.Replace(f.Schema, []byte(`"hi":100`), []byte(`"hi":101`),
				1)
		},
		"model":   func(f *ModelFile) { f.Predictive.Hidden = 1 },
		"nothing": func(f *ModelFile) { f.Predictive = nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := wardModel(t, dataset.Zero, dataset.Zero)
			if !f.predictsLike(want) {
				t.Fatal("a model isn't like itself")
			}
			if alter(f); f.predictsLike(want) {
				t.Errorf("%s was altered and it went unseen", name)
			}
		})
	}
}

// Whatever bytes claim to be a model, reading them ends, and what is taken is whole.
func FuzzParseModel(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"plan":"00","application":"sum","rounds":1,"frac_bits":4,"state":[1],` +
		`"mean":[0.0625]}`))
	f.Add([]byte(`{"schema_version":1,"mean":[0],"sd":[1],"columns":["bias"],` +
		`"predictive":{"model":"logistic","family":"mean-field","features":1,"natural":[0,-0.5]},"schema":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseModel(b)
		if err != nil || m.check() != nil || m.Predictive == nil {
			return
		}
		p, err := m.posterior()
		if err != nil || len(p.Mean()) != len(m.Mean) {
			t.Errorf("a model was taken that isn't whole: %v", err)
		}
	})
}
