package protocol

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"choir/crypto/blake"
	"choir/crypto/identity"
)

func receiptsFor(n int) []*Receipt {
	all := make([]*Receipt, n)
	for i := range all {
		all[i] = &Receipt{Round: 3, Attempt: 2, Party: uint32(i), Bundle: Digest{byte(i), byte(i >> 8), 7}}
	}
	return all
}

// mth is the Merkle Tree Hash by the definition of RFC 9162, with this protocol's hashes, over
// the receipts' contents. It is an independent computation of the root.
func mth(leaves [][]byte) []byte {
	if len(leaves) == 1 {
		h := blake.Derive(leafContext, leaves[0])
		return h[:]
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	h := blake.Derive(innerContext, slices.Concat(mth(leaves[:k]), mth(leaves[k:])))
	return h[:]
}

// inclusion is PATH by the definition of RFC 9162.
func inclusion(m int, leaves [][]byte) [][]byte {
	if len(leaves) == 1 {
		return nil
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	if m < k {
		return append(inclusion(m, leaves[:k]), mth(leaves[k:]))
	}
	return append(inclusion(m-k, leaves[k:]), mth(leaves[:k]))
}

func TestReceiptTreeHasTheShapeOfRFC9162(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 33, 100} {
		all := receiptsFor(n)
		got := tree(all)
		var leaves [][]byte
		for _, m := range all {
			leaves = append(leaves, body(t, m)[:12+32])
		}
		if !bytes.Equal(got[:], mth(leaves)) {
			t.Fatalf("%d receipts: wrong root", n)
		}
		for i, m := range all {
			want := inclusion(i, leaves)
			if len(want) != len(m.Path) || len(want) != pathLength(uint32(i), uint32(n)) || m.Index != uint32(i) ||
				m.Count != uint32(n) {
				t.Fatalf("receipt %d of %d: %d hashes, not %d", i, n, len(m.Path), len(want))
			}
			for j := range want {
				if !bytes.Equal(want[j], m.Path[j][:]) {
					t.Fatalf("receipt %d of %d: hash %d is wrong", i, n, j)
				}
			}
			if m.root() != got {
				t.Fatalf("receipt %d of %d leads to a wrong root", i, n)
			}
		}
	}
}

func TestReceiptPathsAreShort(t *testing.T) {
	for _, n := range []uint32{1, 2, 1000, MaxMembers - 1, MaxMembers} {
		for _, i := range []uint32{0, n / 3, n / 2, n - 1} {
			if got := pathLength(i, n); got > 17 {
				t.Errorf("receipt %d of %d needs %d hashes", i, n, got)
			}
		}
	}
}

// counting is a signer that counts its signatures.
type counting struct {
	*identity.PrivateKey
	n int
}

func (c *counting) Sign(msg []byte) identity.Signature { c.n++; return c.PrivateKey.Sign(msg) }

func TestOneSignatureForAllReceipts(t *testing.T) {
	s := testSession(t)
	for _, n := range []int{1, 2, 5, 200} {
		key := &counting{PrivateKey: testKey(3)}
		signed, err := s.SignReceipts(key, 3, receiptsFor(n))
		if err != nil || len(signed) != n || key.n != 1 {
			t.Fatalf("%d receipts: %d messages under %d signatures, %v", n, len(signed), key.n, err)
		}
		for i, b := range signed {
			e, m, err := s.Receive(b)
			if err != nil || e.From != 3 || m.(*Receipt).leaf() != receiptsFor(n)[i].leaf() {
				t.Fatalf("receipt %d of %d: %v", i, n, err)
			}
			if cap(b) != len(b) { // the messages share memory
				t.Fatalf("receipt %d of %d can be appended to, over the next one", i, n)
			}
		}
	}
	alone, err := s.Sign(testKey(3), 3, &Receipt{Round: 3, Attempt: 2, Bundle: Digest{0, 0, 7}, Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	one, err := s.SignReceipts(testKey(3), 3, receiptsFor(1))
	if err != nil || !bytes.Equal(alone, one[0]) {
		t.Errorf("a single receipt is not a tree of one: %v", err)
	}
}

func TestSignReceiptsRejects(t *testing.T) {
	s := testSession(t)
	if _, err := s.SignReceipts(testKey(3), 3, nil); err == nil {
		t.Error("no receipts were signed")
	}
	mixed := receiptsFor(3)
	mixed[2].Attempt++
	if _, err := s.SignReceipts(testKey(3), 3, mixed); err == nil {
		t.Error("receipts of two attempts were signed together")
	}
}

// TestAlteredReceipts: a receipt with any change, or with a part of another one, has an invalid
// signature. One row changes nothing, so that the test can fail.
func TestAlteredReceipts(t *testing.T) {
	s := testSession(t)
	all := receiptsFor(6)
	signed, err := s.SignReceipts(testKey(3), 3, all)
	if err != nil {
		t.Fatal(err)
	}
	others := receiptsFor(6)
	for _, m := range others {
		m.Round++
	}
	if _, err := s.SignReceipts(testKey(3), 3, others); err != nil {
		t.Fatal(err)
	}
	hash := func(level, i int) Digest { // in the tree of six
		switch level {
		case 0:
			return all[i].leaf()
		default:
			l, r := all[2*i].leaf(), all[2*i+1].leaf()
			return inner(&l, &r)
		}
	}
	good := func() Receipt {
		m := *all[2]
		m.Path = slices.Clone(m.Path)
		return m
	}
	for name, alter := range map[string]func(m *Receipt){
		"round":                   func(m *Receipt) { m.Round++ },
		"attempt":                 func(m *Receipt) { m.Attempt++ },
		"party":                   func(m *Receipt) { m.Party++ },
		"bundle":                  func(m *Receipt) { m.Bundle[31] ^= 1 },
		"place":                   func(m *Receipt) { m.Index ^= 1 },
		"number of receipts":      func(m *Receipt) { m.Count = 7 },
		"first hash":              func(m *Receipt) { m.Path[0][0] ^= 1 },
		"last hash":               func(m *Receipt) { m.Path[len(m.Path)-1][31] ^= 1 },
		"hashes in another order": func(m *Receipt) { slices.Reverse(m.Path) },
		"another receipt's path":  func(m *Receipt) { m.Path = slices.Clone(all[0].Path) },
		"another receipt's way":   func(m *Receipt) { m.Index, m.Path = all[3].Index, slices.Clone(all[3].Path) },
		"a shorter tree": func(m *Receipt) {
			m.Index, m.Count = 1, 3
			m.Path = []Digest{hash(1, 0), hash(1, 2)}
		},
		"alone":                   func(m *Receipt) { m.Index = 0; m.Count = 1; m.Path = nil },
		"a root of another round": func(m *Receipt) { *m = *others[2]; m.Round-- },
		"an inner hash as leaf's": func(m *Receipt) { m.Path[0] = hash(1, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			m := good()
			alter(&m)
			e, err := UnmarshalEnvelope(signed[2])
			if err != nil {
				t.Fatal(err)
			}
			e.Body = body(t, &m)
			b, err := e.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Receive(b); !errors.Is(err, ErrSignature) {
				t.Error(err)
			}
		})
	}
	if m := good(); !bytes.Equal(mustBody(t, s, signed[2]), body(t, &m)) {
		t.Error("the altered receipt is not the signed one")
	}
}

func mustBody(t *testing.T, s BoundPlan, data []byte) []byte {
	t.Helper()
	e, _, err := s.Receive(data)
	if err != nil {
		t.Fatal(err)
	}
	return e.Body
}

// TestInnerNodeIsNoReceipt: an adversary may choose the hashes that an inner node is made of. No
// receipt has that node as its leaf, since leaves are hashed in another context and their input
// has another length.
func TestInnerNodeIsNoReceipt(t *testing.T) {
	all := receiptsFor(2)
	l, r := all[0].leaf(), all[1].leaf()
	node := inner(&l, &r)
	leaf := body(t, &Receipt{Round: 3, Attempt: 2, Bundle: Digest{0, 0, 7}, Count: 1})[:44]
	if l != blake.Derive(leafContext, leaf) {
		t.Fatal("a leaf is not the hash of the input that the test assumes")
	}
	if node == blake.Derive(leafContext, l[:], r[:]) || l == blake.Derive(innerContext, leaf) {
		t.Error("leaves and inner nodes are hashed alike")
	}
}

// TestReceiptsInABatch: receipts with one signature verify together, and one with a wrong path is
// rejected.
func TestReceiptsInABatch(t *testing.T) {
	s := testSession(t)
	signed, err := s.SignReceipts(testKey(3), 3, receiptsFor(40))
	if err != nil {
		t.Fatal(err)
	}
	signed[11][len(signed[11])-64-1] ^= 1 // the last byte of its path
	b := NewBatch(s, deterministic(1))
	b.Prepare(signed)
	s.Verifier = b
	for i, data := range signed {
		if _, _, err := s.Receive(data); errors.Is(err, ErrSignature) != (i == 11) {
			t.Errorf("receipt %d: %v", i, err)
		}
	}
}
