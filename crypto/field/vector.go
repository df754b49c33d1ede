package field

// Vector is a vector of canonical elements. It may be secret (a share, a keystream, a
// contribution) or public (a revealed sum). This package never formats its elements.
type Vector []Element

// Add sets v to v + w, coordinate by coordinate, in constant time. v and w may be
// the same vector but must not overlap otherwise. It panics if the lengths differ.
func (v Vector) Add(w Vector) {
	if len(v) != len(w) {
		panic("field: Add of vectors of different length")
	}
	for i := addElements(v, w); i < len(v); i++ {
		v[i] = Add(v[i], w[i])
	}
}

// Sub sets v to v - w, coordinate by coordinate, in constant time. v and w may be
// the same vector but must not overlap otherwise. It panics if the lengths differ.
func (v Vector) Sub(w Vector) {
	if len(v) != len(w) {
		panic("field: Sub of vectors of different length")
	}
	for i := subElements(v, w); i < len(v); i++ {
		v[i] = Sub(v[i], w[i])
	}
}

// Neg sets v to -v, coordinate by coordinate, in constant time.
func (v Vector) Neg() {
	for i, a := range v {
		v[i] = Neg(a)
	}
}

// SetSigned sets v to the signed representation of x and returns len(x). It stops at the
// first integer whose magnitude exceeds [MaxSigned] and returns its index; the elements from
// that index on are unchanged. It panics if the lengths differ. If all integers are in range,
// its time does not depend on them.
func (v Vector) SetSigned(x []int64) int {
	if len(v) != len(x) {
		panic("field: SetSigned of vectors of different length")
	}
	for i := setSignedBlocks(v, x); i < len(x); i++ {
		n := uint64(x[i])
		if n+uint64(MaxSigned) > 2*uint64(MaxSigned) { // one comparison for both bounds
			return i
		}
		v[i] = Element(n + Modulus&-(n>>63))
	}
	return len(x)
}

// Equal reports whether v and w have the same length and the same elements. For equal
// lengths its time does not depend on the elements.
func (v Vector) Equal(w Vector) bool {
	if len(v) != len(w) {
		return false
	}
	var difference Element
	for i, b := range w {
		difference |= v[i] ^ b
	}
	return difference == 0
}
