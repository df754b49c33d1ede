package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var updateSchemas = flag.Bool("update-schemas", false, "write docs/schemas from the program's output")

// TestOutputSchemas: what verbs print with --format json fits docs/schemas, one file a verb,
// and no file is left over. With -update-schemas a file is widened to what was printed.
func TestOutputSchemas(t *testing.T) {
	dir := t.TempDir()
	hospitals(t, dir)
	for name, text := range map[string]string{"rows.csv": "1,2\n3,4\n", "levels.csv": "0\n1\n2\n1\n2\n0\n2\n",
		"schema.toml":  guideSchema,
		"table.toml":   "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n[table]\nby = \"died\"\n",
		"reports.toml": "[privacy]\nepsilon = 1.0\ndelta = 1e-5\n[shuffle]\ncolumns = [\"sex\"]\nrecords = 400\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	check := func(name string, printed []byte) {
		t.Helper()
		seen[name] = true
		checkOutput(t, filepath.Join("../../docs/schemas", name+".json"), printed)
	}
	for _, c := range outputs {
		cmd := exec.Command(binary(t), append(strings.Fields(c.line), "--format", "json")...)
		if strings.HasSuffix(c.line, ".sh") {
			cmd = exec.Command(c.line)
		}
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CHOIR="+binary(t))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !(c.name == "error" && errors.As(err, &exit)) {
			t.Fatalf("%s: %v\n%s", c.line, err, stderr.Bytes())
		}
		switch c.name {
		case "":
		case "error":
			check(c.name, stderr.Bytes())
		default:
			check(c.name, stdout.Bytes())
		}
	}
	checkStatuses(t, dir, check)
	entries, err := os.ReadDir("../../docs/schemas")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !seen[strings.TrimSuffix(e.Name(), ".json")] {
			t.Errorf("docs/schemas/%s is of no output", e.Name())
		}
	}
}

// checkStatuses checks what session status prints: of a session, and of plans that wait where choir serve
// runs.
func checkStatuses(t *testing.T, dir string, check func(name string, printed []byte)) {
	t.Helper()
	start := func(args ...string) (*exec.Cmd, io.Reader) {
		t.Helper()
		cmd := exec.Command(binary(t), args...)
		cmd.Dir = dir
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		})
		return cmd, out
	}
	run := func(line string) []byte {
		t.Helper()
		cmd := exec.Command(binary(t), strings.Fields(line)...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return out
	}
	_, out := start("broker", "--listen", "127.0.0.1:0", "--store", "trial/broker/streams", "--token-file",
		"trial/broker/token")
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	check("session-status",
		run("session status --config trial/sites/party-01/site.toml --format json --bus-url "+url))
	site := "key_file = \"trial/sites/party-01/key\"\npassphrase_file = \"trial/sites/party-01/passphrase\"\n" +
		"data_file = \"trial/sites/party-01/data.csv\"\nstore_file = \"serve.db\"\n"
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "serve.toml"), []byte(site), 0o600),
		os.Mkdir(filepath.Join(dir, "study"), 0o700)); err != nil {
		t.Fatal(err)
	}
	run("plan new --config trial/plan.toml --out study/plan.choir")
	start("serve", "study", "--config", "serve.toml")
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "serve.db.served", "proposed.json")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("choir serve shows no plan")
		}
	}
	check("session-proposals", run("session status --config serve.toml --format json"))
}

const guideSchema = `missing = "drop"
[target]
died = ["no", "yes"]
[columns]
age = { lo = 0, hi = 110, center = 50, scale = 20 }
sex = ["F", "M"]
sbp = { lo = 50, hi = 260, center = 130, scale = 20 }
lactate = { lo = 0, hi = 20, center = 1.8, scale = 1.5 }
`

// outputs are commands in order, and the file of what each prints; "" prints no JSON.
var outputs = []struct{ name, line string }{
	{"version", "version"},
	{"schema-check", "schema check schema.toml hospital-a.csv"},
	{"init", "init trial --rounds 2 --parties 2 --nodes 2"},
	{"", "trial/run.sh"},
	{"plan-show", "plan show trial/plan.choir"},
	{"plan-check", "plan check trial/plan.choir"},
	{"verify", "verify trial/result"},
	{"model-show", "model show trial/result"},
	{"predict", "predict --model trial/result/model.json --data trial/test.csv"},
	{"budget-show", "budget show trial/sites/party-01/store.db"},
	{"account", "account --sigma 28.9 --clip 1 --relation replace --steps 15 --delta 1e-5"},
	{"account", "account --mechanism k-rr --categories 4 --gamma 0.25 --shuffle 100 --delta 1e-5"},
	{"sum", "sum --input rows.csv --computes 2"},
	{"histogram", "histogram --input levels.csv --categories 3 --gamma 0.5 --transport memory"},
	{"histogram", "histogram --input levels.csv --categories 3 --gamma 0.5 --range 0,2 --transport memory"},
	{"demo", "rehearse trial/plan.toml --out rehearsal"},
	{"",
		"init tables --schema schema.toml --config table.toml --nodes 2 --data hospital-a.csv " +
			"--data hospital-b.csv"},
	{"", "tables/run.sh"},
	{"stats", "stats tables/result"},
	{"", "init shuffled --config reports.toml --parties 2 --nodes 2"},
	{"", "shuffled/run.sh"},
	{"plan-show", "plan show shuffled/plan.choir"},
	{"plan-check", "plan check shuffled/plan.choir"},
	{"budget-show", "budget show shuffled/sites/party-01/store.db"},
	{"stats", "stats shuffled/result"},
	{"bench-dca", "bench dca --parties 3 --dim 20"},
	{"bench-dca", "bench dca --parties 3 --dim 20 --driver stream --noise none"},
	{"bench-dca", "bench dca --parties 3 --dim 20 --transport nats --rtt 1ms --repeats 1"},
	{"bench-table1", "bench table1 --max-parties 100 --max-dim 10 --suite x25519"},
	{"bench-table1", "bench table1 --max-parties 100 --max-dim 10 --suite x25519 --noise none --repeats 2"},
	{"bench-scale", "bench scale --max-parties 64 --max-dim 64 --max-compute-nodes 2"},
	{"bench-part", "bench noise --quick"},
	{"bench-part", "bench channel --repeats 1"},
	{"error", "verify nowhere"},
}

// schemaOf describes a value as JSON Schema does. Numbers are not told apart.
func schemaOf(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		properties := map[string]any{}
		for key, inner := range v {
			properties[key] = schemaOf(inner)
		}
		return map[string]any{"type": "object", "properties": properties, "additionalProperties": false,
			"required": anyOf(slices.Sorted(maps.Keys(v)))}
	case []any:
		var items map[string]any
		for _, inner := range v {
			items = widen(items, schemaOf(inner))
		}
		if items == nil {
			items = map[string]any{}
		}
		return map[string]any{"type": "array", "items": items}
	case string:
		return map[string]any{"type": "string"}
	case bool:
		return map[string]any{"type": "boolean"}
	case nil:
		return map[string]any{"type": "null"}
	}
	return map[string]any{"type": "number"}
}

func anyOf(texts []string) []any {
	all := make([]any, len(texts))
	for i, s := range texts {
		all[i] = s
	}
	return all
}

func types(s map[string]any) []string {
	if list, ok := s["type"].([]any); ok {
		var all []string
		for _, v := range list {
			all = append(all, fmt.Sprint(v))
		}
		return all
	}
	if s["type"] == nil {
		return nil
	}
	return []string{fmt.Sprint(s["type"])}
}

// widen is a schema that both fit.
func widen(a, b map[string]any) map[string]any {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	out := map[string]any{}
	all := types(a)
	for _, k := range types(b) {
		if !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	slices.Sort(all)
	out["type"] = all[0]
	if len(all) > 1 {
		out["type"] = anyOf(all)
	}
	items, _ := a["items"].(map[string]any)
	more, _ := b["items"].(map[string]any)
	if items != nil || more != nil {
		out["items"] = map[string]any{}
		if w := widen(items, more); w != nil {
			out["items"] = w
		}
	}
	widenObject(out, a, b)
	return out
}

func widenObject(out, a, b map[string]any) {
	pa, oka := a["properties"].(map[string]any)
	pb, okb := b["properties"].(map[string]any)
	switch {
	case !oka && !okb:
		return
	case !oka:
		out["properties"], out["required"] = pb, b["required"]
	case !okb:
		out["properties"], out["required"] = pa, a["required"]
	default:
		merged := map[string]any{}
		var required []any
		for key, v := range pa {
			merged[key] = v
		}
		for key, v := range pb {
			old, _ := merged[key].(map[string]any)
			merged[key] = widen(old, v.(map[string]any))
		}
		for _, key := range a["required"].([]any) {
			if slices.Contains(b["required"].([]any), key) {
				required = append(required, key)
			}
		}
		out["properties"], out["required"] = merged, required
	}
	out["additionalProperties"] = false
}

// fits reports where a value doesn't fit a schema.
func fits(at string, s map[string]any, v any) []string {
	if len(s) == 0 {
		return nil
	}
	own := schemaOf(v)
	if !slices.Contains(types(s), fmt.Sprint(own["type"])) {
		return []string{fmt.Sprintf("%s is a %v, want %v", at, own["type"], s["type"])}
	}
	var wrong []string
	switch v := v.(type) {
	case []any:
		items, _ := s["items"].(map[string]any)
		for i, inner := range v {
			wrong = append(wrong, fits(fmt.Sprintf("%s[%d]", at, i), items, inner)...)
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for key, inner := range v {
			p, known := properties[key].(map[string]any)
			if !known {
				wrong = append(wrong, fmt.Sprintf("%s.%s isn't in the schema", at, key))
				continue
			}
			wrong = append(wrong, fits(at+"."+key, p, inner)...)
		}
		required, _ := s["required"].([]any)
		for _, key := range required {
			if _, ok := v[fmt.Sprint(key)]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s.%s is missing", at, key))
			}
		}
	}
	return wrong
}

// checkOutput validates what a verb printed by a schema file.
func checkOutput(t *testing.T, path string, printed []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(printed, &v); err != nil {
		t.Fatalf("%s: %v in %s", path, err, printed)
	}
	var schema map[string]any
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &schema)
	}
	if err != nil && !(*updateSchemas && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	if *updateSchemas {
		schema = widen(schema, schemaOf(v))
		schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range fits(filepath.Base(path), schema, v) {
		t.Error(w)
	}
}

// TestFits: a field that is new, gone or of another type doesn't fit.
func TestFits(t *testing.T) {
	schema := schemaOf(map[string]any{"a": 1.0, "b": []any{map[string]any{"c": "x"}}})
	for name, c := range map[string]struct {
		text string
		bad  int
	}{
		"same":          {`{"a": 2, "b": [{"c": "y"}, {"c": "z"}]}`, 0},
		"empty list":    {`{"a": 2, "b": []}`, 0},
		"new field":     {`{"a": 2, "b": [], "d": 1}`, 1},
		"field is gone": {`{"b": []}`, 1},
		"another type":  {`{"a": "2", "b": []}`, 1},
		"inside a list": {`{"a": 2, "b": [{"c": 1}]}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var v any
			if err := json.Unmarshal([]byte(c.text), &v); err != nil {
				t.Fatal(err)
			}
			if wrong := fits("v", schema, v); len(wrong) != c.bad {
				t.Errorf("%q, want %d", wrong, c.bad)
			}
		})
	}
}
