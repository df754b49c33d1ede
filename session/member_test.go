package session

import (
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/internal/atomicfile"
	"choir/protocol"
)

// costs are the cheapest that key files allow.
var costs = identity.Params{Time: 1, MemoryKiB: 8, Lanes: 1}

// deployment makes keys, cards and a complete plan for one sum, as people would.
func deployment(t *testing.T, now time.Time) (dir string, config func(member string) *RoleConfig) {
	t.Helper()
	dir = t.TempDir()
	pass := writeFile(t, dir, "pass", "words\n")
	for _, name := range []string{"party-a", "party-b", "node-a", "node-b", "agg"} {
		if _, _, _, err := NewIdentity(dir, name, pass, costs, now, 48*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	toml := "name = \"t\"\nlifetime = \"24h\"\nparties = [\"party-a.card\", \"party-b.card\"]\ncomputes = [\"node-a.card\", \"node-b.card\"]\n" +
		"aggregator = \"agg.card\"\nrounds = 1\n[sum]\ncolumns = 1\nfrac_bits = 4\nbound = 10.0\n"
	p, err := NewPlan(writeFile(t, dir, "plan.toml", toml), now)
	if err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "plan.choir")
	sp := &protocol.SignedPlan{Plan: p}
	for _, name := range []string{"", "party-a", "party-b", "node-a", "node-b", "agg"} {
		if name != "" {
			if sp, err = SignPlan(plan, filepath.Join(dir, name+".key"), pass, now); err != nil {
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
	data := writeFile(t, dir, "a.csv", "1.5\n")
	return dir, func(member string) *RoleConfig {
		c := &RoleConfig{PlanFile: plan, KeyFile: filepath.Join(dir, member+".key"), PassphraseFile: pass,
			CardFile: filepath.Join(dir, member+".card"), StoreFile: filepath.Join(dir, member+".db"), Bus: BusConfig{URL: "nats://127.0.0.1:1"}}
		if strings.HasPrefix(member, "party") {
			c.DataFile = data
		}
		return c
	}
}

// TestMemberStartsInTimeOnly: the same configuration is good today, and
// refused as a failure of integrity once the plan or the card has expired, or
// before it is valid.
func TestMemberStartsInTimeOnly(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	_, config := deployment(t, now)
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	open := func(at time.Time, change func(*RoleConfig)) error {
		c := config("party-a")
		if change != nil {
			change(c)
		}
		_, err := OpenMember(c, protocol.RoleParty, log, at)
		return err
	}
	if err := open(now, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at   time.Time
		want string
	}{
		"plan expired":   {now.Add(25 * time.Hour), "the plan or a key has expired"},
		"card not valid": {now.Add(-time.Hour), "not valid yet"},
		"long after":     {now.Add(10_000 * time.Hour), "expired"},
	} {
		if err := open(c.at, nil); protocol.ClassOf(err) != protocol.ClassIntegrity || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadCard(config("party-a").CardFile, now.Add(49*time.Hour)); protocol.ClassOf(err) != protocol.ClassIntegrity {
		t.Errorf("expired card: %v", err)
	}
	if err := open(now, func(c *RoleConfig) { c.KeyFile = config("party-b").KeyFile }); protocol.ClassOf(err) != protocol.ClassIntegrity {
		t.Errorf("another's key with this card: %v", err)
	}
}

// TestMemberRefusesWhatCannotEnd: what would only fail after the session, or be
// ignored in it, is refused before a connection is made.
func TestMemberRefusesWhatCannotEnd(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, config := deployment(t, now)
	file := writeFile(t, dir, "file", "x")
	for name, c := range map[string]struct {
		member string
		role   protocol.Role
		change func(*RoleConfig)
		want   string
	}{
		"results into a file":  {"agg", protocol.RoleAggregator, func(c *RoleConfig) { c.OutDir = file }, "out_dir"},
		"results below a file": {"agg", protocol.RoleAggregator, func(c *RoleConfig) { c.OutDir = filepath.Join(file, "x") }, "out_dir"},
		"results":              {"agg", protocol.RoleAggregator, func(c *RoleConfig) { c.OutDir = filepath.Join(dir, "out") }, ""},
		"a program for a sum":  {"party-a", protocol.RoleParty, func(c *RoleConfig) { c.Exec = "true" }, "exec"},
	} {
		cfg := config(c.member)
		c.change(cfg)
		_, err := OpenMember(cfg, c.role, slog.New(slog.DiscardHandler), now)
		if c.want == "" && err != nil || c.want != "" && (protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "out", "*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestMemberNamesUnusableFiles: a store or a token that can't be one is bad input.
func TestMemberNamesUnusableFiles(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, config := deployment(t, now)
	junk := writeFile(t, dir, "junk", strings.Repeat("no store", 4096))
	empty := writeFile(t, dir, "empty", "\n")
	for name, change := range map[string]func(*RoleConfig){
		"store is junk":     func(c *RoleConfig) { c.StoreFile = junk },
		"store is a folder": func(c *RoleConfig) { c.StoreFile = dir },
		"token is empty":    func(c *RoleConfig) { c.Bus.TokenFile = empty },
		"token is a folder": func(c *RoleConfig) { c.Bus.TokenFile = dir },
	} {
		cfg := config("party-a")
		change(cfg)
		m, err := OpenMember(cfg, protocol.RoleParty, slog.New(slog.DiscardHandler), now)
		if err == nil {
			err = m.Run(t.Context())
		}
		if protocol.ClassOf(err) != protocol.ClassInput {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStoreHasOneOwner: two members that share a file would share their state.
func TestStoreHasOneOwner(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, config := deployment(t, now)
	open := func(member string, role protocol.Role) error {
		c := config(member)
		c.StoreFile = filepath.Join(dir, "shared.db")
		m, err := OpenMember(c, role, slog.New(slog.DiscardHandler), now)
		if err != nil {
			t.Fatal(err)
		}
		store, err := m.openStore()
		if err != nil {
			return err
		}
		return store.Close()
	}
	for range 2 {
		if err := open("party-a", protocol.RoleParty); err != nil {
			t.Fatal(err)
		}
	}
	for member, role := range map[string]protocol.Role{"party-b": protocol.RoleParty, "node-a": protocol.RoleCompute} {
		if err := open(member, role); protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "party-a's") {
			t.Errorf("%s: %v", member, err)
		}
	}
	if err := open("party-a", protocol.RoleParty); err != nil {
		t.Errorf("its owner, after the others: %v", err)
	}
}

// TestPlanOutlivesCard: a plan can't be made for longer than a card is valid.
func TestPlanOutlivesCard(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, _ := deployment(t, now)
	toml := "name = \"t\"\nlifetime = \"72h\"\nparties = [\"party-a.card\", \"party-b.card\"]\ncomputes = [\"node-a.card\", \"node-b.card\"]\n" +
		"aggregator = \"agg.card\"\nrounds = 1\n[sum]\ncolumns = 1\nfrac_bits = 4\nbound = 10.0\n"
	if _, err := NewPlan(writeFile(t, dir, "long.toml", toml), now); protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "expires before the plan does") {
		t.Errorf("NewPlan: %v", err)
	}
}
