package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrMalformed is wrapped by every error about bytes that no Marshal returns.
var ErrMalformed = errors.New("malformed message")

// maxBlob is the largest bound on the length of a byte string, 16 MiB. Every field has its own
// bound. A length beyond the rest of the input is rejected before anything is allocated.
const maxBlob = 1 << 24

// wire encodes or decodes a message's fields; each method states one field for both
// directions. Encoding does not change the message, so goroutines may encode one plan
// concurrently. Integers are big endian.
type wire struct {
	b    []byte // the encoding so far, or the rest of the input
	in   bool   // decoding
	view bool   // decoded byte strings are parts of the input
	err  error
	// depth is the number of plans around the one that is decoded.
	depth int
}

func (w *wire) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

func (w *wire) reading() bool { return w.in }

// take returns the next n bytes of the input, nil after an error.
func (w *wire) take(name string, n int) []byte {
	if w.err != nil {
		return nil
	}
	if n > len(w.b) {
		w.fail("%s is cut short", name)
		return nil
	}
	b := w.b[:n:n]
	w.b = w.b[n:]
	return b
}

func (w *wire) u8(name string, v *uint8) {
	if !w.in {
		w.b = append(w.b, *v)
	} else if b := w.take(name, 1); b != nil {
		*v = b[0]
	}
}

func (w *wire) u16(name string, v *uint16) {
	if !w.in {
		w.b = binary.BigEndian.AppendUint16(w.b, *v)
	} else if b := w.take(name, 2); b != nil {
		*v = binary.BigEndian.Uint16(b)
	}
}

func (w *wire) u32(name string, v *uint32) {
	if !w.in {
		w.b = binary.BigEndian.AppendUint32(w.b, *v)
	} else if b := w.take(name, 4); b != nil {
		*v = binary.BigEndian.Uint32(b)
	}
}

// number is a u32 such as a field's length. It builds the name of both only for an error.
func (w *wire) number(name, about string, v *uint32) {
	if w.in && w.err == nil && len(w.b) < 4 {
		w.fail("%s %s is cut short", name, about)
		return
	}
	w.u32(name, v)
}

func (w *wire) u64(name string, v *uint64) {
	if !w.in {
		w.b = binary.BigEndian.AppendUint64(w.b, *v)
	} else if b := w.take(name, 8); b != nil {
		*v = binary.BigEndian.Uint64(b)
	}
}

// i64 is in two's complement.
func (w *wire) i64(name string, v *int64) {
	u := uint64(*v)
	w.u64(name, &u)
	if w.reading() {
		*v = int64(u)
	}
}

// flag is one byte, 0 or 1.
func (w *wire) flag(name string, v *bool) {
	var u uint8
	if *v {
		u = 1
	}
	w.u8(name, &u)
	if u > 1 {
		w.fail("%s is %d, not 0 or 1", name, u)
	}
	if w.reading() {
		*v = u == 1
	}
}

// fixed is exactly len(v) bytes.
func (w *wire) fixed(name string, v []byte) {
	if !w.in {
		w.b = append(w.b, v...)
		return
	}
	copy(v, w.take(name, len(v)))
}

// blob is a byte string of at most max bytes after its length as u32.
func (w *wire) blob(name string, v *[]byte, max int) {
	if !w.in && len(*v) > max { // before the length is truncated to 32 bits
		w.fail("%s has %d bytes, more than %d", name, len(*v), max)
		return
	}
	n := uint32(len(*v))
	w.number(name, "length", &n)
	if uint64(n) > uint64(max) {
		w.fail("%s has %d bytes, more than %d", name, n, max)
		return
	}
	if !w.in {
		w.b = append(w.b, *v...)
		return
	}
	out := w.take(name, int(n))
	switch {
	case w.err != nil:
	case w.view:
		*v = out
	default:
		*v = append([]byte(nil), out...)
	}
}

// within is a blob that is the encoding of a message. Nothing is copied on the way, so that a message
// within a message within a message costs no more than its size.
func (w *wire) within(name string, m fielder, max int) {
	if w.in {
		var body []byte
		outer := w.view
		w.view = true
		w.blob(name, &body, max)
		if w.view = outer; w.err == nil {
			w.err = (&wire{b: body, in: true, depth: w.depth}).read(name, m)
		}
		return
	}
	at := len(w.b)
	w.b = append(w.b, 0, 0, 0, 0)
	m.fields(w)
	n := len(w.b) - at - 4
	if n > max {
		w.fail("%s has %d bytes, more than %d", name, n, max)
		return
	}
	binary.BigEndian.PutUint32(w.b[at:], uint32(n))
}

// text is a blob of printable ASCII, safe in a log line.
func (w *wire) text(name string, v *string, max int) {
	b := []byte(*v)
	w.blob(name, &b, max)
	for _, c := range b {
		if c < ' ' || c > '~' {
			w.fail("%s holds the byte %#x, which is not printable ASCII", name, c)
			return
		}
	}
	if w.reading() {
		*v = string(b)
	}
}

// count is the length of a list. Each element takes at least size bytes, so a count beyond the
// rest of the input is rejected before anything is allocated. The bound also keeps the count
// within a 32-bit int.
func (w *wire) count(name string, n int, size int) int {
	if uint64(n) > math.MaxUint32 {
		w.fail("%s has %d entries", name, n)
		return 0
	}
	c := uint32(n)
	w.number(name, "count", &c)
	if w.err != nil {
		return 0
	}
	if w.reading() && uint64(c)*uint64(size) > uint64(len(w.b)) {
		w.fail("%s claims %d entries, more than the message holds", name, c)
		return 0
	}
	return int(c)
}

// fielder is a message. fields states its fields once, for both directions.
type fielder interface{ fields(w *wire) }

func marshal(m fielder) ([]byte, error) { return marshalSized(m, 512) } // most messages fit

// marshalSized is marshal for a message of about size bytes.
func marshalSized(m fielder, size int) ([]byte, error) { return marshalTo(make([]byte, 0, size), m) }

// marshalTo appends a message to b.
func marshalTo(b []byte, m fielder) ([]byte, error) {
	w := &wire{b: b}
	m.fields(w)
	if w.err != nil {
		return nil, w.err
	}
	return w.b, nil
}

func unmarshal(name string, b []byte, m fielder) error { return (&wire{b: b, in: true}).read(name, m) }

// view is unmarshal that does not copy byte strings: they are parts of b.
func view(name string, b []byte, m fielder) error {
	return (&wire{b: b, in: true, view: true}).read(name, m)
}

// read decodes a message and rejects trailing bytes.
func (w *wire) read(name string, m fielder) error {
	m.fields(w)
	switch {
	case w.err != nil:
		return fmt.Errorf("%s: %w", name, w.err)
	case len(w.b) > 0:
		return fmt.Errorf("%s: %w: %d bytes too many", name, ErrMalformed, len(w.b))
	}
	return nil
}
