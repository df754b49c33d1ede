package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"
)

// deployment reads a file of examples/deploy.
func deployment(t *testing.T, name ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"../../examples/deploy"}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// figureNames are the metrics that a station serves, from their definitions.
func figureNames(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../../host/status/figures.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	defined := regexp.MustCompile(`f\.(gauge|counter|histogram)\("([a-z_]+)"`)
	for _, m := range defined.FindAllStringSubmatch(string(b), -1) {
		names = append(names, "choir_"+m[2])
		if m[1] == "histogram" {
			names = append(names, "choir_"+m[2]+"_bucket", "choir_"+m[2]+"_sum", "choir_"+m[2]+"_count")
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d figures", len(names))
	}
	return names
}

var figureName = regexp.MustCompile(`choir_[a-z_]+`)

// known reports the figures of expressions that no station serves.
func known(t *testing.T, what string, expressions []string) {
	t.Helper()
	names := figureNames(t)
	found := 0
	for _, e := range expressions {
		for _, name := range figureName.FindAllString(e, -1) {
			found++
			if !slices.Contains(names, name) {
				t.Errorf("%s: no station serves %s", what, name)
			}
		}
	}
	if found < 6 {
		t.Errorf("%s names only %d figures", what, found)
	}
}

// TestBoard: Grafana's board is JSON, its panels don't overlap, and their figures exist.
func TestBoard(t *testing.T) {
	var board struct {
		Panels []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(deployment(t, "grafana", "dashboard.json")), &board); err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, p := range board.Panels {
		if p.Title == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d: %+v", i, p)
		}
		for _, q := range board.Panels[:i] {
			a, b := p.GridPos, q.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s and %s overlap", p.Title, q.Title)
			}
		}
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	known(t, "the board", all)
}

// TestAlerts: the rules are YAML, each with a remedy, and their figures exist.
func TestAlerts(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(strings.NewReader(deployment(t, "grafana", "alerts.yaml")))
	if err := d.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" ||
				r.Annotations["remedy"] == "" {
				t.Errorf("%+v", r)
			}
			all = append(all, r.Expr)
		}
	}
	known(t, "the rules", all)
}

// offers checks that a verb exists and has all flags of a command line.
func offers(t *testing.T, words []string) {
	t.Helper()
	if len(words) < 3 {
		t.Fatalf("%q isn't a command line", words)
	}
	help, err := exec.Command(binary(t), words[0], "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", words[0], err, help)
	}
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "--") && !regexp.MustCompile(regexp.QuoteMeta(w)+`\b`).Match(help) {
			t.Errorf("%s has no flag %s", words[0], w)
		}
	}
}

// TestUnits: the units name verbs and flags that exist, and don't restart what only people can
// mend.
func TestUnits(t *testing.T) {
	for unit, role := range map[string]string{
		"choir@.service": "party", "choir-serve.service": "", "choir-broker.service": "",
	} {
		text := deployment(t, "systemd", unit)
		section, keys := "", map[string]string{}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			key, value, ok := strings.Cut(line, "=")
			switch {
			case line == "" || line[0] == '#':
			case line[0] == '[':
				section = line
			case ok && section != "":
				keys[section+key] = value
			default:
				t.Errorf("%s: %q", unit, line)
			}
		}
		words := strings.Fields(strings.ReplaceAll(keys["[Service]ExecStart"], "%i", role))
		program, broker := "/usr/local/bin/choir-member", unit == "choir-broker.service"
		if broker {
			program = "/usr/local/bin/choir"
		}
		if len(words) == 0 || words[0] != program {
			t.Fatalf("%s starts %q", unit, words)
		}
		offers(t, words[1:])
		// A dynamic user can't own the key and the other secrets, which have to be of mode 0600.
		if keys["[Service]RestartPreventExitStatus"] != "4 5 6 7" || keys["[Service]User"] != "choir" ||
			(keys["[Service]LoadCredential"] == "") != broker || keys["[Service]DynamicUser"] != "" {
			t.Errorf("%s: %q", unit, keys)
		}
	}
}

// TestCompose: the compose file is YAML whose command exists.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Command []string
			Volumes []string
		}
	}
	if err := yaml.Unmarshal([]byte(deployment(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	party, ok := file.Services["party"]
	// A named volume would belong to root, and the image has no shell to give it away.
	if !ok || len(party.Volumes) != 2 || !strings.HasPrefix(party.Volumes[1], "./state:") {
		t.Fatalf("%+v", file)
	}
	offers(t, party.Command)
}

// TestChart: the chart's templates are rendered by the part of Helm's language that they use, with
// its own values and with others; the result is YAML whose command exists.
func TestChart(t *testing.T) {
	var chart struct{ Name, Version, APIVersion string }
	if err := yaml.Unmarshal([]byte(deployment(t, "helm", "choir-member", "Chart.yaml")), &chart); err != nil ||
		chart.Name != "choir-member" || chart.Version == "" {
		t.Fatalf("%+v, %v", chart, err)
	}
	for name, changed := range map[string]map[string]any{
		"its own": {},
		"others": {"data": "ward", "role": "compute",
			"store": map[string]any{"size": "9Gi", "storageClass": "fast"}},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]any{}
			text := deployment(t, "helm", "choir-member", "values.yaml")
			if err := yaml.Unmarshal([]byte(text), &values); err != nil {
				t.Fatal(err)
			}
			for k, v := range changed {
				if _, ok := values[k]; !ok {
					t.Errorf("the chart has no value %s", k)
				}
				values[k] = v
			}
			set := rendered(t, "statefulset.yaml", values)
			if set["kind"] != "StatefulSet" {
				t.Errorf("%v", set)
			}
			pod := set["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			if pod["securityContext"].(map[string]any)["fsGroup"] != 65532 {
				t.Error("the store's volume would belong to root")
			}
			var args []string
			for _, a := range pod["containers"].([]any)[0].(map[string]any)["args"].([]any) {
				args = append(args, a.(string))
			}
			offers(t, args)
			if args[0] != values["role"] {
				t.Errorf("role %s, want %s", args[0], values["role"])
			}
			mounts, volumes := map[any]bool{"state": true}, pod["volumes"].([]any)
			for _, v := range volumes {
				mounts[v.(map[string]any)["name"]] = true
			}
			for _, m := range pod["containers"].([]any)[0].(map[string]any)["volumeMounts"].([]any) {
				if !mounts[m.(map[string]any)["name"]] {
					t.Errorf("nothing to mount at %v", m)
				}
			}
			if rendered(t, "service.yaml", values)["kind"] != "Service" {
				t.Error("no service")
			}
		})
	}
}

// rendered renders a template of the chart.
func rendered(t *testing.T, name string, values map[string]any) map[string]any {
	t.Helper()
	functions := template.FuncMap{
		"quote": func(v string) string {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		},
		"default": func(fallback string, v any) string {
			if s, ok := v.(string); ok && s != "" {
				return s
			}
			return fallback
		},
	}
	text := deployment(t, "helm", "choir-member", "templates", name)
	made, err := template.New(name).Funcs(functions).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := made.Execute(&b, map[string]any{"Values": values, "Release": map[string]any{"Name": "ward"},
		"Chart": map[string]any{"Name": "choir-member"}}); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := yaml.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, b.Bytes())
	}
	return out
}

// TestImage: the image has nothing but the member's program, which the build of a release makes
// without shared libraries.
func TestImage(t *testing.T) {
	b, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			steps = append(steps, line)
		}
	}
	if len(steps) != 4 || steps[0] != "FROM scratch" || steps[1] != "COPY choir-member /choir-member" ||
		!strings.HasPrefix(steps[2], "USER ") {
		t.Errorf("%q", steps)
	}
	release, err := os.ReadFile("../../.ci/release")
	if err != nil || !strings.Contains(string(release), "CGO_ENABLED=0") {
		t.Errorf("a release isn't static: %v", err)
	}
}
