package member_test

import (
	"encoding/binary"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"choir/host"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/member"
	"choir/session/result"
	"choir/session/terms"
)

const exact = "rounds = 6\n[privacy]\nnoise = \"none\"\nunsafe_differences = true\n[learning]\n" +
	"schema_file = \"schema.json\"\nclip = 4.0\ndamping = 0.5\ndamping_decay = 0.25\nshards = 3\n"

// TestSuccessionIsTheSameSession: without noise a session that goes on under a successor ends in the
// same model, to the integer, as one that was never interrupted.
func TestSuccessionIsTheSameSession(t *testing.T) {
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	whole := newChain(t)
	const evaluated = exact + "[evaluation]\nevery = 2\n"
	plan := whole.first(evaluated, members...)
	whole.run(plan, 0, members...)
	want, err := result.ReadModel(plan + ".out/model.json")
	if err != nil {
		t.Fatal(err)
	}
	c := newChain(t)
	c.run(c.first(evaluated, members...), 2, members...)
	others := []string{"party-a", "party-b", "node-b", "node-c", "agg"}
	next, _ := c.next("plan2", "[privacy]\nunsafe_differences = true\n", "plan1.choir.out", nil, others...)
	c.run(next, 0, others...)
	c.verified(next, 2, 6-c.roundsOf("plan1.choir"))
	got, err := result.ReadModel(next + ".out/model.json")
	if err != nil || len(got.Evaluation) != 2 || !slices.Equal(got.State, want.State) ||
		slices.Equal(got.State, make([]int64, len(got.State))) {
		t.Errorf("%v, %d evaluations, want %v, %d; %v", got.State, len(got.Evaluation), want.State,
			len(want.Evaluation), err)
	}
}

func (c *chain) roundsOf(plan string) int {
	c.t.Helper()
	r, err := result.VerifyFolder(c.path(plan) + ".out")
	if err != nil {
		c.t.Fatal(err)
	}
	return r.Rounds()
}

// TestFactorsMakeTheModel: after parties have joined and left, the public model is the prior times all
// factors: those of the parties that are there, and that of the one that left as it was.
func TestFactorsMakeTheModel(t *testing.T) {
	c := newChain(t)
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	c.run(c.first(exact, members...), 2, members...)
	unsafe := "[privacy]\nunsafe_differences = true\n"
	members = append(members, "party-c")
	next, _ := c.next("plan2", "rounds = 2\n"+unsafe, "plan1.choir.out", nil, members...)
	c.run(next, 0, members...)
	last, p := c.next("plan3", "rounds = 3\n"+unsafe, "plan2.choir.out", nil, members[1:]...)
	c.run(last, 0, members[1:]...)
	model, err := result.ReadModel(last + ".out/model.json")
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.PVIOf(p)
	if err != nil {
		t.Fatal(err)
	}
	sum := a.PVI.Initial()
	q2 := p.After.Plan
	for name, plan := range map[string]*protocol.Plan{"party-a": q2, "party-b": p, "party-c": p} {
		t.Run(name, func(t *testing.T) {
			for i, v := range c.factor(name, plan) {
				sum[i%len(sum)] += v
			}
		})
	}
	if !slices.Equal(sum, model.State) {
		t.Errorf("prior and factors make %v, the model is %v", sum, model.State)
	}
}

// factor reads a party's factors from its store, shard after shard.
func (c *chain) factor(name string, p *protocol.Plan) (v []int64) {
	c.t.Helper()
	f, err := host.OpenFile(c.path(name + ".db"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	b := f.Get("plan/" + p.ID().String() + "/state")
	if len(b) < 16 {
		c.t.Fatalf("%s has no state", name)
	}
	for b = b[16:]; len(b) > 0; b = b[8:] {
		v = append(v, int64(binary.LittleEndian.Uint64(b)))
	}
	return v
}

// refused signs or runs what must be refused.
func (c *chain) refused(err error, class protocol.Class, want string) {
	c.t.Helper()
	if protocol.ClassOf(err) != class || !strings.Contains(err.Error(), want) {
		c.t.Errorf("%v, want %q", err, want)
	}
}

// TestNoForkNoWayBack: a member signs and runs one successor, and never the predecessor again.
func TestNoForkNoWayBack(t *testing.T) {
	c := newChain(t)
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	plan := c.first(ten, members...)
	c.run(plan, 3, members...)
	s, err := member.SuccessionOf(c.path("plan1.choir.out"), "")
	if err != nil {
		t.Fatal(err)
	}
	make := func(name string) string {
		p, err := terms.NewSuccessor(c.terms(name, "", members), c.now, s.After)
		if err != nil {
			t.Fatal(err)
		}
		c.write(c.path(name+".choir"), &protocol.SignedPlan{Plan: p})
		return c.path(name + ".choir")
	}
	one, other := make("one"), make("other")
	sign := func(plan, name string, replace bool) error {
		return member.CheckSuccessor(plan, c.key(name).Public(), c.path(name+".db"), false, replace)
	}
	for _, name := range members {
		if err := sign(one, name, false); err != nil {
			t.Fatal(name, err)
		}
		c.refused(sign(other, name, false), protocol.ClassIntegrity, "--replace")
		c.refuses(plan, name, "never goes back")
		if err := sign(other, name, true); err != nil {
			t.Error(name, err)
		}
	}
	c.refused(member.CheckSuccessor(one, c.key("node-a").Public(), "", false, false), protocol.ClassInput,
		"--lost-store")
	c.refused(member.CheckSuccessor(one, c.key("party-a").Public(), "", true, false), protocol.ClassInput,
		"factor and its ledger")
	signed := func(p string) string {
		for _, name := range members {
			sp, err := terms.SignPlan(p, c.key(name), c.now)
			if err != nil {
				t.Fatal(err)
			}
			c.write(p, sp)
		}
		return p
	}
	c.origin = c.path("plan1.choir.out")
	c.run(signed(other), 1, members...)
	for _, name := range members {
		c.refused(sign(one, name, true), protocol.ClassIntegrity, "no other one")
		c.refuses(signed(one), name, "no other one")
	}
}

// TestStaleSuccessors: a member refuses a plan that goes on from an older round than it has settled,
// from another model, or that counts fewer attempts than it was charged, before a reset too: a chain of plans
// is about one data set.
func TestStaleSuccessors(t *testing.T) {
	c := newChain(t)
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	c.run(c.first(strings.Replace(ten, "rounds = 10", "rounds = 4", 1), members...), 0, members...)
	s, err := member.SuccessionOf(c.path("agg.db"), "")
	if err != nil || s.After.Round != 4 {
		t.Fatal(s, err)
	}
	c.coalitions(s.After, members)
	if err := member.ResetSpending(c.path("party-b.db"), "the year is over"); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		want  string
		alter func(a *protocol.Predecessor)
		whom  []string
	}{
		{"round 4 is settled", func(a *protocol.Predecessor) { a.Round = 2 }, []string{"party-a", "agg"}},
		{"is settled", func(a *protocol.Predecessor) { a.Round = 2 }, []string{"node-a"}},
		{"by this member's store", func(a *protocol.Predecessor) { a.Model[0] ^= 1 }, []string{"party-b", "agg"}},
		{"was charged 4 attempts", func(a *protocol.Predecessor) { a.Round, a.Attempts = 3, 3 },
			[]string{"party-b"}},
	} {
		after := *s.After
		row.alter(&after)
		p, err := terms.NewSuccessor(c.terms("bad", "rounds = 1\n[privacy]\nepsilon = 9.0\n", members), c.now,
			&after)
		if err != nil {
			t.Fatal(err)
		}
		path := c.path("bad.choir")
		c.write(path, &protocol.SignedPlan{Plan: p})
		for _, name := range row.whom {
			c.refused(member.CheckSuccessor(path, c.key(name).Public(), c.path(name+".db"), false, false),
				protocol.ClassIntegrity, row.want)
		}
	}
	// A party whose store is another one can't go on.
	next, _ := c.next("plan2", "rounds = 1\n[privacy]\nepsilon = 9.0\n", "agg.db", nil, members...)
	if err := os.Rename(c.path("party-a.db"), c.path("gone.db")); err != nil {
		t.Fatal(err)
	}
	m := c.open(next, "party-a", func(config *member.Config) { config.Origin = c.origin })
	c.refused(m.Run(t.Context()), protocol.ClassInput, "its factor and its ledger")
}

// coalitions: the worst adversary that a successor tolerates learns its epsilon over the chain, and the
// row for it is what the chain's releases compose to.
func (c *chain) coalitions(after *protocol.Predecessor, members []string) {
	c.t.Helper()
	p, err := terms.NewSuccessor(c.terms("bad", "rounds = 3\n[privacy]\nepsilon = 9.5\n", members), c.now, after)
	if err != nil {
		c.t.Fatal(err)
	}
	g, err := terms.GuaranteesOf(p)
	if err != nil {
		c.t.Fatal(err)
	}
	worst := 0.0
	for _, l := range g.Layers {
		if l.Tolerated && l.Sample != nil {
			worst = max(worst, *l.Sample)
		}
	}
	spends, _, err := p.Spends(p.Releases())
	if err != nil || worst != spends.Epsilon || worst > 9.5 || worst < 9.4 {
		c.t.Errorf("the worst tolerated coalition learns %v, the plan spends %v of 9.5; %v", worst, spends.Epsilon,
			err)
	}
	alone := *p
	alone.After = nil
	if own, _, err := alone.Spends(p.Releases()); err != nil || own.Epsilon >= spends.Epsilon {
		c.t.Errorf("three rounds alone spend %v; %v", own.Epsilon, err)
	}
}

// TestChainIsVerified: records that don't fit together are refused: one that stops earlier or goes on
// longer, and that of another session.
func TestChainIsVerified(t *testing.T) {
	c := newChain(t)
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	c.run(c.first(ten, members...), 3, members...)
	// The aggregator left before the nodes confirmed the last sum. Where parties have settled it, they had.
	for path, want := range map[string]bool{"plan1.choir.out": true, "agg.db": true, "party-a.db": false} {
		if s, err := member.SuccessionOf(c.path(path), ""); err != nil || s.Unconfirmed != want {
			t.Errorf("%s: unconfirmed %v, %v", path, s, err)
		}
	}
	next, _ := c.next("plan2", "rounds = 1\n", "plan1.choir.out", nil, members...)
	c.run(next, 0, members...)
	c.verified(next, 2, 1)
	all, err := result.ReadRecords(next + ".out")
	if err != nil || len(all) != 2 {
		t.Fatal(len(all), err)
	}
	entries, err := protocol.UnmarshalTranscript(all[1].Transcript)
	if err != nil {
		t.Fatal(err)
	}
	var shorter [][]byte // until the second result
	results := 0
	for _, e := range entries {
		shorter = append(shorter, e)
		if protocol.Kind(e[0]) == protocol.KindResult {
			if results++; results == 2 {
				break
			}
		}
	}
	cut := result.Record{Plan: all[1].Plan, Transcript: protocol.MarshalTranscript(shorter)}
	for name, records := range map[string][]result.Record{
		"record ends after round 2": {all[0], cut},
		"is not the predecessor":    {all[0], all[0]},
		"the predecessor's model":   {{Plan: all[0].Plan, Transcript: all[1].Transcript}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "the predecessor's model" {
				name = "" // the first difference is a signature
			}
			_, _, err := result.VerifyRecords(records)
			c.refused(err, protocol.ClassIntegrity, name)
		})
	}
	if _, r, err := result.VerifyRecords(all[:1]); err != nil || r.Before != nil || !r.Completed() {
		t.Errorf("the successor alone: %v", err)
	}
}

// TestOtherMethodsGoOn: global inference goes on with another party, sufficient statistics with the same
// ones, and a sampler not at all.
func TestOtherMethodsGoOn(t *testing.T) {
	const terms6 = "rounds = 6\n[privacy]\nepsilon = 8.0\ndelta = 1e-5\n"
	two := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	three := append([]string{"party-c"}, two...)
	for _, row := range []struct {
		section      string
		then, refuse []string
	}{
		{"[global]\nschema_file = \"schema.json\"\nsample_rate = 1.0\n", three, nil},
		{"[statistics]\nschema_file = \"number.json\"\n", two, three},
		{"[mcmc]\nschema_file = \"schema.json\"\nmethod = \"penalty\"\n", nil, two},
	} {
		t.Run(row.section[1:7], func(t *testing.T) {
			c := newChain(t)
			number := strings.Replace(schema, `"categories":["no","yes"]`,
				`"numeric":{"lo":0,"hi":1,"center":0.5,"scale":0.5}`, 1)
			rig.WriteFile(t, c.dir, "number.json", number)
			if row.section[1] == 's' {
				for name, path := range c.data {
					b, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					text := strings.NewReplacer("no", "0", "yes", "1").Replace(string(b))
					c.data[name] = rig.WriteFile(t, c.dir, name+".csv", text)
				}
			}
			body, refused := terms6, "rounds = 2\n"
			if row.section[1] == 'm' { // refused for what it is, whatever is left of the budget
				body = strings.Replace(body, "rounds = 6\n", "", 1)
				refused += "[privacy]\nepsilon = 0.001\n"
			}
			c.run(c.first(body+row.section, two...), 2, two...)
			s, err := member.SuccessionOf(c.path("plan1.choir.out"), "")
			if err != nil {
				t.Fatal(err)
			}
			if row.refuse != nil {
				_, err := terms.NewSuccessor(c.terms("no", refused, row.refuse), c.now, s.After)
				c.refused(err, protocol.ClassInput, "make a new plan")
			}
			if row.then != nil {
				next, _ := c.next("plan2", "rounds = 2\n", "plan1.choir.out", nil, row.then...)
				c.run(next, 0, row.then...)
				c.verified(next, 2, 2)
			}
		})
	}
}

// TestExpiredPlanIsRenewed: the last model of a plan that has expired goes on under another one.
func TestExpiredPlanIsRenewed(t *testing.T) {
	c := newChain(t)
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	plan := c.first(ten, members...)
	c.run(plan, 2, members...)
	c.now = c.now.Add(25 * time.Hour)
	config := &member.Config{PlanFile: plan, KeyFile: c.path("agg.key"), PassphraseFile: c.pass,
		StoreFile: c.path("agg.db"), Bus: c.bus, OutDir: plan + ".out"}
	_, err := member.Open(config, protocol.RoleAggregator, slog.New(slog.DiscardHandler), c.now)
	c.refused(err, protocol.ClassIntegrity, "expired")
	next, q := c.next("plan2", "", "plan1.choir.out", nil, members...)
	if q.AllRounds() != 10 {
		t.Errorf("%d rounds after %d", q.Rounds, q.RoundsBefore())
	}
	c.run(next, 0, members...)
	c.verified(next, 2, int(q.Rounds))
}
