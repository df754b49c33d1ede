package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/gauss"
	"choir/learn/pvi"
)

// TestMain lets the test binary be the party's program: its first argument selects the
// behaviour.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "program" {
		os.Exit(program(os.Args[2]))
	}
	os.Exit(m.Run())
}

func program(behaviour string) int {
	switch behaviour {
	case "deaf": // ends without reading its input
		return 0
	case "member": // not a program, but what runs one
		p, err := asked("hangs", 0, os.Stderr)
		if err == nil {
			_, err = p.Updates(context.Background(), work())
		}
		fmt.Fprintln(os.Stderr, err)
		return 7
	}
	all, err := dataset.ReadNPZ(os.Stdin)
	if err != nil {
		return 9
	}
	update := &dataset.Array{Shape: all["cavity"].Shape, Data: make([]float64, len(all["cavity"].Data))}
	for i := range update.Data { // something of everything
		update.Data[i] = all["cavity"].Data[i] - all["global"].Data[i%len(all["global"].Data)] +
			all["y"].Data[0] + float64(i)
	}
	answer := dataset.Arrays{"header": dataset.NewText([]byte(`{"version":1,"round":3}`)), "update": update}
	switch behaviour {
	case "fails":
		fmt.Fprintln(os.Stderr, "no such file: weights.pt")
		return 3
	case "hangs":
		fmt.Fprintln(os.Stderr, os.Getpid())
		time.Sleep(time.Hour)
	case "garbage":
		fmt.Println("Traceback (most recent call last):")
		return 0
	case "silent":
		return 0
	case "flood":
		_, _ = io.CopyN(os.Stdout, zeros{}, 1<<22)
		return 0
	case "environment":
		fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n"))
	}
	if answer.WriteNPZ(os.Stdout) != nil {
		return 8
	}
	return 0
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// config is a model of 3 weights over 2 columns in 2 shards.
func config() pvi.Config {
	return pvi.Config{
		Model: bayes.External, Family: gauss.MeanField, Strategy: pvi.Virtual{Shards: 2},
		Features: 2, Parameters: 3, PriorPrecision: 1, PrecisionFloor: 1, Clip: 0.5,
		FracBits: 20, DampingBits: 16, Damping: 0.5,
	}
}

func work() pvi.OutsideWork {
	return pvi.OutsideWork{Round: 3, Global: []float64{1, 2, 3, -1, -1, -1},
		Cavity: [][]float64{{2, 2, 3, -1, -1, -1}, {1, 2, 3, -1, -1, 7}}}
}

func run(t *testing.T, behaviour string, timeout time.Duration, stderr io.Writer) ([][]float64, error) {
	t.Helper()
	p, err := asked(behaviour, timeout, stderr)
	if err != nil {
		t.Fatal(err)
	}
	return p.Updates(t.Context(), work())
}

// asked is this binary as a program.
func asked(behaviour string, timeout time.Duration, stderr io.Writer) (*Program, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return New(Config{Command: []string{exe, "program", behaviour}, Timeout: timeout, Stderr: stderr}, config(),
		Records{Data: bayes.Data{X: []float64{1, 2, 3, 4, 5, 6}, Y: []float64{10, 20, 30}},
			Columns: []string{"a", "bias"}})
}

func TestProgramAnswers(t *testing.T) {
	got, err := run(t, "works", 0, nil)
	want := [][]float64{{11, 11, 12, 13, 14, 15}, {16, 17, 18, 19, 20, 29}}
	if err != nil || len(got) != 2 || !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// Every failure of a program has a named error, and does not affect this process.
func TestProgramFails(t *testing.T) {
	for behaviour, want := range map[string]error{
		"fails": ErrProgram, "garbage": ErrAnswer, "silent": ErrAnswer, "flood": ErrAnswer, "deaf": ErrAnswer,
	} {
		var stderr bytes.Buffer
		got, err := run(t, behaviour, 0, &stderr)
		if !errors.Is(err, want) || got != nil {
			t.Errorf("%s: %v, %v, want %v", behaviour, got, err, want)
		}
		if behaviour == "fails" && (!strings.Contains(err.Error(), "exit status 3") ||
			!strings.Contains(stderr.String(), "weights.pt")) {
			t.Errorf("%v, on standard error %q", err, stderr.String())
		}
		if err != nil && strings.Contains(err.Error(), "weights.pt") {
			t.Errorf("the error repeats what the program said, which may come from data: %v", err)
		}
	}
	if _, err := run(t, "hangs", 300*time.Millisecond, nil); !errors.Is(err, ErrTimeout) {
		t.Errorf("a program that hangs: %v, want ErrTimeout", err)
	}
}

// TestAnswerIsBounded checks that no more of a program's output is kept than an answer can have.
func TestAnswerIsBounded(t *testing.T) {
	limit := 1<<20 + 16*2*config().Dim()
	_, err := run(t, "flood", 0, nil)
	if want := fmt.Sprintf("more than %d bytes", limit); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	b := &bounded{limit: 10}
	for i, c := range []struct {
		write, kept int
		full        bool
	}{{4, 4, false}, {6, 10, false}, {1, 10, true}, {1 << 20, 10, true}} {
		n, err := b.Write(make([]byte, c.write))
		if n != c.write || err != nil || b.kept.Len() != c.kept || b.full != c.full {
			t.Errorf("write %d: %d, %v: %d bytes are kept, full: %t", i, n, err, b.kept.Len(), b.full)
		}
	}
}

func TestProgramIsCancelled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Command: []string{exe, "program", "hangs"}}, config(),
		Records{Data: bayes.Data{X: []float64{1, 2}, Y: []float64{10}}})
	if err != nil {
		t.Fatal(err)
	}
	over := errors.New("the round is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(over) })
	if _, err := p.Updates(ctx, work()); !errors.Is(err, over) {
		t.Errorf("%v, want the context's cause", err)
	}
}

// A program inherits no variable outside the list, such as paths to keys and passphrases.
func TestProgramEnvironment(t *testing.T) {
	t.Setenv("CHOIR_PASSPHRASE_FILE", "/secret")
	t.Setenv("LANG", "C")
	var stderr bytes.Buffer
	if _, err := run(t, "environment", 0, &stderr); err != nil {
		t.Fatal(err)
	}
	if s := stderr.String(); strings.Contains(s, "CHOIR") || !strings.Contains(s, "LANG=C") {
		t.Errorf("the program's environment is %q", s)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]Config{"nothing": {},
		"not there": {Command: []string{"/no/such/program"}},
		"timeout":   {Command: []string{"true"}, Timeout: -1}} {
		if _, err := New(c, config(), Records{}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	bad := config()
	bad.Parameters = 0
	if _, err := New(Config{Command: []string{"true"}}, bad, Records{}); !errors.Is(err, pvi.ErrConfig) {
		t.Errorf("a bad configuration: %v", err)
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"python3 my.py":                 {"python3", "my.py"},
		"  a\t'b c' \"d 'e'\" f'g h'i ": {"a", "b c", "d 'e'", "fg hi"},
		"a '' b":                        {"a", "", "b"},
	} {
		if got, err := Split(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", line, got, err, want)
		}
	}
	for _, line := range []string{"", "  ", "a 'b"} {
		if got, err := Split(line); err == nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}
