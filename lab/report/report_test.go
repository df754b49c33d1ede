package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"choir/lab/experiment"
	"choir/learn/bayes"
	"choir/learn/pvi"
	"choir/session/result"
)

const hostile = `<script src="//x">alert(1)</script>'"&`

// rendered makes a page's HTML and checks what every report promises.
func rendered(t *testing.T, p *Page) string {
	t.Helper()
	html, err := p.HTML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.HTML()
	if err != nil || !bytes.Equal(html, again) {
		t.Errorf("two renderings differ (%v)", err)
	}
	if len(html) > 150_000 {
		t.Errorf("%d bytes", len(html))
	}
	// Tags that load or run something, without the texts in their labels.
	unlabelled := regexp.MustCompile(`aria-label="[^"]*"`).ReplaceAll(html, nil)
	tags := regexp.MustCompile(`<[^>]*>`)
	bad := regexp.MustCompile(`(?i)<(script|link|iframe|object|embed|img|image|base|form)` +
		`|\s(src|href|on\w+)=|url\(|https?:`)
	for _, tag := range tags.FindAllString(string(unlabelled), -1) {
		if bad.MatchString(tag) {
			t.Errorf("the tag %q refers to something or runs", tag)
		}
	}
	for _, bad := range []string{"http:", "https:", "src=", "@import", "url("} {
		if bytes.Contains(bytes.ReplaceAll(html, []byte("src=&#34;//x&#34;"), nil), []byte(bad)) {
			t.Errorf("the report has %q", bad)
		}
	}
	return string(html)
}

func of(t *testing.T, path string) string {
	t.Helper()
	p, err := Of(path)
	if err != nil {
		t.Fatal(err)
	}
	return rendered(t, p)
}

func has(t *testing.T, html string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(html, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

func write(t *testing.T, dir, name string, v any) {
	t.Helper()
	b, ok := v.(string)
	if !ok {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b = string(text)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(b), 0o600); err != nil {
		t.Fatal(err)
	}
}

// demonstration runs a small one and returns its folder.
func demonstration(t *testing.T, m bayes.Model) string {
	t.Helper()
	dir := t.TempDir()
	d := experiment.Demo{Parties: 3, Computes: 2, Rounds: 2, Epsilon: 1, Delta: 1e-5, Model: m,
		Strategy: pvi.NameVirtual, Shards: 5, Data: experiment.Source{Rows: 300, Train: 0.8, Seed: 1},
		Out: dir, InMemory: true}
	if _, err := d.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDemonstration(t *testing.T) {
	dir := demonstration(t, bayes.Logistic)
	html := of(t, dir)
	has(t, html, "Demonstration", "secure sum (this session)", "Learning curve", "<svg viewBox=",
		"Coefficients", "intercept", "Change of the log-odds of y=1 for one unit",
		"privacy noise included", "Who can learn what", "not promised", "What was verified",
		"every signature, set of parties", "How to repeat", "choir verify DIR")
	if strings.Count(html, "not promised") != 1 {
		t.Error("the table of adversaries does not end with the first row that is not promised")
	}
	if again := of(t, dir); again != html {
		t.Error("the same folder gives another report")
	}
	t.Run("network", func(t *testing.T) {
		has(t, of(t, demonstration(t, bayes.BNN)), "Posterior", "privacy noise not included", "not linear")
	})
	t.Run("linear", func(t *testing.T) {
		html := of(t, demonstration(t, bayes.Linear))
		has(t, html, "mean of the targets", "test R squared", "Learning curve", "Change of y for one unit")
		if strings.Contains(html, "majority class") {
			t.Error("a linear model is reported in a classifier's words")
		}
	})
	t.Run("plan", func(t *testing.T) {
		has(t, of(t, filepath.Join(dir, "transcript", "plan.choir")), "Every member has signed",
			"Who can learn what", "party-01", "Parameters")
	})
	t.Run("altered", func(t *testing.T) {
		path := filepath.Join(dir, "transcript", "transcript.bin")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		write(t, dir, "transcript/transcript.bin", string(b))
		p, err := Of(dir)
		if err != nil {
			t.Fatal(err)
		}
		if p.Fault == nil {
			t.Error("the report of an altered transcript has no fault")
		}
		has(t, rendered(t, p), "do not rely on these results", "Verification failed")
	})
}

// TestHostileNames: names in the files are text in the report.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	score := map[string]float64{"test_accuracy": .5, "test_log_likelihood": -.7}
	write(t, dir, "result.json", map[string]any{"data": hostile, "model": hostile, "strategy": hostile,
		"parties": 3, "verdict": hostile,
		"warnings": []string{hostile}, "result": score,
		"references": map[string]any{hostile: score, "majority": score}})
	write(t, dir, "rounds.csv", "round,test_accuracy,test_log_likelihood\n1,.5,-.7\n"+
		strings.ReplaceAll(hostile, `"`, "")+",1,2\n")
	html := of(t, dir)
	has(t, html, "&lt;script", "nothing was verified", "Warnings")

	study := t.TempDir()
	row := map[string]any{"case": hostile, "method": hostile, "measure": "accuracy", "statistic": "mean",
		"values": []float64{.5},
		"ours":   .5, "verdict": "no published figure"}
	write(t, study, "x.json", map[string]any{"schema_version": 1, "name": hostile, "title": hostile,
		"source": hostile, "seeds": 1,
		"transport": "memory", "rows": []any{row}, "about": []string{hostile}, "notes": []string{hostile},
		"settings": []any{map[string]string{"name": hostile, "value": hostile}},
		"panels": []any{map[string]any{"title": hostile, "x_label": hostile, "y_label": hostile,
			"curves": []any{map[string]any{"name": hostile, "x": []float64{1}, "y": []float64{1}}}}}})
	has(t, of(t, study), "&lt;script", "choir experiment run")

	benchmark := t.TempDir()
	write(t, benchmark, "verify.json", map[string]any{"command": hostile,
		"machine": map[string]string{"cpu": hostile},
		"rows":    []any{map[string]any{"case": hostile, "seconds": 1}}})
	has(t, of(t, benchmark), "&lt;script", "Signatures")
}

// TestLongFiles: a file that somebody has made long is refused before its reader makes much of it.
func TestLongFiles(t *testing.T) {
	dir := demonstration(t, bayes.Logistic)
	if _, err := result.VerifyFolder(dir); err != nil {
		t.Fatal(err)
	}
	for name, unit := range map[string]string{"model.json": "[],", "model.csv": "a\n", "model.npz": "\x00",
		"rounds.csv": ","} {
		path := filepath.Join(dir, name)
		own, err := os.ReadFile(path)
		if err != nil && name == "rounds.csv" {
			t.Fatal(err)
		}
		write(t, dir, name, strings.Repeat(unit, 1<<20))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if name == "rounds.csv" {
			_, err = Of(dir)
		} else {
			_, err = result.VerifyFolder(dir)
		}
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "bytes") {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%s: %d bytes", name, used)
		}
		if own == nil {
			err = os.Remove(path)
		} else {
			err = os.WriteFile(path, own, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestMissingParts: every part of a session's folder may be absent.
func TestMissingParts(t *testing.T) {
	dir := demonstration(t, bayes.Logistic)
	for _, name := range []string{"rounds.csv", "model.json", "transcript/transcript.bin",
		"transcript/plan.choir", "result.json"} {
		t.Run(name, func(t *testing.T) {
			if name == "result.json" {
				dir = demonstration(t, bayes.Logistic)
			}
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			has(t, of(t, dir), "How to repeat")
		})
	}
}

// TestSum: the model of a plan of sums is a table.
func TestSum(t *testing.T) {
	dir := t.TempDir()
	mean := make([]float64, 200)
	mean[1] = -2.5
	write(t, dir, "model.json", map[string]any{"schema_version": 1, "application": "sum", "state": []int{},
		"mean": mean})
	has(t, of(t, dir), "Sum", "−2.5", "The first 100 of 200 coordinates", "nothing was verified")
}

// TestKept: the kept studies and benchmarks, together and one by one.
func TestKept(t *testing.T) {
	has(t, of(t, "../../docs/benchmarks"), "The paper&#39;s table", "Other protocols", "<svg")
	has(t, of(t, "../../docs/figures"), "noisy factors", "choir experiment run noisy-factors")
	has(t, of(t, "../../docs/figures/results"), "studies", "paper4-adult")
	paths, err := filepath.Glob("../../docs/figures/results/*.json")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d studies, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			write(t, dir, "study.json", string(b))
			has(t, of(t, dir), "How to repeat", "choir experiment run", "Notes")
		})
	}
}

func TestRefused(t *testing.T) {
	empty, broken, foreign := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, broken, "result.json", "{")
	write(t, foreign, "result.json", map[string]any{"accuracy": .9})
	other := filepath.Join(broken, "plan.choir")
	write(t, broken, "plan.choir", "no plan")
	for _, path := range []string{empty, broken, foreign, other, filepath.Join(empty, "absent")} {
		if _, err := Of(path); err == nil {
			t.Errorf("%s gave a report", filepath.Base(path))
		}
	}
}

// TestVerdictNeedsTheMedian: a result without a verdict gets one from its scores, and the session is compared
// with both parties alone.
func TestVerdictNeedsTheMedian(t *testing.T) {
	at := func(v float64) *score { return &score{&v, &v} }
	for _, c := range []struct {
		chosen, median float64
		want           string
		bad            bool
	}{{-.6, -.55, "Together", false}, {-.6, -.45, "A party alone", true}, {-.45, -.55, "A party alone", true}} {
		r := &outcome{Result: *at(-.5), References: map[string]*score{"best_single_party": at(c.chosen),
			"median_single_party": at(c.median)}}
		if got, bad := verdictOf(r); !strings.HasPrefix(got, c.want) || bad != c.bad {
			t.Errorf("%+v: %q, %v", c, got, bad)
		}
	}
}
