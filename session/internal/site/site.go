package site

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/internal/atomicfile"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/member"
	"choir/session/terms"
)

// costs are the cheapest that key files allow.
var Costs = identity.Params{Time: 1, MemoryKiB: 8, Lanes: 1}

// sum is the part of a plan's file for one sum.
const sum = "rounds = 1\n[sum]\ncolumns = 1\nfrac_bits = 4\nbound = 10.0\n"

// Deploy makes keys, cards and a complete plan for one sum, as people would.
func Deploy(t *testing.T, now time.Time) (dir string, config func(member string) *member.Config) {
	t.Helper()
	dir = t.TempDir()
	data := rig.WriteFile(t, dir, "a.csv", "1.5\n")
	return dir, DeployPlan(t, dir, now, sum, data)
}

// DeployPlan does so in a folder for a plan's file that ends in body; data is the parties' file.
func DeployPlan(t *testing.T, dir string, now time.Time, body, data string) func(string) *member.Config {
	t.Helper()
	pass := rig.WriteFile(t, dir, "pass", "words\n")
	for _, name := range []string{"party-a", "party-b", "node-a", "node-b", "agg"} {
		if _, _, _, err := member.NewIdentity(dir, name, pass, Costs, now, 48*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	toml := "name = \"t\"\nlifetime = \"24h\"\nparties = [\"party-a.card\", \"party-b.card\"]\ncomputes = " +
		"[\"node-a.card\", \"node-b.card\"]\n" +
		"aggregator = \"agg.card\"\n" + body
	p, err := terms.NewPlan(rig.WriteFile(t, dir, "plan.toml", toml), now)
	if err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "plan.choir")
	sp := &protocol.SignedPlan{Plan: p}
	for _, name := range []string{"", "party-a", "party-b", "node-a", "node-b", "agg"} {
		if name != "" {
			key, err := terms.ReadKey(filepath.Join(dir, name+".key"), pass)
			if err != nil {
				t.Fatal(err)
			}
			if sp, err = terms.SignPlan(plan, key, now); err != nil {
				t.Fatal(err)
			}
		}
		text, err := sp.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.WriteFile(plan, text); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) *member.Config {
		c := &member.Config{PlanFile: plan, KeyFile: filepath.Join(dir, name+".key"), PassphraseFile: pass,
			CardFile: filepath.Join(dir, name+".card"), StoreFile: filepath.Join(dir,
				name+".db"), Bus: member.BusConfig{URL: "nats://127.0.0.1:1"}}
		if strings.HasPrefix(name, "party") {
			c.DataFile = data
		}
		return c
	}
}
