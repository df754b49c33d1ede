package protocol

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"choir/crypto/blake"
	"choir/crypto/channel"
	"choir/crypto/field"
)

// A party uses a result when every node has confirmed it. A Confirm of a sum has the fingerprint
// of the node's partial sum at a point that follows from the Result, plus a trace that only the
// node and the aggregator know. The Result has the sum of the traces, for those with the group
// key. So the fingerprints add up to that of the aggregate plus this sum, and a party that has
// both compares them. Everybody else sees uniform values.

// extSize is the size of an element of field.Ext, in bytes.
const extSize = 2 * field.ElementSize

// SealedTrace is the sum of the nodes' traces, sealed under the group key.
type SealedTrace [extSize + channel.Overhead]byte

// Value is an encoded element of field.Ext: two elements, each little endian.
type Value [extSize]byte

// Confirm is a node's signature on a Result that agrees with what the node signed. A node signs
// one for an attempt. For a void result it means that the node has revealed nothing in the attempt
// and will not, and its value is zero.
//
// A node replaces its key, if it does, when it signs the Confirm of a sum. A party that the next key
// is for has no channel to the node. It contributes when it has set up one to that key.
//
// Layout: u32 round | u32 attempt | 32 result | 16 value | u32 key | n* u32 party.
type Confirm struct {
	Round   uint32
	Attempt uint32
	Result  Digest   // of the Result's body, as in ResultProof
	Value   Value    // fingerprint of the partial sum, plus the trace
	Key     uint32   // number of the node's next key; 0: it has not replaced its key
	For     []uint32 // the parties that the next key is for, in increasing order
}

// Excludes reports whether a party has no channel to the node.
func (m *Confirm) Excludes(party uint32) bool {
	_, found := slices.BinarySearch(m.For, party)
	return found
}

func (*Confirm) kind() Kind { return KindConfirm }

func (m *Confirm) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.fixed("result", m.Result[:])
	w.fixed("value", m.Value[:])
	w.u32("key number", &m.Key)
	w.increasing("party", &m.For)
	switch {
	case w.err != nil:
		return
	case m.Key == 1 || (m.Key == 0) != (len(m.For) == 0):
		w.fail("a confirm names key %d for %d parties", m.Key, len(m.For))
		return
	}
	if _, ok := m.Value.ext(); !ok {
		w.fail("the value is not two elements of the field")
	}
}

// ext returns the decoded element. ok is false if it is not canonical.
func (v Value) ext() (e field.Ext, ok bool) {
	first, ok1 := field.New(binary.LittleEndian.Uint64(v[:]))
	second, ok2 := field.New(binary.LittleEndian.Uint64(v[field.ElementSize:]))
	return field.Ext{first, second}, ok1 && ok2
}

func newValue(e field.Ext) (v Value) {
	field.PutVector(v[:], e[:])
	return v
}

// Fingerprint returns the fingerprint of no elements at a result's point, which no one can choose:
// it follows from the digest of the result's body, and so from the aggregate and the partial sums.
func (s BoundPlan) Fingerprint(result Digest) *field.Fingerprint {
	return field.NewFingerprint(hashToExt(digest(pointContext, s.ID[:], result[:])))
}

// Value returns what a node confirms with: the fingerprint of its partial sum plus its trace,
// which follows from the opening's salt.
func (o Opening) Value(f *field.Fingerprint) Value {
	return newValue(field.AddExt(f.Sum(), o.trace()))
}

func (o Opening) trace() field.Ext { return hashToExt(digest(traceContext, o.Salt[:])) }

// hashToExt reduces each half of a digest modulo p. Each coordinate is within 2^-64 of uniform.
func hashToExt(d Digest) field.Ext {
	half := func(b []byte) field.Element {
		_, r := bits.Div64(binary.BigEndian.Uint64(b)%field.Modulus, binary.BigEndian.Uint64(b[8:]), field.Modulus)
		return field.Element(r)
	}
	return field.Ext{half(d[:16]), half(d[16:])}
}

// SealTrace seals the sum of the openings' traces for the members with the group key.
func (s BoundPlan) SealTrace(
	group *channel.Secret, c Context, openings []Opening,
) (sealed SealedTrace, err error) {
	box, err := s.traceBox(group, c)
	if err != nil {
		return sealed, err
	}
	var sum field.Ext
	for _, o := range openings {
		sum = field.AddExt(sum, o.trace())
	}
	v := newValue(sum)
	copy(sealed[:], box.Seal(nil, 0, true, v[:]))
	return sealed, nil
}

// Expected returns what the values of a result's Confirms must add up to: the fingerprint of the
// aggregate plus the sum of the traces.
func (s BoundPlan) Expected(
	group *channel.Secret, c Context, trace SealedTrace, result Digest, aggregate []int64,
) (Value, error) {
	box, err := s.traceBox(group, c)
	if err != nil {
		return Value{}, err
	}
	plain, err := box.Open(nil, 0, true, trace[:])
	if err != nil {
		return Value{}, fmt.Errorf("%w: the sum of the traces", ErrSealed)
	}
	sum, ok := Value(plain).ext()
	if !ok {
		return Value{}, fmt.Errorf("%w: the sum of the traces", ErrMalformed)
	}
	f, v := s.Fingerprint(result), make(field.Vector, min(len(aggregate), hashPiece/field.ElementSize))
	for len(aggregate) > 0 {
		n := min(len(v), len(aggregate))
		if v[:n].SetSigned(aggregate[:n]) < n {
			return Value{}, fmt.Errorf("%w: the aggregate has an integer beyond the field", ErrMismatch)
		}
		f.Write(v[:n])
		aggregate = aggregate[n:]
	}
	return newValue(field.AddExt(f.Sum(), sum)), nil
}

// AddValues returns the sum of the values of Confirms.
func AddValues(values []Value) Value {
	var sum field.Ext
	for _, v := range values {
		e, _ := v.ext() // checked when it was decoded
		sum = field.AddExt(sum, e)
	}
	return newValue(sum)
}

func (s BoundPlan) traceBox(group *channel.Secret, c Context) (*channel.Box, error) {
	ctx := c.bytes(s.ID)
	return channel.NewBox(group.Derive(traceKey, ctx), append([]byte("choir v1 trace\x00"), ctx...))
}

// ResultDigest is the digest of a result's body, which Confirms and proofs name.
func ResultDigest(m *Result) (Digest, error) {
	body, err := marshal(m)
	return blake.Derive(resultContext, body), err
}
