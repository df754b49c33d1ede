package protocol

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/crypto/cryptobyte"
)

// ErrMalformed is wrapped by every refusal of bytes that no Marshal emits.
var ErrMalformed = errors.New("malformed message")

// maxBlob is the largest bound on a length-prefixed byte string (16 MiB). Every
// field states a bound of its own; a length beyond what the input still holds is
// refused before anything is allocated.
const maxBlob = 1 << 24

// wire writes or reads a message's fields. Exactly one of b and s is set;
// each method therefore states one field for both directions. Writing changes
// nothing in the message, so that many goroutines may encode one plan.
type wire struct {
	b   *cryptobyte.Builder
	s   *cryptobyte.String
	err error
}

func (w *wire) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

func (w *wire) reading() bool { return w.s != nil }

func (w *wire) u8(name string, v *uint8) {
	if !w.reading() {
		w.b.AddUint8(*v)
	} else if w.err == nil && !w.s.ReadUint8(v) {
		w.fail("%s is cut short", name)
	}
}

func (w *wire) u16(name string, v *uint16) {
	if !w.reading() {
		w.b.AddUint16(*v)
	} else if w.err == nil && !w.s.ReadUint16(v) {
		w.fail("%s is cut short", name)
	}
}

func (w *wire) u32(name string, v *uint32) {
	if !w.reading() {
		w.b.AddUint32(*v)
	} else if w.err == nil && !w.s.ReadUint32(v) {
		w.fail("%s is cut short", name)
	}
}

// number is a u32 about a field; the name of both is put together only to refuse.
func (w *wire) number(name, about string, v *uint32) {
	if !w.reading() {
		w.b.AddUint32(*v)
	} else if w.err == nil && !w.s.ReadUint32(v) {
		w.fail("%s %s is cut short", name, about)
	}
}

func (w *wire) u64(name string, v *uint64) {
	if !w.reading() {
		w.b.AddUint64(*v)
	} else if w.err == nil && !w.s.ReadUint64(v) {
		w.fail("%s is cut short", name)
	}
}

// i64 is two's complement, as in the plan's times.
func (w *wire) i64(name string, v *int64) {
	u := uint64(*v)
	w.u64(name, &u)
	if w.reading() {
		*v = int64(u)
	}
}

// flag is one byte, 0 or 1 and nothing else.
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

// fixed copies exactly len(v) bytes.
func (w *wire) fixed(name string, v []byte) {
	if !w.reading() {
		w.b.AddBytes(v)
	} else if w.err == nil && !w.s.CopyBytes(v) {
		w.fail("%s is cut short", name)
	}
}

// blob is a byte string behind a 32-bit length of at most max bytes.
func (w *wire) blob(name string, v *[]byte, max int) {
	if len(*v) > max { // before the length is cut to 32 bits
		w.fail("%s has %d bytes, more than %d", name, len(*v), max)
		return
	}
	n := uint32(len(*v))
	w.number(name, "length", &n)
	if uint64(n) > uint64(max) {
		w.fail("%s has %d bytes, more than %d", name, n, max)
		return
	}
	if !w.reading() {
		w.b.AddBytes(*v)
		return
	}
	var out []byte
	if w.err == nil && !w.s.ReadBytes(&out, int(n)) {
		w.fail("%s is cut short", name)
	}
	if w.err == nil {
		*v = append([]byte(nil), out...)
	}
}

// view is a blob that isn't copied when it is read: it stays a part of the input.
func (w *wire) view(name string, v *[]byte, max int) {
	if !w.reading() {
		w.blob(name, v, max)
		return
	}
	var n uint32
	w.number(name, "length", &n)
	if uint64(n) > uint64(max) {
		w.fail("%s has %d bytes, more than %d", name, n, max)
	}
	if w.err == nil && !w.s.ReadBytes(v, int(n)) {
		w.fail("%s is cut short", name)
	}
}

// text is a blob of printable ASCII, so that it can stand in a log line.
func (w *wire) text(name string, v *string, max int) {
	b := []byte(*v)
	w.blob(name, &b, max)
	for _, c := range b {
		if c < ' ' || c > '~' {
			w.fail("%s holds the byte %#x, which isn't printable ASCII", name, c)
			return
		}
	}
	if w.reading() {
		*v = string(b)
	}
}

// count is the length of a list; each element takes at least size bytes, so a
// count that the remaining input can't hold is refused before allocating. That
// also keeps it within an int where ints have 32 bits.
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
	if w.reading() && uint64(c)*uint64(size) > uint64(len(*w.s)) {
		w.fail("%s claims %d entries, more than the message holds", name, c)
		return 0
	}
	return int(c)
}

// fielder is a message: it states its fields once, for both directions.
type fielder interface{ fields(w *wire) }

func marshal(m fielder) ([]byte, error) { return marshalSized(m, 512) } // most messages fit

// marshalSized is marshal for a message of about so many bytes.
func marshalSized(m fielder, size int) ([]byte, error) {
	w := &wire{b: cryptobyte.NewBuilder(make([]byte, 0, size))}
	m.fields(w)
	if w.err != nil {
		return nil, w.err
	}
	return w.b.Bytes()
}

func unmarshal(name string, b []byte, m fielder) error {
	s := cryptobyte.String(b)
	w := &wire{s: &s}
	m.fields(w)
	if w.err != nil {
		return fmt.Errorf("%s: %w", name, w.err)
	}
	if !s.Empty() {
		return fmt.Errorf("%s: %w: %d bytes too many", name, ErrMalformed, len(s))
	}
	return nil
}
