package simulate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"choir/protocol"
)

// wantCheaters is how many rows the table has at least.
const wantCheaters = 60

// table is the session that cheats meet: four parties of which three are
// enough, three compute nodes, two rounds, no noise, so that sums are exact.
func table() Setup {
	return Setup{Seed: 1, Parties: 4, Computes: 3, Dim: 3, Rounds: 2, Spares: 1, MinParties: 3, Noise: protocol.NoiseNone}
}

// TestCheaters runs every row of the table under the simulator, whose oracle
// holds the honest members to the protocol all the while.
func TestCheaters(t *testing.T) {
	rows := cheaters()
	if len(rows) < wantCheaters {
		t.Fatalf("%d rows, want at least %d", len(rows), wantCheaters)
	}
	for _, row := range rows {
		t.Run(row.who+": "+row.what, func(t *testing.T) {
			o := row.simulate(t)
			row.judge(t, table(), o)
		})
	}
}

// indulgent are rules that a cheat may break for everybody: it can stop a
// session, and make honest members end it.
var indulgent = []string{"stuck", "bad end"}

func (row cheater) simulate(t *testing.T) *outcome {
	o, self := newOutcome(), uint32(0)
	s := seams{giveUp: 3000, honest: func(i int) bool { return table().memberName(i) != row.who }}
	s.machine = func(m *member, honest protocol.Machine) protocol.Machine {
		if m.name == row.who {
			self = uint32(m.i)
			honest = &cheat{Machine: honest, s: m.w.session, key: m.key, self: self, view: m.disk, stored: map[string][]byte{}, change: row.does, deaf: row.deaf}
		}
		return listener{honest, m.name, o}
	}
	w, err := newWorld(table(), Profile{}, newChaos(1, nil, true), s)
	if err != nil {
		t.Fatal(err)
	}
	w.run()
	for _, v := range w.oracle.violations {
		if !slices.Contains(indulgent, v.Rule) {
			t.Errorf("violation: %s", v)
		}
	}
	for _, m := range w.members {
		if m.done {
			o.ends[m.name] = m.end
		}
		o.models[m.name], _ = protocol.Ints(m.disk.durable["model"])
	}
	return o
}

// listener hears a machine's notices.
type listener struct {
	protocol.Machine
	name string
	o    *outcome
}

func (l listener) Step(now int64, ev protocol.Event) protocol.Effects {
	eff := l.Machine.Step(now, ev)
	for _, n := range eff.Notices {
		l.o.notice(l.name, n)
	}
	return eff
}

// judge compares what came of a row with what must.
func (row cheater) judge(t *testing.T, setup Setup, o *outcome) {
	defer func() {
		if t.Failed() {
			t.Logf("ends: %v\nrefusals:\n%s", o.ends, strings.Join(o.refusals(), "\n"))
		}
	}()
	c := row.comes
	culprit := row.who
	if c.nameless {
		culprit = ""
	}
	if c.refused != nil && !o.refused(c.by, culprit, c.refused) {
		t.Errorf("nobody among %q refused it as %q, naming %q", c.by, c.refused, culprit)
	}
	for i := range setup.Parties + setup.Computes + 1 {
		if name := setup.memberName(i); name != row.who && strings.HasPrefix(name, c.of) {
			row.judgeEnd(t, name, o)
		}
	}
	row.judgeSets(t, o)
	if c.ends == 0 && c.of == "" {
		row.judgeSum(t, setup, o)
	}
}

func (row cheater) judgeEnd(t *testing.T, name string, o *outcome) {
	err, ended := o.ends[name]
	switch {
	case !ended:
		t.Errorf("%s hasn't ended", name)
	case row.comes.ends == 0 && err != nil:
		t.Errorf("%s ended with %v", name, err)
	case row.comes.ends != 0 && (err == nil || protocol.ClassOf(err) != row.comes.ends || !strings.Contains(err.Error(), row.comes.because)):
		t.Errorf("%s ended with %v, want class %d because %q", name, err, row.comes.ends, row.comes.because)
	}
}

func (row cheater) judgeSets(t *testing.T, o *outcome) {
	var sets []int
	for _, r := range o.results("c1") {
		sets = append(sets, r.Count)
	}
	if !slices.Equal(sets, row.comes.sets) {
		t.Errorf("sums over %v parties were revealed, want %v", sets, row.comes.sets)
	}
	for i := range 4 {
		name := fmt.Sprintf("p%d", i)
		if len(o.results(name)) > 0 && o.counted(name, 1) == (name == row.comes.uncounted) {
			t.Errorf("%s is counted in round 1: %t", name, o.counted(name, 1))
		}
	}
}

func (row cheater) judgeSum(t *testing.T, setup Setup, o *outcome) {
	want, got := o.expected(setup), o.models["p3"]
	if slices.Equal(want, got) == row.comes.wrong {
		t.Errorf("the model is %v, the counted updates lead to %v", got, want)
	}
	rejected := false
	for _, r := range o.results("p3") {
		rejected = rejected || r.Detail == protocol.OutcomeRejected.String()
	}
	if rejected != row.comes.rejected {
		t.Errorf("a round was rejected: %t", rejected)
	}
	for i := range setup.Parties {
		if name := setup.memberName(i); name != row.who && !slices.Equal(o.models[name], got) {
			t.Errorf("%s's model is %v, p3's %v", name, o.models[name], got)
		}
	}
}
