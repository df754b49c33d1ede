//go:build !race

package simulate

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"choir/protocol"
)

// TestDiskRewinds: a store goes back batch by batch to what it was.
func TestDiskRewinds(t *testing.T) {
	d := newDisk()
	write := func(records ...protocol.Record) {
		d.add(records)
		d.commit()
	}
	write(protocol.Record{Key: "a", Value: []byte("1")})
	write()
	write(protocol.Record{Key: "a", Value: []byte("2")}, protocol.Record{Key: "b", Value: []byte("3")},
		protocol.Record{Key: "a", Value: []byte("4")})
	write(protocol.Record{Key: "a"})
	for _, want := range []map[string]string{{"b": "3"}, {"a": "4", "b": "3"}, {"a": "1"}, {}, {}} {
		have := map[string]string{}
		for k, v := range d.durable {
			have[k] = string(v)
		}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("the store has %v, want %v", have, want)
		}
		d.rewind(1)
	}
}

// TestRewindsOfEveryRole: the profile rewinds parties, nodes and the aggregator, with noise of either
// placement, and members find out that their stores are old.
func TestRewindsOfEveryRole(t *testing.T) {
	p, _ := ProfileByName("rewinds")
	seen := map[string]bool{}
	for seed := range uint64(150) {
		r := Run(seed, p)
		for _, v := range r.Violations {
			t.Errorf("seed %d: %s", seed, v)
		}
		for _, f := range r.Script {
			if f.Kind == "rewind" {
				seen[f.Key[:1]+" "+r.Setup.Noise.String()] = true
			}
		}
	}
	for _, role := range []string{"p", "c", "a"} {
		for _, noise := range []protocol.Placement{protocol.NoiseParty, protocol.NoiseCompute} {
			if !seen[role+" "+noise.String()] {
				t.Errorf("no rewind of %s with noise %s", role, noise)
			}
		}
	}
}

// TestRewindFindsDeafMember: members that do not check what they said before are found by the profile, and
// the seed shrinks to a script with a rewind, which a story tells.
func TestRewindFindsDeafMember(t *testing.T) {
	p, _ := ProfileByName("rewinds")
	for seed := range uint64(2000) {
		r := runSeams(seed, p, deafToItself())
		if len(r.Violations) == 0 {
			continue
		}
		setup, script, err := shrink(r, deafToItself())
		if err != nil {
			t.Fatal(err)
		}
		text := formatScript(setup, script)
		if !slices.ContainsFunc(script, func(f Fault) bool { return f.Kind == "rewind" }) ||
			!bytes.Contains(text, []byte("\nrewind ")) {
			t.Errorf("seed %d: no rewind in\n%s", seed, text)
		}
		again, faults, err := ParseScript(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, story := Tell(again, faults); !strings.Contains(story, "its store goes back by") {
			t.Error("the story does not tell that a store goes back")
		}
		return
	}
	t.Error("no seed finds members that do not check what they said before")
}

// TestLateParty: sessions do not stand still although a party opens its channel to a node that has
// replaced its key since, or computes an update for an attempt that is void when it is done.
func TestLateParty(t *testing.T) {
	runClean(t, "dropouts", 9_053_020, 9_057_025, 9_057_277, 9_057_979, 40_002_288, 40_009_767, 40_012_130)
}

// TestPassedOn: an honest node that passes on one of two versions of a message, both signed by a party that
// lies, is accused of nothing.
func TestPassedOn(t *testing.T) { runClean(t, "liars", 70_188_550) }

func runClean(t *testing.T, profile string, seeds ...uint64) {
	t.Helper()
	p, ok := ProfileByName(profile)
	if !ok {
		t.Fatal("no profile", profile)
	}
	for _, seed := range seeds {
		for _, v := range Run(seed, p).Violations {
			t.Errorf("seed %d: %s", seed, v)
		}
	}
}
