package simulate

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math/rand/v2"

	"choir/crypto/channel"
	"choir/crypto/identity"
)

// signer is a member's key in a simulation: a secret that the simulation's
// verifier knows, too. It replaces a signature scheme that can't be forged without
// the secret, at the price of a hash.
type signer struct {
	short  uint64
	public identity.PublicKey
}

func newSigner(seed uint64, member uint32) *signer {
	secret := sum("signer", seed, uint64(member))
	return &signer{binary.BigEndian.Uint64(secret[:]), identity.PublicKey(sha256.Sum256(secret[:]))}
}

// Public implements protocol.Signer.
func (s *signer) Public() identity.PublicKey { return s.public }

// Sign implements protocol.Signer. The keyed hash is not secure; it only detects
// that a message was changed without the key, which is all that the simulated
// broker does.
func (s *signer) Sign(msg []byte) (sig identity.Signature) {
	binary.BigEndian.PutUint64(sig[:], mixIn(s.short, msg))
	binary.BigEndian.PutUint64(sig[8:], mixIn(^s.short, msg))
	return sig
}

// verifier knows every member's secret.
type verifier map[identity.PublicKey]*signer

// Verify implements protocol.Verifier.
func (v verifier) Verify(key identity.PublicKey, msg []byte, sig identity.Signature) bool {
	s := v[key]
	return s != nil && s.Sign(msg) == sig
}

// exchange replaces HPKE: both ends compute the secret from the inputs that the
// real one binds: the receiver's key, the encapsulation and the info string. It
// records every secret for the oracle.
type exchange struct {
	secrets map[string]*channel.Secret // by encapsulation
}

func (x *exchange) initiate(rand io.Reader) func(channel.Suite, []byte, []byte) ([]byte, *channel.Secret,
	error) {
	return func(_ channel.Suite, public, info []byte) ([]byte, *channel.Secret, error) {
		enc := make([]byte, 32)
		if _, err := io.ReadFull(rand, enc); err != nil {
			return nil, nil, err
		}
		s, err := agree(public, enc, info)
		if err == nil {
			x.secrets[string(enc)] = s
		}
		return enc, s, err
	}
}

func (x *exchange) accept(key *channel.PrivateKey, enc, info []byte) (*channel.Secret, error) {
	s, err := agree(key.Public(), enc, info)
	if err == nil && x.secrets[string(enc)] == nil { // of a member that lies
		x.secrets[string(enc)] = s
	}
	return s, err
}

func agree(public, enc, info []byte) (*channel.Secret, error) {
	h := sha256.New()
	for _, part := range [][]byte{public, enc, info} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return channel.NewSecret(h.Sum(nil))
}

// random is the random source of one incarnation of a member; another one draws
// other numbers, as it would from the operating system.
func random(seed uint64, member uint32, incarnation int) io.Reader {
	return rand.NewChaCha8(sum("random", seed, uint64(member), uint64(incarnation)))
}

func sum(label string, parts ...uint64) [32]byte {
	b := []byte(label)
	for _, p := range parts {
		b = binary.BigEndian.AppendUint64(b, p)
	}
	return sha256.Sum256(b)
}
