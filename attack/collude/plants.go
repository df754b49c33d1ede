package collude

import (
	"crypto/rand"
	"encoding/binary"
	"io"

	"choir/protocol"
	"choir/session/app"
)

// plants are bugs of the past that tests build into sessions again. Only tests of this package can set
// them: Lab's field is not exported, and nothing else assigns it.
type plants struct {
	freshNoise    bool // a node draws new noise and salts each time it starts
	clearDigests  bool // the aggregator publishes an unkeyed digest of the sum
	noisyFactors  bool // private factors keep the noise
	perCoordinate bool // the norm of a sum is not checked, each coordinate is
}

// telltale is a model that publishes an unkeyed digest of every sum.
type telltale struct {
	app.Sum
	r *record
}

// Fold implements protocol.Model.
func (m telltale) Fold(round uint32, model, sum []int64) ([]int64, error) {
	d := protocol.IntDigest(protocol.DigestKey{}, sum)
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.messages = append(m.r.messages, message{From: m.r.session.Plan.Aggregator(),
		Subject: m.r.session.SubjectControl(), Data: d[:]})
	return m.Sum.Fold(round, model, sum)
}

// random is a member's randomness.
func (r *Run) random(member uint32) io.Reader {
	if r.Lab.Rand != nil {
		return r.Lab.Rand(member)
	}
	return rand.Reader
}

// fresh is a secret that a node never had before.
func (r *Run) fresh(node uint32, life int) []byte {
	b := make([]byte, 32)
	rng := r.rng("fresh")
	for range life {
		rng.Uint64()
	}
	binary.BigEndian.PutUint64(b, rng.Uint64())
	binary.BigEndian.PutUint32(b[8:], node)
	return b
}
