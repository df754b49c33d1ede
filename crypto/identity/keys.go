package identity

import (
	"sync"
	"weak"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm"
)

// Keys caches public keys in the form in which signatures are verified, so that each key is
// decoded and checked once. That saves half of the cost of a signature in a large batch.
//
// A Keys never forgets a key: use one only for the members of a roster, or it grows with what
// strangers send. It takes about 400 bytes a key. In addition a process keeps a [msm.Table] of
// 165 kB for each of up to maxTables keys whose signatures are verified one by one many times, as
// those of the aggregator and the nodes of a session are. The zero value is empty and ready to
// use. A Keys must not be used by several goroutines at the same time.
type Keys struct {
	known  map[PublicKey]*verifier
	tables int
}

// verifier is a public key that has been checked, in the forms that the equation of a single
// signature and that of a batch use.
type verifier struct {
	point    *edwards25519.Point
	prepared msm.Point
	table    *msm.Table // nil until the key has signed often enough
	alone    int        // signatures verified one by one without a table
}

// A key gets a table after manyAlone signatures that were verified one by one, which cost about as
// much as the table. At most maxTables keys get one.
const (
	manyAlone = 20
	maxTables = 32
)

// tables holds the tables of this process by key. All members in a process verify the signatures
// of the same few keys, and tables are public. Unused tables are garbage collected.
var tables struct {
	mu sync.Mutex
	of map[PublicKey]weak.Pointer[msm.Table]
}

// tableOf returns the table of a key, and computes it if there is none.
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

// basePoint returns the table of B.
var basePoint = sync.OnceValue(func() *msm.Table { return msm.NewTable(edwards25519.NewGeneratorPoint()) })

// another counts a signature that is verified on its own and gets the table of its key when due.
func (k *Keys) another(pub PublicKey, v *verifier) {
	if k == nil || v.table != nil || k.tables == maxTables {
		return
	}
	if v.alone++; v.alone > manyAlone {
		v.table = tableOf(pub, v.point)
		k.tables++
	}
}

// verifier returns a public key decoded and checked. A nil Keys caches nothing.
func (k *Keys) verifier(pub PublicKey) (*verifier, error) {
	if k != nil && k.known[pub] != nil {
		return k.known[pub], nil
	}
	p, err := pub.point()
	if err != nil {
		return nil, err // not cached
	}
	v := &verifier{point: p}
	v.prepared.Set(p)
	if k != nil {
		if k.known == nil {
			k.known = map[PublicKey]*verifier{}
		}
		k.known[pub] = v
	}
	return v, nil
}

// Verify is the function Verify with public keys that are decoded once.
func (k *Keys) Verify(pub PublicKey, msg []byte, sig Signature) bool {
	v, err := k.verifier(pub)
	if err != nil {
		return false
	}
	k.another(pub, v)
	var c claim
	return newReader().read(&c, v, pub, msg, sig) && c.holds()
}

// Len returns the number of keys in the cache.
func (k *Keys) Len() int { return len(k.known) }
