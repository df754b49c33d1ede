package identity

import "filippo.io/edwards25519"

// Keys remembers public keys in the form in which signatures are verified, so that
// each is decoded and checked once: a quarter of what a signature costs in a large
// batch. Keys are few: who keeps one verifies signatures of a roster's members only,
// else it grows with what strangers send. About 250 bytes a key. The zero value is
// empty and ready; one goroutine uses it at a time.
type Keys struct {
	points map[PublicKey]*edwards25519.Point
}

// point decodes and checks a public key, once. A nil Keys remembers nothing.
func (k *Keys) point(pub PublicKey) (*edwards25519.Point, error) {
	if k == nil {
		return pub.point()
	}
	if p, ok := k.points[pub]; ok {
		return p, nil
	}
	p, err := pub.point()
	if err != nil {
		return nil, err // not remembered
	}
	if k.points == nil {
		k.points = map[PublicKey]*edwards25519.Point{}
	}
	k.points[pub] = p
	return p, nil
}

// Verify is the function of that name, with keys that are decoded already.
func (k *Keys) Verify(pub PublicKey, msg []byte, sig Signature) bool {
	var c claim
	return newDecoder(k).decode(&c, pub, msg, sig) && c.holds()
}

// Len returns how many keys it remembers.
func (k *Keys) Len() int { return len(k.points) }
