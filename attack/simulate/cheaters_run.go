package simulate

import (
	"fmt"
	"slices"
	"strings"

	"choir/protocol"
)

// table is the session that cheats meet: four parties and three compute nodes, or as many as a shape has,
// where one party may be missing, two rounds, no noise, so that sums are exact; or on the shape's terms.
func (row cheater) table() Setup {
	s := Setup{Seed: 1, Parties: 4, Computes: 3, Dim: 3, Rounds: 2, Spares: 1,
		Noise: protocol.NoiseNone, Audit: row.audit, Paired: row.pairs}
	if row.shape.Parties > 0 {
		s.Parties, s.Computes = row.shape.Parties, row.shape.Computes
	}
	s.MinParties = s.Parties - 1
	s.Dim = max(s.Dim, s.digits())
	if row.terms {
		row.shape.apply(&s)
	}
	if row.pairs {
		s.Dim |= 1 // room for a coordinate that isn't there
	}
	return s
}

// indulgent are the rules that don't apply with a cheat: it can stop a session, and
// make honest members end it.
var indulgent = []string{"stuck", "bad end"}

// simulateCheats runs a session with the cheats of all rows, which are of different members and of plans
// with the same setup, and returns its outcome and what the oracle found.
func simulateCheats(rows ...cheater) (o *outcome, found []Violation, err error) {
	setup, liars := rows[0].table(), map[string]bool{}
	for _, row := range rows {
		for _, liar := range row.liars() {
			liars[liar.who] = true
		}
	}
	return simulateRows(func(i int) bool { return !liars[setup.memberName(i)] }, rows...)
}

// simulateRows is simulateCheats with an oracle that takes others for honest members; nil: all.
func simulateRows(honest func(member int) bool, rows ...cheater) (o *outcome, found []Violation, err error) {
	defer func() {
		p := recover()
		if cause, ok := p.(impossible); ok {
			err = fmt.Errorf("%w: %w", ErrUnfit, cause.error)
		} else if p != nil {
			panic(p)
		}
	}()
	o = newOutcome()
	setup := rows[0].table()
	cheats := map[string]cheater{}
	for _, row := range rows {
		for _, liar := range row.liars() {
			cheats[liar.who] = liar
		}
	}
	s, versions := seams{giveUp: 3000, honest: honest}, newSides()
	s.machine = func(m *member, honest protocol.Machine) protocol.Machine {
		if row, cheats := cheats[m.name]; cheats {
			honest = &cheat{Machine: honest, s: m.w.session, key: m.key, self: uint32(m.i), view: m.disk,
				stored: map[string][]byte{}, change: row.does, deaf: row.deaf,
				sides: versions}
		} else {
			for _, row := range rows {
				honest = row.behind(honest, m.name, versions)
			}
		}
		return listener{honest, m.name, o}
	}
	w, err := newWorld(setup, Profile{}, newChaos(1, nil, true), s)
	if err != nil {
		return nil, nil, err
	}
	w.run()
	found = slices.DeleteFunc(w.oracle.violations,
		func(v Violation) bool { return slices.Contains(indulgent, v.Rule) })
	for _, m := range w.members {
		if m.done {
			o.ends[m.name] = m.end
		}
		o.models[m.name], _ = protocol.UnpackInts(m.disk.durable["model"])
	}
	return o, found, nil
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

// judge compares the outcome of a row with its claim, and reports differences.
func (row cheater) judge(setup Setup, o *outcome) []string {
	j := judgement{row: row, setup: setup, o: o}
	c := row.comes
	culprit := row.culprit()
	if c.refused != nil && !o.refused(c.by, culprit, c.refused) {
		j.problem("nobody among %q refused it as %q, naming %q", c.by, c.refused, culprit)
	}
	for i := range setup.Parties + setup.Computes + 1 {
		if name := setup.memberName(i); !row.lies(name) && strings.HasPrefix(name, c.of) {
			j.end(name)
		}
	}
	j.sets()
	if c.ends == 0 && c.of == "" {
		j.sum()
	}
	return j.problems
}

// culprit is the name that a refusal must give.
func (row cheater) culprit() string {
	if row.comes.nameless {
		return ""
	}
	return row.who
}

type judgement struct {
	row      cheater
	setup    Setup
	o        *outcome
	problems []string
}

func (j *judgement) problem(format string, args ...any) {
	j.problems = append(j.problems, fmt.Sprintf(format, args...))
}

func (j *judgement) end(name string) {
	c := j.row.comes
	err, ended := j.o.ends[name]
	switch {
	case !ended:
		j.problem("%s hasn't ended", name)
	case c.ends == 0 && err != nil:
		j.problem("%s ended with %v", name, err)
	case c.ends != 0 && (err == nil || protocol.ClassOf(err) != c.ends ||
		!strings.Contains(err.Error(), c.because)):
		j.problem("%s ended with %v, want class %d because %q", name, err, c.ends, c.because)
	}
}

func (j *judgement) sets() {
	var sets []int
	for _, r := range j.o.results("c1") {
		sets = append(sets, r.Count)
	}
	var want []int
	for _, n := range j.row.comes.sets {
		want = append(want, n-4+j.setup.Parties)
	}
	if !slices.Equal(sets, want) {
		j.problem("sums over %v parties were revealed, want %v", sets, want)
	}
	for i := range j.setup.Parties {
		name := j.setup.memberName(i)
		if len(j.o.results(name)) > 0 && name != j.row.who &&
			j.o.counted(name, 1) == (name == j.row.comes.uncounted) {
			j.problem("%s is counted in round 1: %t", name, j.o.counted(name, 1))
		}
	}
}

func (j *judgement) sum() {
	want, got := j.expected(), j.o.models["p3"]
	if slices.Equal(want, got) == j.row.comes.wrong {
		j.problem("the model is %v, the counted updates lead to %v", got, want)
	}
	rejected := false
	for _, r := range j.o.results("p3") {
		rejected = rejected || r.Detail == protocol.OutcomeRejected.String()
	}
	if rejected != j.row.comes.rejected {
		j.problem("a round was rejected: %t", rejected)
	}
	for i := range j.setup.Parties {
		if name := j.setup.memberName(i); name != j.row.who && !slices.Equal(j.o.models[name], got) {
			j.problem("%s's model is %v, p3's %v", name, j.o.models[name], got)
		}
	}
}

// expected is the model that follows from the counted parties' updates. The honest
// parties report whether they are counted; the cheat is, when the set has one more
// party.
func (j *judgement) expected() []int64 {
	app := j.setup.app()
	model := app.Initial()
	for _, r := range j.o.results("p3") {
		if r.Detail != protocol.OutcomeAccepted.String() {
			continue
		}
		before, n := model, 0
		add := func(i int) {
			model, n = plus(model, app.update(uint32(i),
				protocol.Work{Round: r.Round, Attempt: r.Attempt, Model: before})), n+1
		}
		for i := range j.setup.Parties {
			if name := j.setup.memberName(i); name != j.row.who && j.o.counted(name, r.Round) {
				add(i)
			}
		}
		for i := range j.setup.Parties {
			if j.setup.memberName(i) == j.row.who && n < r.Count {
				add(i)
			}
		}
	}
	return model
}
