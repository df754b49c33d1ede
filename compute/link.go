package compute

import (
	"bytes"
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// What a node and its workers send each other that has secrets is sealed to a key of the running
// receiver, which no store and no file has: a thief of one opens nothing of it.

// sender is an end of a link that seals.
type sender struct {
	public []byte // the receiver's key; nil: not known
	link   *protocol.WorkerLink
}

// receiver is an end of a link that opens.
type receiver struct {
	key    *channel.PrivateKey // nil: there is none
	enc    []byte              // the last encapsulation, nil before the first
	secret *channel.Secret     // of the last encapsulation
}

// linkSetup is how links are set up.
type linkSetup struct {
	s        protocol.BoundPlan
	initiate func(suite channel.Suite, peerPublic, info []byte) ([]byte, *channel.Secret, error)
	accept   func(key *channel.PrivateKey, enc, info []byte) (*channel.Secret, error)
}

// to returns the link to the receiver for messages on a path.
func (l linkSetup) to(e *sender, p protocol.WorkerPath) (*protocol.WorkerLink, error) {
	if e.link != nil {
		return e.link, nil
	}
	enc, secret, err := l.initiate(l.s.Plan.Suite, e.public, l.s.WorkerInfo(p))
	if err != nil {
		return nil, fmt.Errorf("%w: key of a worker message: %w", protocol.ErrMalformed, err)
	}
	e.link = &protocol.WorkerLink{Enc: enc, Secret: secret}
	return e.link, nil
}

// from returns the secret of an encapsulation for messages on a path. One that is not to the key of
// this process was meant for an earlier one.
func (l linkSetup) from(e *receiver, p protocol.WorkerPath, enc []byte) (*channel.Secret, error) {
	if e.key == nil {
		return nil, protocol.ErrDuplicate
	}
	if e.enc == nil || !bytes.Equal(e.enc, enc) {
		secret, err := l.accept(e.key, enc, l.s.WorkerInfo(p))
		if err != nil {
			return nil, fmt.Errorf("%w: worker message: %w", protocol.ErrSealed, err)
		}
		e.enc, e.secret = bytes.Clone(enc), secret
	}
	return e.secret, nil
}
