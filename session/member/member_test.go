package member_test

import (
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/session/terms"
)

// TestMemberStartsInTimeOnly: the same configuration is good today, and
// refused as a failure of integrity once the plan or the card has expired, or
// before it is valid.
func TestMemberStartsInTimeOnly(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	_, config := site.Deploy(t, now)
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	open := func(at time.Time, change func(*member.Config)) error {
		c := config("party-a")
		if change != nil {
			change(c)
		}
		_, err := member.Open(c, protocol.RoleParty, log, at)
		return err
	}
	if err := open(now, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at   time.Time
		want string
	}{
		"plan expired":   {now.Add(25 * time.Hour), "the plan has expired"},
		"card not valid": {now.Add(-time.Hour), "not valid yet"},
		"long after":     {now.Add(10_000 * time.Hour), "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := open(c.at, nil); protocol.ClassOf(err) != protocol.ClassIntegrity ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := terms.ReadCard(config("party-a").CardFile,
		now.Add(49*time.Hour)); protocol.ClassOf(err) != protocol.ClassIntegrity {
		t.Errorf("expired card: %v", err)
	}
	other := func(c *member.Config) { c.KeyFile = config("party-b").KeyFile }
	if err := open(now, other); protocol.ClassOf(err) != protocol.ClassIntegrity {
		t.Errorf("another's key with this card: %v", err)
	}
}

// TestMemberRefusesWhatCannotEnd: what would only fail after the session, or be
// ignored in it, is refused before a connection is made.
func TestMemberRefusesWhatCannotEnd(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, config := site.Deploy(t, now)
	file := rig.WriteFile(t, dir, "file", "x")
	for name, c := range map[string]struct {
		member string
		role   protocol.Role
		change func(*member.Config)
		want   string
	}{
		"results into a file": {"agg", protocol.RoleAggregator, func(c *member.Config) { c.OutDir = file },
			"out_dir"},
		"results below a file": {"agg", protocol.RoleAggregator,
			func(c *member.Config) { c.OutDir = filepath.Join(file, "x") }, "out_dir"},
		"results": {"agg", protocol.RoleAggregator,
			func(c *member.Config) { c.OutDir = filepath.Join(dir, "out") }, ""},
		"rows to score a sum by": {"agg", protocol.RoleAggregator, func(c *member.Config) {
			c.OutDir = filepath.Join(dir, "out")
			c.TestFile = file
		}, "test_file"},
		"a party that scores": {"party-a", protocol.RoleParty, func(c *member.Config) { c.TestFile = file },
			"test_file"},
		"a program for a sum": {"party-a", protocol.RoleParty, func(c *member.Config) { c.Exec = "true" }, "exec"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(c.member)
			c.change(cfg)
			_, err := member.Open(cfg, c.role, slog.New(slog.DiscardHandler), now)
			if c.want == "" && err != nil || c.want != "" && (protocol.ClassOf(err) != protocol.ClassInput ||
				!strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v", err)
			}
		})
	}
	if left, err := filepath.Glob(filepath.Join(dir, "out", "*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestMemberNamesUnusableFiles: a store or a token that can't be one is bad input.
func TestMemberNamesUnusableFiles(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, config := site.Deploy(t, now)
	junk := rig.WriteFile(t, dir, "junk", strings.Repeat("no store", 4096))
	empty := rig.WriteFile(t, dir, "empty", "\n")
	for name, change := range map[string]func(*member.Config){
		"store is junk":     func(c *member.Config) { c.StoreFile = junk },
		"store is a folder": func(c *member.Config) { c.StoreFile = dir },
		"token is empty":    func(c *member.Config) { c.Bus.TokenFile = empty },
		"token is a folder": func(c *member.Config) { c.Bus.TokenFile = dir },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config("party-a")
			change(cfg)
			m, err := member.Open(cfg, protocol.RoleParty, slog.New(slog.DiscardHandler), now)
			if err == nil {
				err = m.Run(t.Context())
			}
			if protocol.ClassOf(err) != protocol.ClassInput {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestStoreHasOneOwner: two members that share a file would share their state.
func TestStoreHasOneOwner(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, config := site.Deploy(t, now)
	open := func(name string, role protocol.Role) error {
		c := config(name)
		c.StoreFile = filepath.Join(dir, "shared.db")
		m, err := member.Open(c, role, slog.New(slog.DiscardHandler), now)
		if err != nil {
			t.Fatal(err)
		}
		store, err := m.OpenStore()
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
	for member, role := range map[string]protocol.Role{"party-b": protocol.RoleParty,
		"node-a": protocol.RoleCompute} {
		if err := open(member, role); protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(),
			"party-a's") {
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
	dir, _ := site.Deploy(t, now)
	toml := "name = \"t\"\nlifetime = \"72h\"\nparties = [\"party-a.card\", \"party-b.card\"]\ncomputes = " +
		"[\"node-a.card\", \"node-b.card\"]\n" +
		"aggregator = \"agg.card\"\nrounds = 1\n[sum]\ncolumns = 1\nfrac_bits = 4\nbound = 10.0\n"
	if _, err := terms.NewPlan(rig.WriteFile(t, dir, "long.toml", toml),
		now); protocol.ClassOf(err) != protocol.ClassInput ||
		!strings.Contains(err.Error(), "expires before the plan does") {
		t.Errorf("NewPlan: %v", err)
	}
}
