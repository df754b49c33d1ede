package member

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/learn/dataset"
	"choir/learn/external"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/internal/rig"
)

// moody is an Outside that fails so many times before it answers.
type moody struct {
	failures int
	err      error
}

func (m *moody) Updates(context.Context, pvi.OutsideWork) ([][]float64, error) {
	if m.failures--; m.failures >= 0 {
		return nil, m.err
	}
	return [][]float64{{1}}, nil
}

// A program that fails is asked again; what is logged names the round and the cause.
func TestProgramIsAskedAgain(t *testing.T) {
	var log bytes.Buffer
	pauses := 0
	p := &retrying{outside: &moody{3, external.ErrProgram}, log: slog.New(slog.NewTextHandler(&log, nil)),
		pause: func(_ context.Context, tries int) {
			if pauses++; pauses != tries {
				t.Errorf("pause %d after %d tries", pauses, tries)
			}
		}}
	got, err := p.Updates(t.Context(), pvi.OutsideWork{Round: 7})
	if err != nil || len(got) != 1 || pauses != 3 {
		t.Errorf("%v, %v after %d pauses, want an answer after 3", got, err, pauses)
	}
	if s := log.String(); strings.Count(s, "event=program") != 3 || !strings.Contains(s, "round=7") ||
		!strings.Contains(s, external.ErrProgram.Error()) {
		t.Errorf("the log says %q", s)
	}
}

// When the round is over there is nothing left to ask for.
func TestProgramIsLeftAlone(t *testing.T) {
	over := errors.New("the round is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := &retrying{outside: &moody{1000, external.ErrTimeout}, log: slog.New(slog.DiscardHandler),
		pause: func(context.Context, int) { cancel(over) }}
	if _, err := p.Updates(ctx, pvi.OutsideWork{}); err != over {
		t.Errorf("%v, want the context's cause", err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(over)
	pause(ctx, 50) // returns at once; a wait of half a minute would show
}

func TestExecIsChecked(t *testing.T) {
	cases := rig.AppCases(t)
	schema := &dataset.Schema{Target: dataset.Binary("y", "no", "yes")}
	m := &Member{Config: &Config{StoreFile: filepath.Join(t.TempDir(), "store.db")},
		Log: slog.New(slog.DiscardHandler)}
	if o, err := m.outside(cases["virtual"].App, pvi.Data{}, schema); o != nil || err != nil {
		t.Errorf("without a program: %v, %v", o, err)
	}
	for command, app := range map[string]string{"true": "global", "/no/such/program": "virtual",
		"'": "virtual"} {
		m.Config.Exec = command
		if _, err := m.outside(cases[app].App, pvi.Data{}, schema); protocol.ClassOf(err) != protocol.ClassInput ||
			!strings.Contains(err.Error(), "exec") {
			t.Errorf("%s with %s: %v, want an input error that names exec", command, app, err)
		}
	}
	for _, role := range []protocol.Role{protocol.RoleCompute, protocol.RoleAggregator} {
		c := &Config{PlanFile: "p", KeyFile: "k", PassphraseFile: "f", StoreFile: "s", OutDir: "o", Exec: "true",
			Bus: BusConfig{URL: "u"}}
		if role == protocol.RoleCompute {
			c.OutDir = ""
		}
		if err := c.Validate(role); err == nil || !strings.Contains(err.Error(), "exec means nothing") {
			t.Errorf("exec at a %s: %v", role, err)
		}
	}
}

// TestPrivateFiles: what a party's program prints and the share of clipped updates
// are in files that only the owner may read. Members with stores in one folder do
// not share them.
func TestPrivateFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.db", "b.db"} {
		m := &Member{Config: &Config{StoreFile: filepath.Join(dir, name)}, Log: slog.New(slog.DiscardHandler)}
		w := m.private(execSuffix)
		for _, line := range []string{"loss 0.3\n", "loss 0.2\n"} {
			if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		m.keepPrivate(1, 0.5)
	}
	for name, size := range map[string]int64{
		"a.db.exec.log": 18, "b.db.exec.log": 18, "a.db.private.jsonl": 35, "b.db.private.jsonl": 35,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode().Perm() != 0o600 || info.Size() != size {
			t.Errorf("%s: %v with %d bytes, want %d for the owner alone", name, info.Mode(), info.Size(), size)
		}
	}
}
