package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/result"
)

const rehearsedSchema = `[target]
died = ["no", "yes"]
[columns]
age = { lo = 0, hi = 110, center = 50, scale = 20 }
sex = ["F", "M"]
marker = { lo = 0, hi = 20, center = 4, scale = 2 }
`

// rehearsed writes a plan's file for three parties, whose cards don't exist, and two
// parties' rows.
func rehearsed(t *testing.T, section string) (config string, files []string) {
	t.Helper()
	dir := t.TempDir()
	s, err := dataset.ParseTOML([]byte(rehearsedSchema))
	if err != nil {
		t.Fatal(err)
	}
	twins := dataset.Twins{Schema: s, Signal: 2, Seed: 3}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("schema.toml", rehearsedSchema)
	for i, name := range []string{"z.csv", "b.csv"} {
		rows, err := twins.Records(uint64(i), 150+50*i)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := rows.WriteCSV(&b, nil); err != nil {
			t.Fatal(err)
		}
		files = append(files, write(name, b.String()))
	}
	return write("plan.toml", `parties = ["cards/zeta.card", "cards/beta.card", "cards/gamma.card"]
computes = ["cards/n1.card", "cards/n2.card"]
aggregator = "cards/agg.card"
`+section), files
}

// TestRehearseNamesMembers: a plan of five lines, without members, has a party for each file, which is named
// where its values are out of range.
func TestRehearseNamesMembers(t *testing.T) {
	config, files := rehearsed(t, "")
	text := "rounds = 2\n[privacy]\nepsilon = 4.0\ndelta = 1e-5\n[learning]\nschema_file = \"schema.toml\"\n" +
		"records = 100000\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitN(string(rows), "\n", 3)
	cells := strings.Split(lines[1], ",")
	cells[slices.Index(strings.Split(lines[0], ","), "marker")] = "200"
	lines[1] = strings.Join(cells, ",")
	if err := os.WriteFile(files[0], []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &Rehearsal{Config: config, Data: files, Signal: 1.5, Seed: 1, Out: t.TempDir()}
	res, err := h.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if res.Parties != 2 || res.TrainRows != 120+160 {
		t.Errorf("%d parties, %d rows", res.Parties, res.TrainRows)
	}
	all := strings.Join(res.Warnings, "\n")
	for _, want := range []string{"counts on 50000 records of this party", "party-01: column marker: 1 value"} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings %q lack %q", all, want)
		}
	}
}

// TestRehearse: the session of a plan's file runs with the real split, verifies, and is
// marked as not private.
func TestRehearse(t *testing.T) {
	config, files := rehearsed(t, `rounds = 2
[privacy]
epsilon = 4.0
delta = 1e-5
[learning]
schema_file = "schema.toml"
records = 500
`)
	for name, c := range map[string]struct {
		data []string
		rows int
		warn string
	}{
		"in order, one missing": {files, 120 + 160 + 150, "stand for gamma"},
		"by name": {[]string{"gamma=" + files[0], "beta=" + files[1]}, 120 + 160 + 150,
			"stand for zeta"},
		"all synthetic": {nil, 3 * 132, "all rows are synthetic"},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			h := &Rehearsal{Config: config, Data: c.data, Signal: 1.5, Seed: 1, Out: out}
			res, err := h.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(res.Warnings, "\n")
			if res.TrainRows != c.rows || !strings.Contains(all, "not private") || !strings.Contains(all, c.warn) {
				t.Errorf("%d rows, want %d; warnings %q", res.TrainRows, c.rows, all)
			}
			if _, err := result.VerifyFolder(out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRehearseMethods: whatever learns has references and the name of its model, by which reports go.
func TestRehearseMethods(t *testing.T) {
	for name, section := range map[string]string{
		"averaging": "[learning]\nstrategy = \"averaging\"\n",
		"draws":     "[mcmc]\n",
	} {
		t.Run(name, func(t *testing.T) {
			config, files := rehearsed(t, "rounds = 20\n[privacy]\nepsilon = 8.0\ndelta = 1e-5\n"+section+
				"schema_file = \"schema.toml\"\n")
			h := &Rehearsal{Config: config, Data: files, Signal: 1.5, Seed: 1}
			res, err := h.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if res.Model != "logistic" || res.References.Majority == (Scores{}) || res.Verdict == "" {
				t.Errorf("model %q, references %+v, verdict %q", res.Model, res.References, res.Verdict)
			}
		})
	}
}

// TestRehearseWithoutNoise: a plan that claims nothing is rehearsed, too.
func TestRehearseWithoutNoise(t *testing.T) {
	config, files := rehearsed(t,
		"rounds = 2\n[privacy]\nnoise = \"none\"\n[learning]\nschema_file = \"schema.toml\"\n")
	h := &Rehearsal{Config: config, Data: files[:1], Test: files[1], Signal: 1, Seed: 1, Out: t.TempDir()}
	res, err := h.Run(context.Background())
	if err != nil || res.TestRows != 200 || res.TrainRows != 450 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestRehearseRefuses: each error says what to change.
func TestRehearseRefuses(t *testing.T) {
	learning := "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n[learning]\nschema_file = \"schema.toml\"\n"
	for name, c := range map[string]struct {
		section string
		data    func(files []string) []string
		want    string
	}{
		"external": {learning + "model = \"external\"\nparameters = 3\nclip = 1.0\ndamping = 0.5\n", nil,
			"external"},
		"too many": {learning, func(f []string) []string { return append(append(f, f...), f...) }, "6 files for 3"},
		"twice": {learning, func(f []string) []string { return []string{f[0], "zeta=" + f[1]} },
			"two files for zeta"},
		"no file": {learning, func([]string) []string { return []string{"nowhere.csv"} }, "nowhere.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			config, files := rehearsed(t, c.section)
			h := &Rehearsal{Config: config, Signal: 1, Seed: 1, Out: t.TempDir()}
			if c.data != nil {
				h.Data = c.data(files)
			}
			_, err := h.Run(context.Background())
			var known *protocol.Error
			if !errors.As(err, &known) || known.Class != protocol.ClassInput || !strings.Contains(err.Error(),
				c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestAbandonable: what does not look at the context is left when that ends.
func TestAbandonable(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun, end := make(chan struct{}), make(chan struct{})
	go func() {
		<-begun
		cancel()
	}()
	_, err := abandonable(ctx, func() (int, error) {
		close(begun)
		<-end
		return 1, nil
	})
	close(end)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if n, err := abandonable(t.Context(), func() (int, error) { return 1, errors.ErrUnsupported }); n != 1 ||
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%d, %v: not what was computed", n, err)
	}
}
