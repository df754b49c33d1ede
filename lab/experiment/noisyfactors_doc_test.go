package experiment

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/privacy"
)

const figures = "../../docs/figures/noisy-factors"

// kept is the run that the document shows.
func kept(t *testing.T) *NoisyFactorsResult {
	t.Helper()
	b, err := os.ReadFile(figures + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var r NoisyFactorsResult
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Cases) != 12 || len(r.Regimes) != 4 || r.Runs != 1<<20 || r.Seeds != 1 {
		t.Fatalf("the kept run has %d cases, %d regimes, %d runs and %d seeds", len(r.Cases),
			len(r.Regimes), r.Runs, r.Seeds)
	}
	return &r
}

// TestNoisyFactorsDocument: the document's tables, the kept CSV and figure are
// what the experiment makes of the kept result.
func TestNoisyFactorsDocument(t *testing.T) {
	r := kept(t)
	doc, err := os.ReadFile("../../docs/noisy-factors.md")
	if err != nil {
		t.Fatal(err)
	}
	for mark, want := range map[string]string{"table": r.Table(), "regimes": r.RegimeTable()} {
		_, rest, _ := strings.Cut(string(doc), "<!-- "+mark+" -->\n\n")
		if got, _, ok := strings.Cut(rest, "\n<!-- /"+mark+" -->"); !ok || got != want {
			t.Errorf("%s: the document says\n%s\nthe kept run says\n%s", mark, got, want)
		}
	}
	dir := t.TempDir()
	if err := r.write(dir); err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{".json", ".csv", ".svg"} {
		want, err := os.ReadFile(filepath.Join(dir, "noisy-factors"+ext))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(figures + ext); err != nil || !bytes.Equal(got, want) {
			t.Errorf("noisy-factors%s isn't what the experiment writes (%v)", ext, err)
		}
	}
}

// TestNoisyFactorsShowTheFault: the exact columns follow from the derivation, no
// measured bound is above its exact epsilon, those of noisy factors refute the claim
// (from ten factors on), and those of noise-free factors don't. Two of the
// refuted cases are ones in which clipping cuts nobody but the victim.
func TestNoisyFactorsShowTheFault(t *testing.T) {
	r := kept(t)
	mu, err := privacy.GaussianMu(r.Claimed, r.Delta)
	if err != nil || math.Abs(r.Sigma-28.897) > 0.001 {
		t.Fatalf("sigma %v, %v", r.Sigma, err)
	}
	refuted := 0
	for _, c := range r.Cases {
		ratio := 1.0
		if c.Scheme == schemeNoisy {
			l, err := lossOf(r.Rounds, c.Factors, c.Damping)
			if err != nil {
				t.Fatal(err)
			}
			ratio = l.Ratio
		}
		if math.Abs(c.Ratio-ratio) > 1e-9 ||
			math.Abs(c.Epsilon-privacy.GaussianEpsilon(ratio*mu, r.Delta)) > 1e-9 ||
			math.Abs(c.AtClaim/privacy.GaussianDelta(ratio*mu, r.Claimed)-1) > 1e-6 ||
			c.least() > c.Epsilon {
			t.Errorf("%+v: the derivation gives a ratio of %v", c, ratio)
		}
		switch {
		case c.Scheme == schemeNoiseFree && c.least() >= r.Claimed:
			t.Errorf("noise-free factors: %+v", c)
		case c.Scheme == schemeNoisy && c.Factors >= 10 && c.least() > r.Claimed:
			refuted++
		}
	}
	if refuted != 8 {
		t.Errorf("the claim is refuted in %d cases, not 8", refuted)
	}
	for _, g := range r.Regimes[:2] {
		if g.Cut != 0 || g.Deviation > 1e-9 {
			t.Errorf("not the linear regime: %+v", g)
		}
	}
}

// TestNobodyElseIsCut: the document's bound on the probability that a clip cuts any of the
// others' updates in a run, over all rounds and factors, from the deviation that a
// noisy factor tends to from below.
func TestNobodyElseIsCut(t *testing.T) {
	r := kept(t)
	for _, c := range []struct {
		g     NoisyFactorsRegime
		bound float64
	}{{r.Regimes[0], 5e-7}, {r.Regimes[1], 1e-16}} {
		deviation := r.Sigma / math.Sqrt(float64(c.g.Factors)) * math.Sqrt(c.g.Damping/(2-c.g.Damping))
		p := float64(r.Rounds*(c.g.Factors-1)) * math.Erfc(1/deviation/math.Sqrt2)
		if !(p < c.bound) || p < c.bound/10 {
			t.Errorf("%+v: probability %v, the document says below %v", c.g, p, c.bound)
		}
	}
}
