package protocol

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/blake"
	"choir/crypto/identity"
)

// Receipt is a node's signed statement that a contribution is durable at the node. The party
// keeps its outbox until it has a receipt from every node. With a receipt it can prove later
// that the contribution should have been counted.
//
// A node signs the receipts of an attempt in groups: the signature is on the root of a hash
// tree over the group, and each receipt has its path to the root (see SignReceipts).
//
// Layout: u32 round | u32 attempt | u32 party | 32 bundle | u32 index | u32 count |
// 32 hash, as many as index and count call for.
type Receipt struct {
	Round   uint32
	Attempt uint32
	Party   uint32
	Bundle  Digest

	Index uint32   // in the group, from 0
	Count uint32   // size of the group, 1 to MaxMembers
	Path  []Digest // the sibling hashes from the leaf to the root, at most 17
}

func (m *Receipt) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.u32("party", &m.Party)
	w.fixed("bundle", m.Bundle[:])
	w.u32("index", &m.Index)
	w.u32("count", &m.Count)
	if w.err == nil && (m.Count > MaxMembers || m.Index >= m.Count) {
		w.fail("receipt %d of %d", m.Index, m.Count)
	}
	if w.err != nil {
		return
	}
	n := pathLength(m.Index, m.Count)
	if w.reading() {
		m.Path = make([]Digest, n)
	}
	if len(m.Path) != n {
		w.fail("%d hashes lead receipt %d of %d to its root, not %d", n, m.Index, m.Count, len(m.Path))
		return
	}
	for i := range m.Path {
		w.fixed("path", m.Path[i][:])
	}
}

// size is the size of the encoding, in bytes.
func (m *Receipt) size() int { return 4*5 + 32 + 32*len(m.Path) }

// The receipts of a group are the leaves of a hash tree of the shape of RFC 9162, section 2.1
// (a subtree on the right may be lower), with separate hashes for leaves and inner nodes. One
// signature, on the root, covers all of them, and each is sent with the siblings on its path.
// In place of a receipt's body the signature covers
//
//	u32 round | u32 attempt | u32 count | 32 root
//
// with the root that the receipt's path leads to. A receipt with another root therefore has an
// invalid signature, and there is no other check of the path.

// receiptRoot is what a node signs for a group of receipts.
type receiptRoot struct {
	round, attempt, count uint32
	root                  Digest
}

func (r *receiptRoot) fields(w *wire) {
	w.u32("round", &r.round)
	w.u32("attempt", &r.attempt)
	w.u32("count", &r.count)
	w.fixed("root", r.root[:])
}

// receiptStatement returns what the signature on a receipt with this body covers.
func receiptStatement(body []byte) ([]byte, error) {
	m := new(Receipt)
	if err := unmarshal(KindReceipt.String(), body, m); err != nil {
		return nil, err
	}
	return marshal(&receiptRoot{m.Round, m.Attempt, m.Count, m.root()})
}

// leaf returns the tree's leaf for a receipt.
func (m *Receipt) leaf() Digest {
	var buf [12 + 32]byte
	b := buf[:0]
	for _, v := range []uint32{m.Round, m.Attempt, m.Party} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return blake.Derive(leafContext, append(b, m.Bundle[:]...))
}

// inner returns the hash of two siblings.
func inner(left, right *Digest) Digest { return blake.Derive(innerContext, left[:], right[:]) }

// root returns the root that the receipt's path leads to. The decoder has checked the length of
// the path.
func (m *Receipt) root() Digest {
	at := m.leaf()
	path := m.Path
	climb(m.Index, m.Count, func(onTheRight bool) {
		sibling := path[0]
		path = path[1:]
		if onTheRight {
			at = inner(&sibling, &at)
		} else {
			at = inner(&at, &sibling)
		}
	})
	return at
}

// climb walks from a leaf of a tree with count leaves to the root and calls join at each
// sibling. onTheRight reports whether the walk comes from the right.
func climb(index, count uint32, join func(onTheRight bool)) {
	for last := count - 1; last > 0; index, last = index/2, last/2 {
		if index%2 == 1 || index < last { // otherwise there is no sibling on this level
			join(index%2 == 1)
		}
	}
}

// pathLength is the number of siblings on the path from a leaf to the root.
func pathLength(index, count uint32) (n int) {
	climb(index, count, func(bool) { n++ })
	return n
}

// tree sets each receipt's index, count and path and returns the root.
func tree(receipts []*Receipt) Digest {
	level, hashes := make([]Digest, len(receipts)), 0
	for i, m := range receipts {
		m.Index, m.Count = uint32(i), uint32(len(receipts))
		hashes += pathLength(m.Index, m.Count)
		level[i] = m.leaf()
	}
	all := make([]Digest, hashes) // memory for all paths
	for _, m := range receipts {
		n := pathLength(m.Index, m.Count)
		m.Path = all[:0:n]
		all = all[n:]
	}
	for height := 0; len(level) > 1; height++ {
		for i, m := range receipts {
			if sibling := i>>height ^ 1; sibling < len(level) {
				m.Path = append(m.Path, level[sibling])
			}
		}
		for i := 0; i < len(level); i += 2 {
			if i+1 < len(level) {
				level[i/2] = inner(&level[i], &level[i+1])
			} else {
				level[i/2] = level[i]
			}
		}
		level = level[:(len(level)+1)/2]
	}
	return level[0]
}

// SignReceipts encodes a node's receipts for one attempt, at least 1 and at most MaxMembers, as
// one group with one signature. It sets their indices, counts and paths.
func (s BoundPlan) SignReceipts(key Signer, from uint32, receipts []*Receipt) ([][]byte, error) {
	if len(receipts) == 0 || len(receipts) > MaxMembers {
		return nil, fmt.Errorf("sign receipts: %w: %d of them", ErrMalformed, len(receipts))
	}
	first := receipts[0]
	for _, m := range receipts {
		if m.Round != first.Round || m.Attempt != first.Attempt {
			return nil, fmt.Errorf("sign receipts: %w: for round %d attempt %d and round %d attempt %d",
				ErrMismatch, first.Round, first.Attempt, m.Round, m.Attempt)
		}
	}
	tree(receipts)
	size := 0
	for _, m := range receipts {
		size += envelopeSize + m.size()
	}
	out := make([][]byte, len(receipts))
	w := &wire{b: make([]byte, 0, size)} // all receipts, end to end
	var sig identity.Signature
	for i, m := range receipts {
		start := len(w.b)
		e := Envelope{Kind: KindReceipt, Plan: s.ID, From: from}
		w.head(&e, m.size())
		if m.fields(w); w.err != nil {
			return nil, fmt.Errorf("sign receipts: %w", w.err)
		}
		if i == 0 {
			e.Body = w.b[len(w.b)-m.size():]
			var err error
			if sig, err = s.signature(key, &e); err != nil {
				return nil, fmt.Errorf("sign receipts: %w", err)
			}
		}
		w.b = append(w.b, sig[:]...)
		out[i] = w.b[start:len(w.b):len(w.b)]
	}
	return out, nil
}
