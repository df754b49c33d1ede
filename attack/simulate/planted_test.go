package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"choir/crypto/identity"
	"choir/protocol"
)

// within is the number of seeds within which a planted bug must be found.
const within = 10_000

// planted is a bug, built around the machines or into their inputs: the production
// code has no switch for it.
type planted struct {
	name    string
	profile string
	rules   []string // any of them finds it
	seams   seams
}

func find(t *testing.T, b planted) {
	p, ok := ProfileByName(b.profile)
	if !ok {
		t.Fatalf("no profile %q", b.profile)
	}
	for seed := range uint64(within) {
		r := runSeams(seed, p, b.seams)
		if len(r.Violations) == 0 {
			continue
		}
		if !slices.Contains(b.rules, r.Violations[0].Rule) {
			t.Fatalf("seed %d: found by another rule: %s", seed, r.Violations[0])
		}
		setup, faults, err := shrink(r, b.seams)
		if err != nil {
			t.Fatal(err)
		}
		if honest := replay(setup, faults); len(honest.Violations) > 0 {
			t.Errorf("without the bug, too: %v", honest.Violations)
		}
		t.Logf("seed %d: %s\n%d faults of %d remain:\n%s", seed, r.Violations[0], len(faults), len(r.Script),
			formatScript(setup, faults))
		return
	}
	t.Errorf("not found in %d seeds", within)
}

// TestPlantedBugsAreListed: the table of docs/simulation.md has every planted bug and its profile.
func TestPlantedBugsAreListed(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "simulation.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "| planted bug | profile |\n|---|---|\n")
	text, _, _ = strings.Cut(text, "\n\n")
	var want []string
	for _, b := range plantedBugs() {
		want = append(want, fmt.Sprintf("| %s | %s |", b.name, b.profile))
	}
	if strings.TrimSpace(text) != strings.Join(want, "\n") {
		t.Errorf("the table should be\n%s", strings.Join(want, "\n"))
	}
}

// wrapper changes the events and effects of a machine.
type wrapper struct {
	protocol.Machine
	step func(inner protocol.Machine, now int64, ev protocol.Event) protocol.Effects
}

func (w wrapper) Step(now int64, ev protocol.Event) protocol.Effects {
	return w.step(w.Machine, now, ev)
}

// after changes the effects of one role's steps.
func after(role protocol.Role, change func(m *member, ev protocol.Event, eff *protocol.Effects)) seams {
	return seams{machine: func(m *member, honest protocol.Machine) protocol.Machine {
		if m.role != role {
			return honest
		}
		return wrapper{honest, func(inner protocol.Machine, now int64, ev protocol.Event) protocol.Effects {
			eff := inner.Step(now, ev)
			change(m, ev, &eff)
			return eff
		}}
	}}
}

// forgetful doesn't persist records of some keys.
func forgetful(role protocol.Role, prefixes ...string) seams {
	return after(role, func(_ *member, _ protocol.Event, eff *protocol.Effects) {
		eff.Persist = slices.DeleteFunc(eff.Persist, func(r protocol.Record) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(r.Key, p) })
		})
	})
}

// misplanned gives a member another plan under the same id.
func misplanned(roles []protocol.Role, change func(s *protocol.BoundPlan)) seams {
	return seams{session: func(m *member) protocol.BoundPlan {
		s := m.w.session
		if slices.Contains(roles, m.role) {
			plan := *s.Plan
			s.Plan = &plan
			change(&s)
		}
		return s
	}}
}

// resignChanged changes signed messages of one kind before they are sent; the sender signs
// them again.
func resignChanged[M protocol.Message](role protocol.Role, change func(m *member, msg M) bool) seams {
	return after(role, func(m *member, _ protocol.Event, eff *protocol.Effects) {
		for i, o := range eff.Send {
			if b := resign(m, o.Data, func(msg protocol.Message) bool {
				signed, ok := msg.(M)
				return ok && change(m, signed)
			}); b != nil {
				eff.Send[i].Data = b
			}
		}
	})
}

// resign signs a changed message again; nil when it stays.
func resign(m *member, data []byte, change func(protocol.Message) bool) []byte {
	if protocol.IsChunk(data) {
		return nil
	}
	e, msg, err := m.w.session.Receive(data)
	if err != nil || int(e.From) != m.i || !change(msg) {
		return nil
	}
	b, err := m.w.session.Sign(m.key, uint32(m.i), msg)
	if err != nil {
		panic(err)
	}
	return b
}

type trusting struct{}

func (trusting) Verify(identity.PublicKey, []byte, identity.Signature) bool { return true }

func plantedBugs() []planted {
	nodes, everybody := []protocol.Role{protocol.RoleCompute}, []protocol.Role{protocol.RoleParty,
		protocol.RoleCompute, protocol.RoleAggregator}
	return []planted{
		{"skip the persist of a list", "crashes", []string{"contradiction", "bad end", "stuck", "broken store"},
			after(protocol.RoleCompute, forgetOwn)},
		{"skip the persist of contributions", "crashes", []string{"broken receipt", "stuck"},
			forgetful(protocol.RoleCompute, "share/", "commit/")},
		{"skip the persist of the reveal", "chaos", []string{"unrecorded reveal"},
			forgetful(protocol.RoleCompute, "reveal/")},
		{"skip the persist of the charge", "crashes", []string{"not charged"},
			forgetful(protocol.RoleParty, "ledger/")},
		{"reveal twice", "chaos", []string{"two reveals"}, revealTwice()},
		{"accept a short set", "chaos", []string{"small set"},
			misplanned(everybody, func(s *protocol.BoundPlan) { s.Plan.MinParties = 2 })},
		{"reuse noise", "calm", []string{"noise reused"}, reuseNoise()},
		{"drop a signature check", "lossy",
			[]string{"honest member accused", "bad end", "stuck", "panic", "contradiction", "wrong set",
				"void reveal", "wrong result", "out of step"},
			misplanned(nodes, func(s *protocol.BoundPlan) { s.Verifier = trusting{} })},
		{"off-by-one chunk", "calm", []string{"honest member accused", "noised twice", "unsound contribution"},
			after(protocol.RoleParty, offByOne)},
		{"charge after send", "calm", []string{"not charged"}, chargeLater()},
		{"settle with noise", "calm", []string{"out of step"},
			seams{app: func(m *member) protocol.Application { return noisyApp{m.w.app} }}},
		{"settle when not counted", "dropouts", []string{"out of step"}, settleUncounted()},
		{"agree on the union", "chaos", []string{"wrong set"}, agreeOnUnion()},
		{"count a party twice", "calm", []string{"wrong sum"}, countTwice()},
		{"void what may be revealed", "chaos", []string{"void reveal", "contradiction"}, voidEarly()},
		{"noise again when sending again", "lossy",
			[]string{"noised twice", "two plaintexts for one key", "not charged", "noise reused"}, noiseAgain()},
		{"receipts on a wrong path", "chaos", []string{"malformed"}, after(protocol.RoleCompute, wrongPath)},
		{"open on a stale model", "calm", []string{"bad end"},
			resignChanged(protocol.RoleAggregator, func(m *member, r *protocol.Round) bool {
				r.Model = protocol.IntDigest(m.w.oracle.digests.Key(r.Round-1), m.w.app.Initial())
				return r.Round > 1
			})},
		{"ignore its own messages", "rewinds", []string{"two reveals", "noised twice", "noise reused"},
			deafToItself()},
		{"two totals of one round", "calm", []string{"adversary's view"}, otherTotal()},
		{"a share for two nodes", "calm", []string{"adversary's view"}, shareForAll()},
		{"believe what the broker shows", "splits",
			[]string{"honest member accused", "wrong set", "void reveal", "wrong result", "out of step",
				"contradiction", "no agreement", "small set", "two totals"},
			misplanned(everybody, func(s *protocol.BoundPlan) { s.Verifier = trusting{} })},
		{"agree with whatever others sign", "liars", []string{"no agreement"}, agreeWithAll()},
	}
}

// deafToItself ignores what the bus has of the member's own, which shows that its store went back.
func deafToItself() seams {
	return seams{machine: func(m *member, honest protocol.Machine) protocol.Machine {
		return wrapper{honest, func(inner protocol.Machine, now int64, ev protocol.Event) protocol.Effects {
			if d, ok := ev.(protocol.Delivery); ok {
				if e, err := protocol.UnmarshalEnvelope(d.Data); err == nil && int(e.From) == m.i {
					ev = protocol.Tick{}
				}
			}
			return inner.Step(now, ev)
		}}
	}}
}
