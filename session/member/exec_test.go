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
	p := &patient{outside: &moody{3, external.ErrProgram}, log: slog.New(slog.NewTextHandler(&log, nil)),
		pause: func(_ context.Context, tries int) {
			if pauses++; pauses != tries {
				t.Errorf("pause %d after %d tries", pauses, tries)
			}
		}}
	got, err := p.Updates(t.Context(), pvi.OutsideWork{Round: 7})
	if err != nil || len(got) != 1 || pauses != 3 {
		t.Errorf("%v, %v after %d pauses, want an answer after 3", got, err, pauses)
	}
	if s := log.String(); strings.Count(s, "event=program") != 3 || !strings.Contains(s, "round=7") || !strings.Contains(s, external.ErrProgram.Error()) {
		t.Errorf("the log says %q", s)
	}
}

// When the round is over there is nothing left to ask for.
func TestProgramIsLeftAlone(t *testing.T) {
	over := errors.New("the round is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := &patient{outside: &moody{1000, external.ErrTimeout}, log: slog.New(slog.DiscardHandler), pause: func(context.Context, int) { cancel(over) }}
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
	m := &Member{Config: &Config{StoreFile: filepath.Join(t.TempDir(), "store.db")}, Log: slog.New(slog.DiscardHandler)}
	if o, err := m.outside(cases["virtual"].App, pvi.Data{}, schema); o != nil || err != nil {
		t.Errorf("without a program: %v, %v", o, err)
	}
	for command, app := range map[string]string{"true": "global", "/no/such/program": "virtual", "'": "virtual"} {
		m.Config.Exec = command
		if _, err := m.outside(cases[app].App, pvi.Data{}, schema); protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "exec") {
			t.Errorf("%s with %s: %v, want an input error that names exec", command, app, err)
		}
	}
	for _, role := range []protocol.Role{protocol.RoleCompute, protocol.RoleAggregator} {
		c := &Config{PlanFile: "p", KeyFile: "k", PassphraseFile: "f", StoreFile: "s", OutDir: "o", Exec: "true", Bus: BusConfig{URL: "u"}}
		if role == protocol.RoleCompute {
			c.OutDir = ""
		}
		if err := c.Validate(role); err == nil || !strings.Contains(err.Error(), "exec means nothing") {
			t.Errorf("exec at a %s: %v", role, err)
		}
	}
}

// What a program says stays with the party.
func TestExecLogIsPrivate(t *testing.T) {
	dir := t.TempDir()
	m := &Member{Config: &Config{StoreFile: filepath.Join(dir, "store.db")}}
	w := m.private(execLog)
	for _, s := range []string{"loss 0.3\n", "loss 0.2\n"} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, execLog))
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 18 {
		t.Errorf("%v, %v, want 18 bytes for the owner alone", info, err)
	}
}
