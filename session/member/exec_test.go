package member

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"choir/learn/bayes"
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
	p := running(&moody{3, external.ErrProgram}, slog.NewTextHandler(&log, nil),
		func(_ context.Context, tries int) {
			if pauses++; pauses != tries {
				t.Errorf("pause %d after %d tries", pauses, tries)
			}
		})
	got, err := p.Updates(t.Context(), pvi.OutsideWork{Round: 7, Global: []float64{0}, Cavity: [][]float64{{0}}})
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
	p := running(&moody{1000, external.ErrTimeout}, slog.DiscardHandler,
		func(context.Context, int) { cancel(over) })
	if _, err := p.Updates(ctx, pvi.OutsideWork{Cavity: [][]float64{{0}}}); err != over {
		t.Errorf("%v, want the context's cause", err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(over)
	pause(ctx, 50) // returns at once; a wait of half a minute would show
}

// running is a party's only program.
func running(one pvi.Outside, log slog.Handler, pause func(ctx context.Context, tries int)) *shards {
	return &shards{limit: time.Hour, log: slog.New(log), pause: pause, each: []pvi.Outside{one}}
}

// perShard answers with the sum of its own records' targets, or fails.
type perShard struct{ data bayes.Data }

func (p perShard) Updates(_ context.Context, w pvi.OutsideWork) ([][]float64, error) {
	sum := 0.0
	for _, y := range p.data.Y {
		if y < 0 {
			return nil, external.ErrProgram
		}
		sum += y
	}
	return [][]float64{{sum + w.Cavity[0][0]}}, nil
}

// TestFailureIsZero: a shard whose program fails until its time is over has the update zero, and
// the other shards have theirs, of their own records.
func TestFailureIsZero(t *testing.T) {
	data := bayes.Data{X: make([]float64, 6), Y: []float64{1, -1, 2, 4, 5, 6}}
	program := func(d bayes.Data) (pvi.Outside, error) { return perShard{d}, nil }
	var log bytes.Buffer
	run := shards{limit: 3 * time.Millisecond, log: slog.New(slog.NewTextHandler(&log, nil)),
		pause: func(ctx context.Context, _ int) { <-ctx.Done() }}
	p, err := run.of(data, 3, program)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Updates(t.Context(), pvi.OutsideWork{Global: []float64{9},
		Cavity: [][]float64{{10}, {20}, {30}}})
	want := [][]float64{{1 + 4 + 10}, {0}, {2 + 6 + 30}}
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	slow := func(bayes.Data) (pvi.Outside, error) { return hanging{}, nil }
	if p, err = run.of(data, 1, slow); err != nil {
		t.Fatal(err)
	}
	_, err = p.Updates(t.Context(), pvi.OutsideWork{Global: []float64{9}, Cavity: [][]float64{{10}}})
	if s := log.String(); err != nil || !strings.Contains(s, "within 3ms, so the update is zero") {
		t.Errorf("%v, and the log has %q, want the limit and what follows from it", err, s)
	}
	if _, err := run.of(data, mostShards+1, program); protocol.ClassOf(err) != protocol.ClassInput ||
		!strings.Contains(err.Error(), "exec") {
		t.Errorf("too many shards: %v, want an input error that names exec", err)
	}
}

// hanging is an Outside that never answers.
type hanging struct{}

func (hanging) Updates(ctx context.Context, _ pvi.OutsideWork) ([][]float64, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestExecIsChecked(t *testing.T) {
	cases := rig.AppCases(t)
	schema := &dataset.Schema{Target: dataset.Binary("y", "no", "yes")}
	m := &Member{Config: &Config{StoreFile: filepath.Join(t.TempDir(), "store.db")},
		Log: slog.New(slog.DiscardHandler), Session: protocol.Bind(&protocol.Plan{DeadlineMS: 1000})}
	if o, err := m.outside(cases["virtual"].App, bayes.Data{}, schema); o != nil || err != nil {
		t.Errorf("without a program: %v, %v", o != nil, err)
	}
	for command, app := range map[string]string{"true": "global", "/bin/true": "optimisation",
		"/no/such/program": "virtual", "'": "virtual"} {
		m.Config.Exec = command
		_, err := m.outside(cases[app].App, bayes.Data{}, schema)
		if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "exec") {
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
		t.Run(name, func(t *testing.T) {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
				return
			}
			if info.Mode().Perm() != 0o600 || info.Size() != size {
				t.Errorf("%v with %d bytes, want %d for the owner alone", info.Mode(), info.Size(), size)
			}
		})
	}
}
