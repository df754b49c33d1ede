package mixnet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"choir/protocol"
)

// Run runs the row's session, and returns what differs from the row.
func (r *Row) Run(seed uint64) (problems []string, err error) {
	w, err := r.world(seed)
	if err != nil {
		return nil, err
	}
	if err := w.run(); err != nil {
		return nil, err
	}
	return r.judge(w), nil
}

// world is the row's session.
func (r *Row) world(seed uint64) (*world, error) {
	w, err := newWorld(seed)
	if err != nil {
		return nil, err
	}
	w.cheat = &cheat{row: r, done: map[string]bool{}, stored: map[string][]byte{}, believed: map[string][]byte{}}
	if r.tamper != nil {
		w.tamper[r.Who] = r.tamper
	}
	return w, nil
}

// judge returns what differs from the row in a session that is over.
func (r *Row) judge(w *world) (problems []string) {
	j := &judgement{w: w, row: r}
	j.judge()
	problems = append(j.problems, w.violations()...)
	for i := range problems {
		problems[i] = fmt.Sprintf("seed %d: %s", w.seed, problems[i])
	}
	return problems
}

type judgement struct {
	w        *world
	row      *Row
	problems []string
}

func (j *judgement) problem(format string, args ...any) {
	j.problems = append(j.problems, fmt.Sprintf(format, args...))
}

func (j *judgement) judge() {
	c := j.row.comes
	if c.refused != nil && !j.refused() {
		j.problem("none of %q refused it as %q: %s", c.by, c.refused, j.notices())
	}
	if c.lost != "" && !j.lost() {
		j.problem("no party knows that %s lost its entry: %s", c.lost, j.notices())
	}
	want := c.outcomes
	if want == nil {
		want = []string{"accepted", "accepted"}
	}
	outcomes, suspect := j.outcomes()
	if !slices.Equal(outcomes, want) && c.ends == 0 {
		j.problem("the attempts were %v, want %v", outcomes, want)
	}
	if suspect != c.suspect {
		j.problem("%q is suspected, want %q", suspect, c.suspect)
	}
	for i, want := range c.reports {
		j.reports(uint32(i+1), want)
	}
	j.ends()
	if err := j.w.onRecord(); err != nil && j.row.Who != "agg" {
		j.problem("the transcript: %v", err)
	}
}

// notices lists the refusals, for errors.
func (j *judgement) notices() string {
	var all []string
	for _, m := range j.w.members {
		for _, n := range m.notices {
			if n.Code == protocol.NoteRefused || n.Code == protocol.NoteUncounted {
				all = append(all, fmt.Sprintf("%s: %s %v %s", m.name, n.Peer, n.Err, n.Detail))
			}
		}
	}
	return strings.Join(all, "; ")
}

func (j *judgement) refused() bool {
	c := j.row.comes
	for _, m := range j.honest() {
		for _, n := range m.notices {
			named := n.Peer == j.row.Who || c.nameless && n.Peer == ""
			if strings.HasPrefix(m.name, c.by) && n.Code == protocol.NoteRefused &&
				errors.Is(n.Err, c.refused) && named {
				return true
			}
		}
	}
	return false
}

func (j *judgement) lost() bool {
	for _, m := range j.honest() {
		for _, n := range m.notices {
			if n.Code == protocol.NoteUncounted && n.Peer == j.row.comes.lost {
				return true
			}
		}
	}
	return false
}

func (j *judgement) honest() []*member {
	return slices.DeleteFunc(slices.Clone(j.w.members), func(m *member) bool { return m.name == j.row.Who })
}

// outcomes are those on the bus, and the first suspect.
func (j *judgement) outcomes() (all []string, suspect string) {
	seen := map[[2]uint32]bool{}
	for _, o := range j.w.log {
		m, ok := decode[*protocol.MixResult](o.Data)
		if !ok {
			continue
		}
		at := [2]uint32{m.Round, m.Attempt}
		early := j.row.comes.refused == protocol.ErrEarly && m.Opened == (protocol.Digest{})
		if seen[at] || early {
			continue
		}
		seen[at] = true
		all = append(all, m.Outcome.String())
		if m.Suspect != protocol.Everyone && suspect == "" {
			suspect = j.w.s.Name(m.Suspect)
		}
	}
	return all, suspect
}

func (j *judgement) reports(round uint32, want []int) {
	got := j.w.received(round)
	if slices.Equal(want, three) {
		ok := len(got) == 3 && got[0] >= 0 && len(slices.Compact(slices.Clone(got))) == 3
		if !ok {
			j.problem("round %d: reports of %v, want three parties", round, got)
		}
	} else if !slices.Equal(got, want) {
		j.problem("round %d: reports of %v, want %v", round, got, want)
	}
}

func (j *judgement) ends() {
	c := j.row.comes
	for _, m := range j.honest() {
		switch {
		case !m.over:
			j.problem("%s has not ended", m.name)
		case c.ends == 0 && m.end != nil, c.ends != 0 && protocol.ClassOf(m.end) != c.ends:
			j.problem("%s ended with %v", m.name, m.end)
		}
	}
}

// violations is what no honest node may do under any liar: open a list that some node has not signed, or
// two lists of a round; and no honest member is suspected by name for what another did.
func (w *world) violations() (problems []string) {
	type attempt struct{ round, attempt uint32 }
	agreed := map[attempt]map[uint32]bool{}
	opened := map[uint32]map[uint32]uint32{} // by node and round: the attempt
	for _, o := range w.log {
		r, ok := decode[*protocol.MixResult](o.Data)
		if ok && r.Suspect != protocol.Everyone && !w.lies(w.members[7]) && !w.lies(w.members[r.Suspect]) {
			problems = append(problems, fmt.Sprintf("%s, which is honest, is suspected: %s", w.s.Name(r.Suspect),
				r.Reason))
		}
		if m, ok := decode[*protocol.MixAgree](o.Data); ok {
			e, _ := protocol.UnmarshalEnvelope(o.Data)
			at := attempt{m.Round, m.Attempt}
			if agreed[at] == nil {
				agreed[at] = map[uint32]bool{}
			}
			agreed[at][e.From] = true
		}
		m, ok := decode[*protocol.MixBatch](o.Data)
		if !ok || m.Stage <= 3 {
			continue
		}
		e, _ := protocol.UnmarshalEnvelope(o.Data)
		if w.s.Plan.Is(e.From, protocol.RoleCompute) && !w.lies(w.members[e.From]) {
			if n := len(agreed[attempt{m.Round, m.Attempt}]); n < 3 {
				problems = append(problems,
					fmt.Sprintf("%s opened a list that %d nodes have signed", w.s.Name(e.From), n))
			}
			if opened[e.From] == nil {
				opened[e.From] = map[uint32]uint32{}
			}
			if other, ok := opened[e.From][m.Round]; ok && other != m.Attempt {
				problems = append(problems, fmt.Sprintf("%s opened two lists of round %d", w.s.Name(e.From), m.Round))
			}
			opened[e.From][m.Round] = m.Attempt
		}
	}
	return problems
}
