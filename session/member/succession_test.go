package member_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/host"
	"choir/internal/atomicfile"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/session/result"
	"choir/session/terms"
)

// chain is a consortium that makes plan after plan.
type chain struct {
	t    *testing.T
	dir  string
	pass string
	bus  member.BusConfig
	made map[string]bool // identities
	data map[string]string

	origin string    // of the present plan
	now    time.Time // by which plans are made, signed and opened
	stores map[string]string
}

func newChain(t *testing.T) *chain {
	c := &chain{t: t, dir: t.TempDir(), made: map[string]bool{}, data: map[string]string{},
		now: time.Now()}
	c.pass = rig.WriteFile(t, c.dir, "pass", "words\n")
	rig.WriteFile(t, c.dir, "schema.json", schema)
	for i, name := range []string{"party-a", "party-b", "party-c"} {
		rows := "age,died\n" + strings.Repeat(fmt.Sprintf("%d,no\n%d,yes\n", 20+5*i, 80-5*i), 15+5*i)
		c.data[name] = rig.WriteFile(t, c.dir, name+".csv", rows)
	}
	c.bus = brokerOf(t, c.dir)
	return c
}

func (c *chain) path(name string) string { return filepath.Join(c.dir, name) }

// key is a member's.
func (c *chain) key(name string) *identity.PrivateKey {
	c.t.Helper()
	key, err := terms.ReadKey(c.path(name+".key"), c.pass)
	if err != nil {
		c.t.Fatal(err)
	}
	return key
}

func roleOf(name string) protocol.Role {
	switch {
	case strings.HasPrefix(name, "party"):
		return protocol.RoleParty
	case strings.HasPrefix(name, "node"):
		return protocol.RoleCompute
	}
	return protocol.RoleAggregator
}

// terms writes a plan's file for these members, the last of which is the aggregator.
func (c *chain) terms(file, body string, members []string) string {
	c.t.Helper()
	cards := map[protocol.Role][]string{}
	for _, name := range members {
		if !c.made[name] {
			c.made[name] = true
			if _, _, _, err := member.NewIdentity(c.dir, name, c.pass, site.Costs, c.now,
				96*time.Hour); err != nil {
				c.t.Fatal(err)
			}
		}
		cards[roleOf(name)] = append(cards[roleOf(name)], fmt.Sprintf("%q", name+".card"))
	}
	return rig.WriteFile(c.t, c.dir, file, fmt.Sprintf("name = %q\nlifetime = \"24h\"\nparties = [%s]\n"+
		"computes = [%s]\naggregator = %s\n%s", file, strings.Join(cards[protocol.RoleParty], ", "),
		strings.Join(cards[protocol.RoleCompute], ", "), cards[protocol.RoleAggregator][0], body))
}

// signed writes the plan, signed by all members: store is the file of the member's store, if it has one.
func (c *chain) signed(p *protocol.Plan, store map[string]string) string {
	c.t.Helper()
	path := c.path(p.Name + ".choir")
	c.write(path, &protocol.SignedPlan{Plan: p})
	for _, m := range p.Members {
		key := c.key(m.Name)
		if err := member.CheckSuccessor(path, key.Public(), store[m.Name], store[m.Name] == "", false); err != nil {
			c.t.Fatal(m.Name, err)
		}
		sp, err := terms.SignPlan(path, key, c.now)
		if err != nil {
			c.t.Fatal(m.Name, err)
		}
		c.write(path, sp)
	}
	return path
}

func (c *chain) write(path string, sp *protocol.SignedPlan) {
	c.t.Helper()
	text, err := sp.MarshalText()
	if err == nil {
		err = atomicfile.WriteFile(path, text)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// first makes and signs a plan without a predecessor.
func (c *chain) first(body string, members ...string) string {
	c.t.Helper()
	p, err := terms.NewPlan(c.terms("plan1", body, members), c.now)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.signed(p, nil)
}

// next makes and signs a successor, from a store or a folder.
func (c *chain) next(file, body, after string, lost []string, members ...string) (string, *protocol.Plan) {
	c.t.Helper()
	s, err := member.SuccessionOf(c.path(after), "")
	if err != nil {
		c.t.Fatal(err)
	}
	p, err := terms.NewSuccessor(c.terms(file, body, members), c.now, s.After)
	if err != nil {
		c.t.Fatal(err)
	}
	c.origin = c.path(after)
	if strings.HasSuffix(after, ".db") {
		c.origin = c.path(file + ".origin")
		if err := atomicfile.WriteFile(c.origin, protocol.MarshalOrigin(s.Origin)); err != nil {
			c.t.Fatal(err)
		}
	}
	stores := map[string]string{}
	for _, m := range p.Members {
		if _, err := os.Stat(c.path(m.Name + ".db")); err == nil && !slices.Contains(lost, m.Name) {
			stores[m.Name] = c.path(m.Name + ".db")
		}
	}
	return c.signed(p, stores), p
}

// open opens a member under a plan.
func (c *chain) open(plan, name string, alter func(*member.Config)) *member.Member {
	c.t.Helper()
	config := &member.Config{PlanFile: plan, KeyFile: c.path(name + ".key"), PassphraseFile: c.pass,
		StoreFile: c.path(name + ".db"), Bus: c.bus}
	if other := c.stores[name]; other != "" {
		config.StoreFile = other
	}
	if roleOf(name) == protocol.RoleParty {
		config.DataFile = c.data[name]
	}
	if roleOf(name) == protocol.RoleAggregator {
		config.OutDir = plan + ".out"
	}
	if alter != nil {
		alter(config)
	}
	m, err := member.Open(config, roleOf(name), slog.New(slog.DiscardHandler), c.now)
	if err != nil {
		c.t.Fatal(name, err)
	}
	return m
}

// run runs a session to its end, or until the aggregator has stopped after a round.
func (c *chain) run(plan string, stop uint32, members ...string) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	var all sync.WaitGroup
	for _, name := range members {
		m := c.open(plan, name, func(config *member.Config) {
			if roleOf(name) != protocol.RoleCompute && !strings.HasSuffix(plan, "plan1.choir") {
				config.Origin = c.origin
			}
		})
		if roleOf(name) == protocol.RoleAggregator {
			m.LeaveAfter = stop
		}
		all.Go(func() {
			if err := m.Run(ctx); err != nil && ctx.Err() == nil {
				c.t.Errorf("%s: %v", name, err)
				cancel()
			}
			if roleOf(name) == protocol.RoleAggregator && stop > 0 {
				cancel()
			}
		})
	}
	all.Wait()
}

// verified checks a session's folder and those of its predecessors.
func (c *chain) verified(plan string, plans, rounds int) {
	c.t.Helper()
	r, err := result.VerifyFolder(plan + ".out")
	if err != nil {
		c.t.Fatal(err)
	}
	if !r.Completed() || r.Rounds() != rounds || r.Epsilon > 8 {
		c.t.Errorf("%d rounds, completed %t, epsilon %v", r.Rounds(), r.Completed(), r.Epsilon)
	}
	n := 1
	for b := r.Before; b != nil; b = b.Before {
		n++
	}
	if n != plans {
		c.t.Errorf("%d plans in the chain, want %d", n, plans)
	}
}

// spent returns the charges of a party's ledger by plan, and its epsilon.
func (c *chain) spent(name string) (map[string]int, float64) {
	c.t.Helper()
	s, err := member.ReadSpending(c.path(name+".db"), 1e-5)
	if err != nil {
		c.t.Fatal(err)
	}
	count := map[string]int{}
	seen := map[string]bool{}
	for _, e := range s.Entries {
		at := fmt.Sprint(e.Plan, e.Round, e.Attempt)
		if seen[at] {
			c.t.Errorf("%s: round %d attempt %d is charged twice", name, e.Round, e.Attempt)
		}
		seen[at] = true
		count[e.Plan]++
	}
	return count, s.Epsilon
}

const ten = "rounds = 10\nspare_attempts = 1\n[privacy]\nepsilon = 8.0\ndelta = 1e-5\n[learning]\n" +
	"schema_file = \"schema.json\"\n"

// TestSuccession goes through a life: a node is replaced, a party joins, another leaves, the first
// comes back, and the aggregator is another one at the end.
func TestSuccession(t *testing.T) {
	c := newChain(t)
	plan := c.first(ten, "party-a", "party-b", "node-a", "node-b", "agg")
	c.run(plan, 3, "party-a", "party-b", "node-a", "node-b", "agg")
	plan2, p2 := c.next("plan2", "rounds = 2\n", "plan1.choir.out", nil, "party-a", "party-b", "node-a",
		"node-c", "agg")
	if p2.After.Round < 3 || p2.Rounds != 2 || p2.Epsilon != 8 {
		t.Fatalf("%+v of %+v", p2, p2.After)
	}
	c.refuses(plan, "party-a", "never goes back")
	c.run(plan2, 0, "party-a", "party-b", "node-a", "node-c", "agg")
	plan3, p3 := c.next("plan3", "rounds = 4\n", "party-b.db", nil, "party-a", "party-b", "party-c", "node-a",
		"node-c", "agg")
	c.run(plan3, 1, "party-a", "party-b", "party-c", "node-a", "node-c", "agg")
	plan4, _ := c.next("plan4", "rounds = 2\n", "plan3.choir.out", nil, "party-b", "party-c", "node-a", "node-c",
		"agg")
	c.run(plan4, 0, "party-b", "party-c", "node-a", "node-c", "agg")
	c.verified(plan4, 4, 2)
	plan5, p5 := c.next("plan5", "rounds = 1\n[privacy]\nepsilon = 9.0\n", "plan4.choir.out", nil, "party-a",
		"party-b", "party-c",
		"node-a", "node-c", "agg2")
	c.run(plan5, 0, "party-a", "party-b", "party-c", "node-a", "node-c", "agg2")
	if r, err := result.VerifyFolder(plan5 + ".out"); err != nil || !r.Completed() || r.Epsilon > 9 {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"party-a", "party-b", "node-a"} {
		c.fresh(name, plan, plan3)
	}
	if p3.SameParties(p2) || !p5.SameParties(p3) || p5.RoundsBefore() <= p3.RoundsBefore() {
		t.Error("wrong rosters")
	}
	for _, name := range []string{"party-a", "party-b", "party-c"} {
		count, epsilon := c.spent(name)
		t.Logf("%s: %v, epsilon %.4f", name, count, epsilon)
		if epsilon > 9 || count[p5.ID().String()] != 1 {
			t.Errorf("%s: %v, epsilon %v", name, count, epsilon)
		}
	}
}

// fresh checks that a member's secrets, from which it derives noise and keys, are others under each of two
// plans that were stopped.
func (c *chain) fresh(name string, plans ...string) {
	c.t.Helper()
	f, err := host.OpenFile(c.path(name + ".db"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]bool{}
	for _, path := range plans {
		sp, err := terms.ReadPlan(path)
		if err != nil {
			c.t.Fatal(err)
		}
		keys, err := protocol.RestoreKeyring(host.Scope(f, "plan/"+sp.Plan.ID().String()+"/", "ledger/"))
		if err != nil {
			c.t.Fatal(err)
		}
		for _, of := range keys.Members() {
			s := string(keys.Secret(of, 1000).Bytes()) // of the same round under each plan
			if seen[s] {
				c.t.Errorf("%s has a secret of another plan", name)
			}
			seen[s] = true
		}
	}
	if len(seen) < 4 {
		c.t.Errorf("%s: only %d secrets", name, len(seen))
	}
}

// refuses runs a member that must end at once.
func (c *chain) refuses(plan, name, want string) {
	c.t.Helper()
	err := c.open(plan, name, nil).Run(c.t.Context())
	if err == nil || !strings.Contains(err.Error(), want) {
		c.t.Errorf("%s under %s: %v, want %q", name, filepath.Base(plan), err, want)
	}
}
