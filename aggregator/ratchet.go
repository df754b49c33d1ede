package aggregator

import (
	"choir/crypto/channel"
	"choir/protocol"
)

// ratchet derives the secrets of rounds that come in order from one another, and not each from that of
// round 1, which would make every round dearer than the one before.
type ratchet struct {
	first, secret *channel.Secret
	round         uint32
}

func newRatchet(first *channel.Secret) *ratchet { return &ratchet{first, first, 1} }

// in returns the secret of a round.
func (r *ratchet) in(round uint32) *channel.Secret {
	if round < r.round {
		r.secret, r.round = r.first, 1
	}
	r.secret, r.round = protocol.Later(r.secret, round-r.round), round
	return r.secret
}
