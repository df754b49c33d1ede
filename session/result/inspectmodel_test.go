package result

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"choir/learn/dataset"
	"choir/learn/evaluate"
	"choir/protocol"
	"choir/session/app"
)

// sumModel is what a session of sums leaves.
func sumModel() *ModelFile {
	return &ModelFile{SchemaVersion: 1, Plan: "00", Application: app.NameSum, Rounds: 1, FracBits: 1,
		State: []int64{120, -7}, Mean: []float64{60, -3.5}}
}

// TestPublishedModelIsHeldToTheTranscript: no number that people read, in any of the
// forms, may differ from what the transcript leads to.
func TestPublishedModelIsHeldToTheTranscript(t *testing.T) {
	for name, make := range map[string]func() *ModelFile{
		"sum":   sumModel,
		"model": func() *ModelFile { return wardModel(t, dataset.Zero, dataset.Zero) },
	} {
		t.Run(name, func(t *testing.T) {
			for what, change := range map[string]func(*ModelFile){
				"nothing":     func(*ModelFile) {},
				"plan":        func(f *ModelFile) { f.Plan = "01" },
				"application": func(f *ModelFile) { f.Application += "x" },
				"rounds":      func(f *ModelFile) { f.Rounds++ },
				"frac_bits":   func(f *ModelFile) { f.FracBits++ },
				"state":       func(f *ModelFile) { f.State[0]++ },
				"mean":        func(f *ModelFile) { f.Mean[1] += 1e-5 },
				"sd": func(f *ModelFile) {
					f.SD = append([]float64{}, f.SD...)
					f.SD = append(f.SD, 1)
					if f.Predictive != nil {
						f.SD = f.SD[:4]
						f.SD[2] *= 1.001
					}
				},
				"evaluation": func(f *ModelFile) {
					f.Evaluation = []evaluate.Point{{Round: 1, Accuracy: &evaluate.Interval{Value: 0.5}}}
				},
				"columns": func(f *ModelFile) {
					f.Columns = append([]string{"x"}, f.Columns...)[:max(1, len(f.Columns))]
				},
			} {
				checkForms(t, name+", "+what, make(), change, what == "nothing")
			}
		})
	}
}

func checkForms(t *testing.T, what string, f *ModelFile, change func(*ModelFile), same bool) {
	t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	want := new(ModelFile)
	if err := json.Unmarshal(b, want); err != nil {
		t.Fatal(err)
	}
	change(f)
	dir := t.TempDir()
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := sameModel(filepath.Join(dir, "model.json"), want); (err == nil) != same {
		t.Errorf("%s: model.json: %v", what, err)
	}
	if err := sameArrays(filepath.Join(dir, "model.npz"), want); (err == nil) != same && !strings.HasSuffix(what,
		"sum, sd") {
		t.Errorf("%s: model.npz: %v", what, err) // the arrays of a sum have no place for one
	}
}

// TestBrokenTable: the message about a table that can't be read names the file in its only line.
func TestBrokenTable(t *testing.T) {
	f := sumModel()
	path := filepath.Join(t.TempDir(), "model.csv")
	if err := os.WriteFile(path, []byte("coordinate,sum\n0,60\n1-3.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := sameTable(path, f)
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "remove it") ||
		!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "record on line 3") {
		t.Errorf("%v", err)
	}
}

// TestUnchecked: what verification does not look at is named, a copy of the plan next to the transcript's
// folder included.
func TestUnchecked(t *testing.T) {
	dir := t.TempDir()
	if err := sumModel().Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{PlanFile, TranscriptFile, "rounds.csv", "result.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"result.json", "rounds.csv"}
	if got, err := Unchecked(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "transcript"), 0o700); err != nil {
		t.Fatal(err)
	}
	want = []string{PlanFile, "result.json", "rounds.csv", TranscriptFile}
	if got, err := Unchecked(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestModelOfTwoReaders: model.json has every number once, in all spellings that package json takes for a
// field. Otherwise a program that reads "mean" alone could be shown another one than is checked.
func TestModelOfTwoReaders(t *testing.T) {
	want := sumModel()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.json")
	for _, first := range []string{`"mean":[1,2]`, `"MEAN":[1,2]`, `"Mean":[60,-3.5]`, `"\u017ftate":[1,2]`} {
		altered := "{" + first + "," + string(b[1:])
		if err := os.WriteFile(path, []byte(altered), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := sameModel(path, want); err == nil || !strings.Contains(err.Error(), "appears twice") {
			t.Errorf("%s: %v", altered, err)
		}
	}
	nested := strings.Replace(string(b), "{", `{"predictive":{"natural":[0],"Natural":[1]},`, 1)
	if _, err := parseModel([]byte(nested)); err == nil || !strings.Contains(err.Error(), "appears twice") {
		t.Errorf("%s: %v", nested, err)
	}
}

// TestPublishedTable does the same for model.csv, of which a session says nothing more
// than its cells.
func TestPublishedTable(t *testing.T) {
	for name, f := range map[string]*ModelFile{"sum": sumModel(),
		"model": wardModel(t, dataset.Zero, dataset.Zero)} {
		dir := t.TempDir()
		if err := f.Write(dir); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "model.csv")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := sameTable(path, f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		n := 0
		for i, c := range text {
			altered := []byte(string(text))
			if altered[i]++; c == '\n' || c == '9' {
				continue
			}
			n++
			if err := os.WriteFile(path, altered, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := sameTable(path, f); !errors.Is(err, protocol.ErrMismatch) {
				t.Errorf("%s, byte %d altered: %v", name, i, err)
			}
		}
		for _, other := range []string{"", string(text) + "5,1\n", string(text[:len(text)-4])} {
			if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := sameTable(path, f); !errors.Is(err, protocol.ErrMismatch) {
				t.Errorf("%s, %q: %v", name, other, err)
			}
		}
		if n < 20 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}
