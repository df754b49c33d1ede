package identity

import (
	"sync"
	"weak"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm"
)

// Keys remembers public keys in the form in which signatures are verified, so that
// each is decoded and checked once: half of what a signature costs in a large
// batch. Keys are few: who keeps one verifies signatures of a roster's members only,
// else it grows with what strangers send. About 400 bytes a key, and 165 kB a process for each
// of up to maxTables whose signatures come one by one and again and again, as a session's
// aggregator's and nodes' do ([msm.Table]). The zero value is empty and ready; one goroutine
// uses it at a time.
type Keys struct {
	known  map[PublicKey]*verifier
	tables int
}

// verifier is a public key that has been checked, in the forms in which the equation
// of one signature and that of a batch want it.
type verifier struct {
	point    *edwards25519.Point
	prepared msm.Point
	table    *msm.Table // nil before it has paid
	alone    int        // signatures that were verified alone, without a table
}

// A key gets a table after so many signatures that were verified alone, which took about as
// long, and no more than so many keys do.
const (
	manyAlone = 20
	maxTables = 32
)

// tables are this process's, by key: its members verify the same few keys' signatures, and what
// they need for that is public. A table that nobody has any more goes.
var tables struct {
	mu sync.Mutex
	of map[PublicKey]weak.Pointer[msm.Table]
}

// tableOf is a key's table, made if there is none.
func tableOf(pub PublicKey, p *edwards25519.Point) *msm.Table {
	tables.mu.Lock()
	defer tables.mu.Unlock()
	if t := tables.of[pub].Value(); t != nil {
		return t
	}
	if tables.of == nil {
		tables.of = map[PublicKey]weak.Pointer[msm.Table]{}
	}
	for other, t := range tables.of {
		if t.Value() == nil {
			delete(tables.of, other)
		}
	}
	t := msm.NewTable(p)
	tables.of[pub] = weak.Make(t)
	return t
}

// basePoint is the table of B.
var basePoint = sync.OnceValue(func() *msm.Table { return msm.NewTable(edwards25519.NewGeneratorPoint()) })

// another notes that a signature of a key's is verified alone, and gets the table in time.
func (k *Keys) another(pub PublicKey, v *verifier) {
	if k == nil || v.table != nil || k.tables == maxTables {
		return
	}
	if v.alone++; v.alone > manyAlone {
		v.table = tableOf(pub, v.point)
		k.tables++
	}
}

// verifier decodes and checks a public key, once. A nil Keys remembers nothing.
func (k *Keys) verifier(pub PublicKey) (*verifier, error) {
	if v := k.remembered(pub); v != nil {
		return v, nil
	}
	p, err := pub.point()
	if err != nil {
		return nil, err // not remembered
	}
	v := &verifier{point: p}
	v.prepared.Set(p)
	k.remember(pub, v)
	return v, nil
}

func (k *Keys) remembered(pub PublicKey) *verifier {
	if k == nil {
		return nil
	}
	return k.known[pub]
}

func (k *Keys) remember(pub PublicKey, v *verifier) {
	if k == nil {
		return
	}
	if k.known == nil {
		k.known = map[PublicKey]*verifier{}
	}
	k.known[pub] = v
}

// verifiers is the same for the keys of many items, which are decoded together; nil for
// those that aren't acceptable.
func (k *Keys) verifiers(items []Item) []*verifier {
	all := make([]*verifier, len(items))
	var encodings [][32]byte
	var index []int
	for i := range items {
		pub := items[i].Key
		if all[i] = k.remembered(pub); all[i] == nil && isCanonical(pub) {
			encodings, index = append(encodings, pub), append(index, i)
		}
	}
	points := make([]msm.Point, len(encodings))
	for j, ok := range msm.Decode(points, encodings) {
		if !ok {
			continue
		}
		p, err := points[j].Edwards()
		if err != nil || isSmallOrder(p) {
			continue
		}
		v := &verifier{point: p, prepared: points[j]}
		all[index[j]] = v
		k.remember(encodings[j], v)
	}
	return all
}

// Verify is the function of that name, with keys that are decoded already.
func (k *Keys) Verify(pub PublicKey, msg []byte, sig Signature) bool {
	v, err := k.verifier(pub)
	if err != nil {
		return false
	}
	k.another(pub, v)
	var c claim
	return newReader().read(&c, v, pub, msg, sig) && c.verify()
}

// Len returns how many keys it remembers.
func (k *Keys) Len() int { return len(k.known) }
