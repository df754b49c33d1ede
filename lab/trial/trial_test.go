package trial

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/session/app"
	"choir/session/member"
	"choir/session/terms"
)

// TestWrite: every member's folder is complete and private, no secret is in two of them,
// and the plan is signed by all.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trial")
	made, err := Write(Options{Dir: dir, Parties: 4, Nodes: 2, Epsilon: 1, Delta: 1e-5})
	if err != nil {
		t.Fatal(err)
	}
	sp, err := terms.ReadPlan(made.dir("plan.choir"))
	if err != nil {
		t.Fatal(err)
	}
	if err := sp.Complete(time.Now()); err != nil {
		t.Error(err)
	}
	if sp.Plan.Parties() != 4 || sp.Plan.Computes() != 2 || len(made.Records) != 4 {
		t.Errorf("%d parties, %d nodes, records %v", sp.Plan.Parties(), sp.Plan.Computes(), made.Records)
	}
	seen := map[string]string{}
	for _, m := range sp.Plan.Members {
		site := filepath.Join(dir, "sites", m.Name)
		if info, err := os.Stat(site); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", m.Name, info.Mode(), err)
		}
		for _, secret := range []string{"key", "passphrase"} {
			b, err := os.ReadFile(filepath.Join(site, secret))
			if err != nil || seen[string(b)] != "" {
				t.Errorf("%s's %s: %v; the same as %s", m.Name, secret, err, seen[string(b)])
			}
			seen[string(b)] = m.Name
		}
		c, err := member.LoadConfig(filepath.Join(site, "site.toml"), os.LookupEnv, nil)
		if err == nil {
			err = c.Validate(m.Role)
		}
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		for _, name := range []string{"run.sh", "compose.yaml"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.Contains(b, []byte(m.Name)) {
				t.Errorf("%s doesn't start %s: %v", name, m.Name, err)
			}
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(path, "sites") {
			if info, err := d.Info(); err != nil || (info.Mode().Perm()&0o077 != 0 && d.Name() != "plan.choir") {
				t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func (m *Made) dir(name string) string { return filepath.Join(m.Dir, name) }

// TestOwnFiles: files in another order of columns, with and without a schema.
func TestOwnFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := file("a.csv", "age,y\n"+strings.Repeat("30,no\n60,yes\n", 40))
	b := file("b.csv", "y;age\r\n"+strings.Repeat("no;20,5\r\nyes;70\r\n", 40))
	costs := file("costs.csv", "age,cost\n"+strings.Repeat("30,10\n60,20\n40,15\n50,18\n", 20)+"55,9000\n")
	other := file("other.csv", "years,y\n3,no\n")
	months := file("months.csv", "age,y\n"+strings.Repeat("360,no\n720,yes\n", 40))
	single := file("single.csv", "age,y\n"+strings.Repeat("30,no\n60,no\n", 40))
	upper := file("upper.csv", "AGE,y\n30,no\n")
	schema := file("s.toml", "[target]\ny = [\"no\", \"yes\"]\n[columns]\nage = [0, 110]\n")
	base := Options{Parties: 2, Nodes: 2, Epsilon: 1, Delta: 1e-5}
	for name, c := range map[string]struct {
		change func(*Options)
		warn   string
		fails  string
	}{
		"schema":   {change: func(o *Options) { o.Data, o.Schema = []string{a, b}, schema }},
		"inferred": {change: func(o *Options) { o.Data, o.Target = []string{a, b}, "y" }, warn: "not private"},
		"number":   {change: func(o *Options) { o.Data, o.Target = []string{a, b}, "age" }, warn: "not private"},
		"long tail": {change: func(o *Options) { o.Data, o.Target = []string{costs, costs}, "cost" },
			warn: "has a long tail"},
		"other unit": {change: func(o *Options) { o.Data, o.Schema = []string{a, months}, schema },
			warn: "months.csv, age: much is cut or unlisted: compare unit"},
		"one class": {change: func(o *Options) { o.Data, o.Schema = []string{a, single}, schema },
			warn: "single.csv, y: all values are the same"},
		"other case": {change: func(o *Options) { o.Data, o.Schema = []string{a, upper}, schema },
			fails: `upper.csv, column "age": the file has no such column, but "AGE": rename it`},
		"no target": {change: func(o *Options) { o.Data = []string{a, b} }, fails: "target: name the column"},
		"too few":   {change: func(o *Options) { o.Data = []string{a} }, fails: "1 files for 2 parties"},
		"wrong file": {change: func(o *Options) { o.Data, o.Schema = []string{a, other}, schema },
			fails: "other.csv"},
		"unlike": {change: func(o *Options) { o.Data, o.Target = []string{a, other}, "y" },
			fails: `column "age"`},
		"one party": {change: func(o *Options) { o.Parties = 1 }, fails: "parties: 1"},
		"one node":  {change: func(o *Options) { o.Nodes = 1 }, fails: "nodes: 1"},
		"epsilon":   {change: func(o *Options) { o.Epsilon = 0 }, fails: "epsilon"},
		"delta":     {change: func(o *Options) { o.Delta = 1 }, fails: "delta"},
		"not empty": {change: func(o *Options) { o.Dir = dir }, fails: "isn't empty"},
	} {
		t.Run(name, func(t *testing.T) {
			o := base
			o.Dir = filepath.Join(t.TempDir(), "new")
			c.change(&o)
			made, err := Write(o)
			if c.fails != "" {
				var known *protocol.Error
				if !errors.As(err, &known) || known.Class != protocol.ClassInput || !strings.Contains(err.Error(),
					c.fails) {
					t.Errorf("%v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(made.Warnings, "\n"); !strings.Contains(all, c.warn) {
				t.Errorf("warnings %q", all)
			}
		})
	}
}

// TestUnequalFiles: the plan of a trial weighs parties by their records. One that doesn't gets a warning.
func TestUnequalFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pair := "30,no\n60,yes\n"
	a := write("a.csv", "age,y\n"+strings.Repeat(pair, 2))
	b := write("b.csv", "age,y\n"+strings.Repeat(pair, 300))
	schema := write("s.toml", "[target]\ny = [\"no\", \"yes\"]\n[columns]\nage = [0, 110]\n")
	text := "name = \"t\"\n[privacy]\nepsilon = 1.0\ndelta = 1e-5\n[learning]\nschema_file = \"s.toml\"\n" +
		"records = 604\n"
	for name, c := range map[string]struct {
		config, want string
		warns        int
	}{
		"by default": {"", "[0.006622516556291391 0.9933774834437086]", 0},
		"equal":      {write("equal.toml", text), "[0.5 0.5]", 1},
		"named":      {write("named.toml", text+"weights = [0.01, 0.99]\n"), "[0.01 0.99]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := Write(Options{Dir: filepath.Join(t.TempDir(), "new"), Config: c.config, Schema: schema,
				Data: []string{a, b}, Parties: 2, Nodes: 2, Epsilon: 1, Delta: 1e-5})
			if err != nil {
				t.Fatal(err)
			}
			sp, err := terms.ReadPlan(made.dir("plan.choir"))
			if err != nil {
				t.Fatal(err)
			}
			l, err := app.PVIOf(sp.Plan)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(made.Warnings, "\n")
			warns := strings.Count(all, "party-01: the plan counts on ")
			if got := fmt.Sprint(l.Weights); got != c.want || warns != c.warns {
				t.Errorf("weights %s, want %s; warnings %q", got, c.want, all)
			}
		})
	}
}

// TestLifetimeIsKept: a plan lives as long as its terms name, and the cards outlive it.
func TestLifetimeIsKept(t *testing.T) {
	for named, want := range map[string]time.Duration{
		"lifetime = \"6m\"\n": 6 * time.Minute, "lifetime = \"90d\"\n": 90 * 24 * time.Hour, "": lifetime,
	} {
		dir := t.TempDir()
		config := filepath.Join(dir, "terms.toml")
		text := "name = \"t\"\n" + named + "rounds = 1\n[sum]\ncolumns = 1\nfrac_bits = 4\nbound = 10.0\n"
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		made, err := Write(Options{Dir: filepath.Join(dir, "trial"), Config: config, Parties: 2, Nodes: 2,
			Epsilon: 1, Delta: 1e-5})
		if err != nil {
			t.Fatal(err)
		}
		sp, err := terms.ReadPlan(made.dir("plan.choir"))
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Duration(sp.Plan.NotAfter-sp.Plan.Created) * time.Second; got != want {
			t.Errorf("%q: a plan of %s, want %s", named, got, want)
		}
	}
}
