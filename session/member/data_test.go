package member_test

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"choir/internal/config"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
)

// TestCheckData: before a plan is signed its party learns that its file has a value that the schema
// refuses, with line and column.
func TestCheckData(t *testing.T) {
	clipped := rig.LearningCases()["logistic"]
	clipped.Config.Clip = 0.5
	l, _ := rig.LearningPlanAt(t, clipped, 1)
	p := l.Session.Plan
	a, err := app.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := a.Encoding()
	if err != nil {
		t.Fatal(err)
	}
	names, values := []string{}, []string{}
	for _, c := range schema.Columns {
		names = append(names, c.Name)
		values = append(values, "0")
	}
	row := strings.Join(values, ",") + ",0\n"
	head := strings.Join(names, ",") + "," + schema.Target.Name + "\n"
	for _, tc := range []struct{ name, text, want string }{
		{"whole", head + row + row, ""},
		{"missing value", head + row + strings.TrimPrefix(row, "0"), "line 3"},
		{"other columns", "a,b\n1,2\n", "data: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := rig.WriteFile(t, t.TempDir(), "data.csv", tc.text)
			err := member.CheckData(p, &member.Config{DataFile: file})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	file := rig.WriteFile(t, t.TempDir(), "data.csv", head+row+row)
	for exec, want := range map[string]string{"true": "", "/no/such/program": "config: exec: "} {
		err := member.CheckData(p, &member.Config{DataFile: file, Exec: exec})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with the program %s: error %v, want %q", exec, err, want)
		}
	}
}

// TestExternalWantsAProgram: a party without a program does not start under a plan whose model only
// programs know.
func TestExternalWantsAProgram(t *testing.T) {
	dir := t.TempDir()
	rig.WriteFile(t, dir, "schema.json", schema)
	body := "rounds = 2\n[privacy]\nepsilon = 8.0\ndelta = 1e-5\n[learning]\nschema_file = \"schema.json\"\n" +
		"model = \"external\"\nparameters = 2\nstrategy = \"dataset\"\nclip = 1.0\ndamping = 0.5\n"
	c := site.DeployPlan(t, dir, time.Now(), body, rig.WriteFile(t, dir, "a.csv", records()))("party-a")
	for exec, want := range map[string]string{"": "exec is missing", "true": ""} {
		c.Exec = exec
		_, err := member.Open(c, protocol.RoleParty, slog.New(slog.DiscardHandler), time.Now())
		if (err == nil) != (want == "") || err != nil &&
			(protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), want)) {
			t.Errorf("exec = %q: error %v, want %q", exec, err, want)
		}
	}
}

// TestOtherDataIsRefused: a party starts with another file only before its first contribution; later the
// error and the preflight tell what happened.
func TestOtherDataIsRefused(t *testing.T) {
	dir := t.TempDir()
	rig.WriteFile(t, dir, "schema.json", schema)
	configOf := site.DeployPlan(t, dir, time.Now(), learning, rig.WriteFile(t, dir, "a.csv", records()))
	c := configOf("party-a")
	c.Bus = member.BusConfig{URL: "nats://127.0.0.1:1"}
	c.Timing.Connect = config.Duration{Duration: 50 * time.Millisecond}
	start := func(text string, class protocol.Class, want string) {
		t.Helper()
		c.DataFile = rig.WriteFile(t, dir, "a.csv", text)
		var log strings.Builder
		m, err := member.Open(c, protocol.RoleParty, slog.New(slog.NewTextHandler(&log, nil)), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(c.StoreFile)
		made := err != nil
		defer func() {
			warned := strings.Contains(log.String(), "level=WARN msg=\"a new store with an empty ledger")
			if warned != made {
				t.Errorf("made a store: %t, warned: %t", made, warned)
			}
		}()
		if err := m.Run(t.Context()); protocol.ClassOf(err) != class || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		data := ""
		for _, check := range member.RunPreflight(t.Context(), c, time.Now()).Checks {
			if check.Name == "data" && check.Verdict == member.Wrong {
				data += check.Detail
			}
		}
		if (data != "") != (class == protocol.ClassInput) || !strings.Contains(data, want) && data != "" {
			t.Errorf("preflight: %q, want %q", data, want)
		}
	}
	start(records(), protocol.ClassAuth, "")
	start(records()+"30,no\n", protocol.ClassAuth, "") // nothing has been contributed
	m, err := member.Open(c, protocol.RoleParty, slog.New(slog.DiscardHandler), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	store, err := m.OpenStore()
	if err == nil {
		err = errors.Join(store.Apply([]protocol.Record{{Key: "attempt", Value: make([]byte, 8)}}), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	start(records()+"30,no\n", protocol.ClassAuth, "")
	start(records(), protocol.ClassInput, "began with (41 records then, 40 now): put it back")
	turned := "age,died\n30,no\n" + strings.TrimPrefix(records(), "age,died\n")
	start(turned, protocol.ClassInput, "began with (other values, or another order): put it back")
}
