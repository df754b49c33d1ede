package study

import (
	"math"
	"strings"
	"testing"
)

// TestCalibration: scores of two seeds in a table, with the standard error of a mean of .02 and .04,
// .01, and as a curve over both. A column that nobody has isn't there.
func TestCalibration(t *testing.T) {
	r := sample()
	r.Seeds = 2
	r.Rows = nil
	for _, s := range []Score{{ECE: .02, Width: 1, Reliability: [Bins]Bin{3: {100, .3, .28}}},
		{ECE: .04, Width: 2, Reliability: [Bins]Bin{3: {300, .34, .4}}}} {
		s.Posterior, s.LogLikelihood = "plain", -.5
		r.Calibrate("a", "m", s)
	}
	for _, l := range []float64{-1, -2} {
		r.Calibrate("a", "bare", Score{Posterior: "plain", LogLikelihood: l})
	}
	for _, want := range []string{"| case | method | posterior | log-likelihood | ECE | width |\n",
		"| a | m | plain | -.5000 (.0000) | 0.03 (0.01) | 1.5 (0.5) |\n",
		"| a | bare | plain | -1.5000 (.5000) | 0 (0) | - |\n"} {
		if text := r.CalibrationTable(); !strings.Contains(text, want) || !strings.Contains(r.Results("f"), want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if b := r.Calibration[0].Reliability[3]; b.Rows != 400 || math.Abs(b.Predicted-.33) > 1e-12 ||
		math.Abs(b.Observed-.37) > 1e-12 {
		t.Errorf("%+v", b)
	}
	if p := r.reliability(); len(p) != 1 || len(p[0].Curves) != 2 || p[0].Curves[1].Name != "m, plain" {
		t.Errorf("%+v", p)
	}
	if err := r.checkCalibration(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(c *Calibration){
		"a seed too few":    func(c *Calibration) { c.ECE = c.ECE[:1] },
		"no score":          func(c *Calibration) { *c = Calibration{} },
		"an error above 1":  func(c *Calibration) { c.ECE = []float64{.1, 1.1} },
		"a share above 1":   func(c *Calibration) { c.Reliability[0].Observed = 2 },
		"widths of a seed":  func(c *Calibration) { c.Width = c.Width[:1] },
		"scores of 3 seeds": func(c *Calibration) { c.LogLikelihood = append(c.LogLikelihood, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			bad := r.Calibration[0]
			spoil(&bad)
			if err := (&Result{Seeds: 2, Calibration: []Calibration{bad}}).checkCalibration(); err == nil {
				t.Error("it was taken")
			}
		})
	}
}

// TestSeedsOfAMethod: a method may have more seeds than the result, and then as many scores as its rows have
// values.
func TestSeedsOfAMethod(t *testing.T) {
	r := &Result{Seeds: 2, Rows: []Row{{Case: "a", Method: "m", Values: []float64{1, 2, 3}}}}
	for i, want := range []bool{false, false, true} {
		r.Calibrate("a", "m", Score{Posterior: "plain", LogLikelihood: -.5})
		if err := r.checkCalibration(); (err == nil) != want {
			t.Errorf("%d scores for three values: %v", i+1, err)
		}
	}
}

// TestError: (20 x .1 + 80 x .05) / 100.
func TestError(t *testing.T) {
	if e := Error([Bins]Bin{{20, .1, .2}, {80, .15, .1}}); math.Abs(e-.06) > 1e-12 {
		t.Errorf("%v", e)
	}
	if e := Error([Bins]Bin{}); e != 0 {
		t.Errorf("%v without rows", e)
	}
}
