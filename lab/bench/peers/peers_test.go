package main

import (
	"strings"
	"testing"
)

// TestPeers: every protocol finds the plain sum (Measure fails otherwise), has its
// costs, and says what it gives and lacks.
func TestPeers(t *testing.T) {
	d, err := Measure(t.Context(), Config{Parties: 12, Dim: 200, Computes: 3, Repeats: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Rows) != 7 || d.SchemaVersion != 1 || d.Versions["github.com/cloudflare/circl"] == "" &&
		len(d.Versions) > 0 {
		t.Fatalf("%d rows, versions %v", len(d.Rows), d.Versions)
	}
	for _, r := range d.Rows {
		own := strings.HasPrefix(r.Name, "Choir")
		if (r.RoundSeconds == 0) == (r.ClientSeconds == 0 || r.ServerSeconds == 0) &&
			r.Name != "plain sum over NATS" {
			t.Errorf("%s: no costs: %+v", r.Name, r)
		}
		if own != (r.Versus == "") || own != (r.Lacks == "") || r.UploadBytes < 8*200/4 ||
			!strings.Contains(d.Markdown(), "| "+r.Name+" |") {
			t.Errorf("%+v", r)
		}
		if !own && r.ClientRatio == 0 && r.RoundRatio == 0 {
			t.Errorf("%s is compared with nothing", r.Name)
		}
	}
}

// TestShamir: any t shards recover a secret; t-1 of them, or a changed one, don't.
func TestShamir(t *testing.T) {
	secret := [32]byte{1, 2, 3, 31: 255}
	random, err := coefficients(3)
	if err != nil {
		t.Fatal(err)
	}
	shards := split(secret, 7, random)
	for _, holders := range [][]int{{0, 1, 2, 3}, {6, 2, 4, 0}, {3, 4, 5, 6}} {
		var some []shard
		for _, h := range holders {
			some = append(some, shards[h])
		}
		if got, err := join(weights(holders), some); err != nil || got != secret {
			t.Errorf("holders %v recover %x, %v", holders, got, err)
		}
		if got, err := join(weights(holders[:3]), some[:3]); err == nil && got == secret {
			t.Errorf("three of %v recover the secret", holders)
		}
		some[1][2]++
		if got, err := join(weights(holders), some); err == nil && got == secret {
			t.Error("a changed shard was no matter")
		}
	}
}

// TestRefused: bad sizes are refused.
func TestRefused(t *testing.T) {
	for _, cfg := range []Config{{3, 1, 2, 1}, {4, 0, 2, 1}, {4, 1, 1, 1}, {4, 1, 2, 0}} {
		if _, err := Measure(t.Context(), cfg); err == nil {
			t.Errorf("%+v was measured", cfg)
		}
	}
}
