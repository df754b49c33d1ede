package protocol

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"choir/crypto/channel"
)

// Next returns the secret of the round after a secret's. The secret does not follow from it.
func Next(secret *channel.Secret) *channel.Secret {
	next := secret.Derive(nextKey, nil)
	s, err := channel.NewSecret(next[:])
	if err != nil {
		panic(err) // its length is right
	}
	return s
}

// Later returns the secret that follows from another after a number of rounds.
func Later(secret *channel.Secret, rounds uint32) *channel.Secret {
	for range rounds {
		secret = Next(secret)
	}
	return secret
}

// Ids of a keyring's secrets that are not those of channels. The group key's is Everyone.
const (
	// Digests is that of the digest secret. In round r+1 it gives the key of round r's digests.
	Digests = Everyone - 1
	// Own is that of a secret which a member shares with no one.
	Own = Everyone - 2
)

// Keyring is the secrets that a member has in a plan, all of one round: those of its channels by
// the other end, and others by an id above all members. When a round is over they are replaced by
// those of the next, and the store keeps nothing from which the ones before follow.
type Keyring struct {
	round   uint32
	secrets map[uint32]*channel.Secret
	changed map[uint32]bool // blocks that the store does not have yet
}

// NewKeyring returns a keyring without secrets, in round 1.
func NewKeyring() *Keyring {
	return &Keyring{round: 1, secrets: map[uint32]*channel.Secret{}, changed: map[uint32]bool{}}
}

// The stored form of a keyring is a record for each block of members that has a secret,
//
//	secrets/<block>   u32 round | n* (u32 member | 32 secret)
//
// short enough for a store to overwrite it when it is replaced.
const (
	secretsKind  = "secrets"
	secretsBlock = 512
	secretSize   = 4 + channel.SecretSize
)

// RestoreKeyring reads a keyring from a store.
func RestoreKeyring(view View) (*Keyring, error) {
	k := NewKeyring()
	for i, key := range view.Keys(secretsKind + "/") {
		b := view.Get(key)
		if len(b) < 4 || (len(b)-4)%secretSize != 0 {
			return nil, fmt.Errorf("%s has %d bytes", key, len(b))
		}
		round := binary.BigEndian.Uint32(b)
		if round < 1 || i > 0 && round != k.round {
			return nil, fmt.Errorf("%s is of round %d, another block of round %d", key, round, k.round)
		}
		k.round = round
		for b = b[4:]; len(b) > 0; b = b[secretSize:] {
			secret, err := channel.NewSecret(b[4:secretSize])
			if err != nil {
				return nil, err
			}
			k.secrets[binary.BigEndian.Uint32(b)] = secret
		}
	}
	return k, nil
}

// Round is the round of the secrets.
func (k *Keyring) Round() uint32 { return k.round }

// Has reports whether there is a secret with a member.
func (k *Keyring) Has(member uint32) bool { return k.secrets[member] != nil }

// Members returns the members with whom there is a secret, in order.
func (k *Keyring) Members() []uint32 { return slices.Sorted(maps.Keys(k.secrets)) }

// Secret returns the secret with a member in a round, nil if there is none. An earlier round than the
// keyring's has none.
func (k *Keyring) Secret(member, round uint32) *channel.Secret {
	secret := k.secrets[member]
	if secret == nil || round < k.round {
		return nil
	}
	return Later(secret, round-k.round)
}

// Add adds the secret with a member, which is that of a round. It is of no use if that is later
// than the keyring's: Advance to it first.
func (k *Keyring) Add(member, round uint32, secret *channel.Secret) {
	if round > k.round {
		panic(fmt.Sprintf("a secret of round %d in a keyring of round %d", round, k.round))
	}
	k.secrets[member] = Later(secret, k.round-round)
	k.changed[member/secretsBlock] = true
}

// Drop drops the secret with a member.
func (k *Keyring) Drop(member uint32) {
	delete(k.secrets, member)
	k.changed[member/secretsBlock] = true
}

// Advance replaces the secrets by those of a round, unless that is over.
func (k *Keyring) Advance(round uint32) {
	if round <= k.round {
		return
	}
	for member, secret := range k.secrets {
		k.secrets[member] = Later(secret, round-k.round)
		k.changed[member/secretsBlock] = true
	}
	k.round = round
}

// Store stores the blocks that have changed and erases what was stored before.
func (k *Keyring) Store(eff *Effects) {
	for _, block := range slices.Sorted(maps.Keys(k.changed)) {
		eff.Replace(RecordKey(secretsKind, block), k.record(block))
	}
	clear(k.changed)
}

// record returns the stored form of a block, nil if it has no secret.
func (k *Keyring) record(block uint32) (b []byte) {
	if len(k.secrets) < secretsBlock {
		for _, member := range k.Members() {
			if member/secretsBlock == block {
				b = k.appendSecret(b, member)
			}
		}
		return b
	}
	for i := range uint32(secretsBlock) {
		if member := block*secretsBlock + i; k.Has(member) {
			b = k.appendSecret(b, member)
		}
	}
	return b
}

// appendSecret appends a member's secret to the stored form of its block.
func (k *Keyring) appendSecret(b []byte, member uint32) []byte {
	if b == nil {
		b = binary.BigEndian.AppendUint32(nil, k.round)
	}
	return append(binary.BigEndian.AppendUint32(b, member), k.secrets[member].Bytes()...)
}

// Erase drops all secrets and erases them in the store.
func (k *Keyring) Erase(eff *Effects) {
	for _, member := range k.Members() {
		k.Drop(member)
	}
	k.Store(eff)
}
