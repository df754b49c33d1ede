package lanes

import (
	"encoding/binary"

	"filippo.io/edwards25519/field"
)

// Width is the number of elements side by side.
const Width = 8

// Words is how many words an element has.
const Words = 5

// Elements are eight elements, Words words of each: the package comment says how. The
// zero value is eight times 0.
type Elements [Words][Width]uint64

// Packed is one element in the same form.
type Packed [Words]uint64

const (
	low51 = 1<<51 - 1
	low26 = 1<<26 - 1
	low32 = 1<<32 - 1
)

// Pack reads 255 bits, little endian; the top bit is ignored. What it returns is tight.
func Pack(b *[32]byte) Packed {
	w0, w1 := binary.LittleEndian.Uint64(b[0:]), binary.LittleEndian.Uint64(b[8:])
	w2, w3 := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	limbs := [Words]uint64{
		w0 & low51,
		(w0>>51 | w1<<13) & low51,
		(w1>>38 | w2<<26) & low51,
		(w2>>25 | w3<<39) & low51,
		w3 >> 12 & low51,
	}
	var p Packed
	for i, l := range limbs {
		p[i] = l&low26 | l>>26<<32
	}
	return p
}

// PackElement packs an element of the field.
func PackElement(e *field.Element) Packed { return Pack((*[32]byte)(e.Bytes())) }

// Broadcast sets all lanes to p.
func (e *Elements) Broadcast(p *Packed) {
	for i := range e {
		for l := range e[i] {
			e[i][l] = p[i]
		}
	}
}

// SetLane sets one lane to p.
func (e *Elements) SetLane(l int, p *Packed) {
	for i := range e {
		e[i][l] = p[i]
	}
}

// Lane returns the element in one lane, whose limbs may be as long as words allow.
func (e *Elements) Lane(l int) field.Element {
	p := e.Packed(l)
	return p.Element()
}

// Packed returns the element in one lane as it stands there.
func (e *Elements) Packed(l int) Packed {
	return Packed{e[0][l], e[1][l], e[2][l], e[3][l], e[4][l]}
}

// Digits are an element's canonical digits to the base 2^51, lowest first: those of the
// integer in [0, p). They can be compared.
type Digits [Words]uint64

// Odd reports whether the integer is odd: RFC 8032 calls the element negative then.
func (d *Digits) Odd() bool { return d[0]&1 == 1 }

// Digits returns the digits of p, whose limbs may be as long as words allow.
func (p *Packed) Digits() (d Digits) {
	// A word is at most 2^32·(1 + 2^26) < 2^59 to begin with, so that a carry is below 2^8.
	for i, w := range p {
		d[i] = w&low32 + w>>32<<26
	}
	// After the first round only d[0] may have 52 bits. If the second carries out of d[4],
	// it has run through all digits, each of which is 0 then, and d[0] is short.
	d.carry()
	d.carry()
	// Below 2^255 now. It is p or more exactly if adding 19 reaches 2^255, and what lies
	// below 2^255 is the canonical integer then.
	with := d
	with[0] += 19
	for i := range 4 {
		with[i+1] += with[i] >> 51
		with[i] &= low51
	}
	if with[4]>>51 == 1 {
		with[4] &= low51
		return with
	}
	return d
}

// carry carries from each digit to the next, and from the last to the first.
func (d *Digits) carry() {
	for i := range 4 {
		d[i+1] += d[i] >> 51
		d[i] &= low51
	}
	d[0] += 19 * (d[4] >> 51)
	d[4] &= low51
}

// Digits returns the digits of the element in one lane.
func (e *Elements) Digits(l int) Digits {
	p := e.Packed(l)
	return p.Digits()
}

// Element returns what p stands for, whose limbs may be as long as words allow.
func (p *Packed) Element() (v field.Element) {
	d := p.Digits()
	var b [32]byte
	binary.LittleEndian.PutUint64(b[0:], d[0]|d[1]<<51)
	binary.LittleEndian.PutUint64(b[8:], d[1]>>13|d[2]<<38)
	binary.LittleEndian.PutUint64(b[16:], d[2]>>26|d[3]<<25)
	binary.LittleEndian.PutUint64(b[24:], d[3]>>39|d[4]<<12)
	// SetBytes fails only for a length other than 32.
	_, _ = v.SetBytes(b[:])
	return v
}
