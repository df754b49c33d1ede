package run

import (
	"crypto/rand"
	"fmt"
	"io"

	"choir/crypto/identity"
	"choir/protocol"
)

// Roster has the members of a session in one process, with their keys.
type Roster struct {
	Members []protocol.Member
	Keys    []*identity.PrivateKey // by member, in the order of Members
}

// NewRoster returns parties, compute nodes and an aggregator with new keys.
// random may be nil: crypto/rand.Reader.
func NewRoster(random io.Reader, parties, computes int) (*Roster, error) {
	if random == nil {
		random = rand.Reader
	}
	r := &Roster{}
	for _, group := range []struct {
		role protocol.Role
		n    int
	}{{protocol.RoleParty, parties}, {protocol.RoleCompute, computes}} {
		for i := range group.n {
			if err := r.add(random, MemberName(group.role, i, group.n), group.role); err != nil {
				return nil, err
			}
		}
	}
	return r, r.add(random, "aggregator", protocol.RoleAggregator)
}

func (r *Roster) add(random io.Reader, name string, role protocol.Role) error {
	k, err := identity.Generate(random)
	if err != nil {
		return err
	}
	r.Keys = append(r.Keys, k)
	r.Members = append(r.Members, protocol.Member{Name: name, Role: role, Key: k.Public()})
	return nil
}

// MemberName numbers the members of a role from 1, padded so that names sort by
// number.
func MemberName(role protocol.Role, i, of int) string {
	return fmt.Sprintf("%s-%0*d", role, max(2, len(fmt.Sprint(of))), i+1)
}

// KeysIn returns the keys by member index of a plan with this roster.
func (r *Roster) KeysIn(p *protocol.Plan) ([]*identity.PrivateKey, error) {
	keys := make([]*identity.PrivateKey, len(p.Members))
	for _, k := range r.Keys {
		i, ok := p.Index(k.Public())
		if !ok {
			return nil, fmt.Errorf("the key %s isn't on the plan's roster", k.Public().Fingerprint())
		}
		keys[i] = k
	}
	return keys, nil
}

// Sign returns the plan with every member's signature.
func (r *Roster) Sign(p *protocol.Plan) (*protocol.SignedPlan, error) {
	signed := &protocol.SignedPlan{Plan: p}
	for _, k := range r.Keys {
		if err := signed.Sign(k); err != nil {
			return nil, err
		}
	}
	return signed, nil
}
