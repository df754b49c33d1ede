package simulate

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the recorded outcomes in testdata/simulate")

const scripts = "../../testdata/simulate"

// wantScripts is how many scripts there are at least, so that this test never
// runs on nothing.
const wantScripts = 10

// TestScripts replays the recorded sessions: each goes as it went.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scripts, "*.txt"))
	if err != nil || len(files) < wantScripts {
		t.Fatalf("%d scripts in %s, want at least %d: %v", len(files), scripts, wantScripts, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { replayFile(t, file) })
	}
}

func replayFile(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	setup, faults, err := ParseScript(text)
	if err != nil {
		t.Fatal(err)
	}
	r, story := Tell(setup, faults)
	if len(r.Violations) > 0 {
		t.Errorf("violations: %v", r.Violations)
	}
	if len(r.Script) != len(faults) {
		t.Errorf("%d faults happened, %d are written: %v", len(r.Script), len(faults), r.Script)
	}
	head, want, _ := bytes.Cut(text, []byte("\n----\n"))
	if *update {
		out := append(bytes.TrimRight(head, "\n"), "\n----\n"+story...)
		if err := os.WriteFile(file, out, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(story, "\n")); diff != "" {
		t.Errorf("it went otherwise than recorded (-want +got):\n%s", diff)
	}
}

// TestScriptForm: writing and reading a script are each other's inverse.
func TestScriptForm(t *testing.T) {
	n := 0
	for _, p := range Profiles() {
		if p.Wide {
			continue
		}
		for seed := range uint64(5) {
			r := Run(seed, p)
			setup, faults, err := ParseScript(formatScript(r.Setup, r.Script))
			if err != nil {
				t.Fatal(err)
			}
			if setup != r.Setup || !reflect.DeepEqual(normal(faults), normal(r.Script)) {
				t.Fatalf("%s seed %d: %v %v", p.Name, seed, setup, faults)
			}
			n += len(faults)
		}
	}
	if n < 1000 {
		t.Errorf("only %d faults went round", n)
	}
}

func normal(faults []Fault) (lines []string) {
	for _, f := range faults {
		lines = append(lines, f.String())
	}
	return lines
}

// TestBadScripts: what formatScript doesn't write is refused.
func TestBadScripts(t *testing.T) {
	setup := "setup " + draw(1, Profile{}).String() + "\n"
	for name, text := range map[string]string{
		"empty":            "",
		"only a comment":   "# nothing\n",
		"no setup":         "lose key.c0#1\n",
		"two setups":       setup + setup,
		"missing field":    strings.Replace(setup, "dim=", "dim2=", 1),
		"not a number":     strings.Replace(setup, "rounds=", "rounds=x", 1),
		"no such noise":    strings.Replace(setup, "noise=", "noise=x", 1),
		"no such fault":    setup + "explode c0@1\n",
		"no key":           setup + "lose\n",
		"too few numbers":  setup + "crash c0@1 3\n",
		"too many numbers": setup + "crash c0@1 3 4 5 6\n",
		"negative number":  setup + "late c0 -3\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := ParseScript([]byte(text)); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func FuzzParseScript(f *testing.F) {
	r := Run(1, Profiles()[1])
	f.Add(formatScript(r.Setup, r.Script))
	f.Add([]byte("setup \ncrash c0@1\n----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		setup, faults, err := ParseScript(text)
		if err != nil {
			return
		}
		again, same, err := ParseScript(formatScript(setup, faults))
		if err != nil || again != setup || !reflect.DeepEqual(normal(same), normal(faults)) {
			t.Fatalf("%v: %v %v", err, again, same)
		}
	})
}
