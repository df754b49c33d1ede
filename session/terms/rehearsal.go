package terms

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"choir/protocol"
)

// Rehearsal is a plan's file without its members' keys.
type Rehearsal struct {
	Parties []string // names, in the order of the file
	Plan    *protocol.Plan
}

// NewRehearsal returns the plan that a file describes, among members with other keys, which
// newMember makes. A member has the name of its card's file, which need not exist. A file
// that names no parties, nodes or aggregator has so many parties, three nodes and one.
func NewRehearsal(path string, now time.Time, parties int,
	newMember func(name string, role protocol.Role) (protocol.Member, error)) (*Rehearsal, error) {
	c, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	r := &Rehearsal{}
	if c.Name == "" {
		c.Name = "rehearsal"
	}
	if c.Lifetime.Duration == 0 {
		c.Lifetime.Duration = 24 * time.Hour
	}
	c.enrol(parties)
	var members []protocol.Member
	for _, group := range []struct {
		role  protocol.Role
		cards []string
	}{{protocol.RoleParty, c.Parties}, {protocol.RoleCompute, c.Computes},
		{protocol.RoleAggregator, []string{c.Aggregator}}} {
		for _, card := range group.cards {
			name := strings.TrimSuffix(filepath.Base(card), filepath.Ext(card))
			m, err := newMember(name, group.role)
			if err != nil {
				return nil, &fileError{path, c, protocol.Fail(protocol.ClassInput, "config: %s: %w", group.role, err)}
			}
			members = append(members, m)
			if group.role == protocol.RoleParty {
				r.Parties = append(r.Parties, name)
			}
		}
	}
	if r.Plan, err = c.plan(schemaReader(path), now, members); err != nil {
		return nil, &fileError{path, c, err}
	}
	return r, nil
}

// Party is the party that data number i of some belongs to, as NAME=FILE or by its place, and its file.
func (r *Rehearsal) Party(i int, path string, of int) (name, file string, err error) {
	name, file, named := strings.Cut(path, "=")
	switch {
	case named && slices.Contains(r.Parties, name):
		return name, file, nil
	case i < len(r.Parties):
		return r.Parties[i], path, nil
	}
	return "", "", protocol.Fail(protocol.ClassInput, "data: %d files for %d parties", of, len(r.Parties))
}

// enrol names the members that the file doesn't name.
func (c *PlanConfig) enrol(parties int) {
	cards := func(role string, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("%s-%02d.card", role, i+1))
		}
		return names
	}
	if len(c.Parties) == 0 {
		c.Parties = cards("party", parties)
	}
	if len(c.Computes) == 0 {
		c.Computes = cards("compute", 3)
	}
	if c.Aggregator == "" {
		c.Aggregator = "aggregator.card"
	}
}
