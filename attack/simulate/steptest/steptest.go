// Package steptest has the shared parts of the roles' fuzz tests of Step: a small
// session around one machine, its recorded program, and a fuzzer's programs.
package steptest

import (
	"os"
	"path/filepath"
	"testing"

	"choir/attack/simulate"
	"choir/protocol"
)

// corpus is the least number of committed programs.
const corpus = 8

func bench(t testing.TB, role protocol.Role) *simulate.Harness {
	t.Helper()
	b, err := simulate.NewHarness(simulate.Setup{Seed: 7, Parties: 3, Computes: 2, Dim: 2, Rounds: 3, Spares: 1,
		MinParties: 2,
		Noise:      protocol.NoiseParty}, role)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Corpus checks that there are committed programs, and returns how far the
// recorded session, of three rounds, brings the machine.
func Corpus(t *testing.T, role protocol.Role) simulate.Progress {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "fuzz", "FuzzStep", "*"))
	if err != nil || len(files) < corpus {
		t.Fatalf("%d committed programs, want at least %d: %v", len(files), corpus, err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err != nil || len(b) < 20 {
			t.Errorf("%s: %d bytes, %v", f, len(b), err)
		}
	}
	b := bench(t, role)
	p, err := b.Drive(b.Honest())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Fuzz drives the machine by arbitrary programs: it doesn't panic or violate an
// invariant, and does the same for the same program.
func Fuzz(f *testing.F, role protocol.Role) {
	b := bench(f, role)
	f.Add(b.Honest())
	f.Fuzz(func(t *testing.T, program []byte) {
		p, err := b.Drive(program)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := b.Drive(program); again != p {
			t.Fatalf("%+v, and then %+v", p, again)
		}
	})
}
