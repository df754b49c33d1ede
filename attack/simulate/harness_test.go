package simulate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"choir/protocol"
)

var corpora = flag.String("corpora", "", "write seed corpora for FuzzStep below this directory")

var benchRoles = map[string]protocol.Role{"party": protocol.RoleParty, "compute": protocol.RoleCompute,
	"aggregator": protocol.RoleAggregator}

func benchSetup() Setup {
	return Setup{Seed: 7, Parties: 3, Computes: 2, Dim: 2, Rounds: 3, Spares: 1, MinParties: 2,
		Noise: protocol.NoiseParty}
}

// wander is a program that goes through the recorded session forwards, mostly,
// and does something odd now and then.
func wander(b *Harness, d *dice, odd float64) (program []byte) {
	for k := 0; k < len(b.Messages); k++ {
		at := []byte{byte(k >> 8), byte(k)}
		if d.chance(odd) {
			j := int(d.next() % uint64(len(b.Messages)))
			far := []byte{byte(j >> 8), byte(j)}
			op := byte(d.next() % opCount)
			program = append(program, op)
			switch op {
			case opDeliver:
				program = append(program, far...)
			case opFlip:
				program = append(append(program, far...), byte(d.next()), byte(d.next()), byte(d.next()))
			case opCut, opInsider:
				program = append(append(program, far...), byte(d.next()%16))
			case opRaw:
				program = append(program, 3, byte(d.next()%14), 0, 7)
			case opTick, opOddUpdate:
				program = append(program, byte(d.next()))
			}
		}
		switch {
		case d.chance(odd / 4):
			continue // lost
		case d.chance(odd / 2):
			program = append(append(append(program, opInsider), at...), byte(d.next()%8))
		default:
			program = append(append(program, opDeliver), at...)
		}
		if d.chance(.7) {
			program = append(program, opFlush, opUpdate)
		}
	}
	return program
}

// TestWanderingPrograms drives every machine by many programs.
func TestWanderingPrograms(t *testing.T) {
	n := 600
	if testing.Short() {
		n = 60
	}
	for name, role := range benchRoles {
		t.Run(name, func(t *testing.T) {
			b, err := NewHarness(benchSetup(), role)
			if err != nil {
				t.Fatal(err)
			}
			var ended, steps int
			for seed := range n {
				d := dice(seed)
				p := tryDrive(t, b, wander(b, &d, float64(seed%40)/100), seed)
				steps += p.Steps
				if p.Done {
					ended++
				}
			}
			if ended < n/20 || steps < 20*n {
				t.Errorf("%d programs: %d reach the end, %d steps", n, ended, steps)
			}
			t.Logf("%d programs: %d reach the end, %d steps", n, ended, steps)
			writeCorpus(t, b, name)
		})
	}
}

func tryDrive(t *testing.T, b *Harness, program []byte, seed int) Progress {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("program %d: panic: %v", seed, p)
			panic(p)
		}
	}()
	p, err := b.Drive(program)
	if err != nil {
		t.Errorf("program %d: %v", seed, err)
	}
	return p
}

// writeCorpus writes seeds for a machine's fuzz target, when asked to.
func writeCorpus(t *testing.T, b *Harness, name string) {
	if *corpora == "" {
		return
	}
	dir := filepath.Join(*corpora, name, "testdata", "fuzz", "FuzzStep")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		d := dice(i)
		text := fmt.Sprintf("go test fuzz v1\n[]byte(%q)\n", wander(b, &d, float64(i)/20))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("wander-%02d", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
