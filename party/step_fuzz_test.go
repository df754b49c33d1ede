package party_test

import (
	"os"
	"path/filepath"
	"testing"

	"choir/protocol"
	"choir/simulate"
)

// corpus is how many committed programs there are at least.
const corpus = 8

func bench(t testing.TB) *simulate.Bench {
	t.Helper()
	b, err := simulate.NewBench(simulate.Setup{Seed: 7, Parties: 3, Computes: 2, Dim: 2, Rounds: 3, Spares: 1, MinParties: 2,
		Noise: protocol.NoiseParty}, protocol.RoleParty)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestStepCorpus: there is something to fuzz from, and the recorded session
// leads the machine to its end.
func TestStepCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "fuzz", "FuzzStep", "*"))
	if err != nil || len(files) < corpus {
		t.Fatalf("%d committed programs, want at least %d: %v", len(files), corpus, err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err != nil || len(b) < 20 {
			t.Errorf("%s: %d bytes, %v", f, len(b), err)
		}
	}
	b := bench(t)
	p, err := b.Drive(b.Honest())
	if err != nil {
		t.Fatal(err)
	}
	if p.Settled != 3 || !p.Done {
		t.Errorf("the recorded session settled %d rounds, done: %t", p.Settled, p.Done)
	}
}

// FuzzStep drives the machine by arbitrary programs: it neither panics nor
// breaks a promise, and does the same for the same program.
func FuzzStep(f *testing.F) {
	b := bench(f)
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
