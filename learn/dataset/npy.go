package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

const (
	npyMagic     = "\x93NUMPY"
	maxNPYHeader = 1 << 16
	// maxExact is the largest magnitude up to which every integer is a float64.
	maxExact = 1 << 53
)

// loadNPY reads a NumPy array file (format 1.0, 2.0 or 3.0): two dimensions, C order,
// little-endian f8, f4, i8 or i4, or u1, finite values, 8-byte integers at most 2^53 in
// magnitude. Anything else is rejected, including trailing bytes.
func loadNPY(r io.Reader) (*Matrix, error) {
	h, err := readNPYHeader(r)
	switch {
	case err != nil:
	case len(h.shape) != 2:
		err = errors.New("header: want two dimensions: save x.reshape(parties, -1)")
	case h.count() == 0:
		err = errors.New("header: the array is empty")
	default:
		m := &Matrix{Rows: h.shape[0], Cols: h.shape[1]}
		if m.Data, err = h.read(r, 0); err == nil {
			return m, nil
		}
	}
	return nil, badDataf("npy: %w", err)
}

// npyHeader is the dictionary at the start of the file.
type npyHeader struct {
	descr string
	shape []int
}

// count returns the number of values.
func (h *npyHeader) count() int {
	n := 1
	for _, d := range h.shape {
		n *= d
	}
	return n
}

func readNPYHeader(r io.Reader) (*npyHeader, error) {
	var pre [8]byte
	if _, err := io.ReadFull(r, pre[:]); err != nil {
		return nil, fmt.Errorf("preamble: %w", err)
	}
	if string(pre[:6]) != npyMagic {
		return nil, errors.New("not a NumPy file")
	}
	major, minor := pre[6], pre[7]
	if major < 1 || major > 3 || minor != 0 {
		return nil, fmt.Errorf("format %d.%d is not 1.0, 2.0 or 3.0", major, minor)
	}
	size := make([]byte, 4)
	field := size[:2]
	if major > 1 {
		field = size
	}
	if _, err := io.ReadFull(r, field); err != nil {
		return nil, fmt.Errorf("header length: %w", err)
	}
	n := binary.LittleEndian.Uint32(size)
	if n > maxNPYHeader {
		return nil, fmt.Errorf("header of %d bytes, at most %d", n, maxNPYHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return parseNPYHeader(text)
}

// parseNPYHeader reads a Python dictionary with exactly the keys descr, fortran_order
// and shape, padded with spaces and ended by a newline.
func parseNPYHeader(text []byte) (*npyHeader, error) {
	body, ok := bytes.CutSuffix(text, []byte("\n"))
	if !ok {
		return nil, errors.New("header does not end with a newline")
	}
	p := &npyParser{rest: string(body)}
	h := &npyHeader{}
	seen := map[string]bool{}
	p.want("{")
	for p.err == nil && !p.try("}") {
		key := p.quoted()
		p.want(":")
		if seen[key] {
			p.fail("key " + strconv.Quote(key) + " appears twice")
		}
		seen[key] = true
		p.value(key, h)
		if !p.try(",") {
			p.want("}")
			break
		}
	}
	if p.err == nil && strings.Trim(p.rest, " ") != "" {
		p.fail("something follows the dictionary")
	}
	if p.err == nil && len(seen) != 3 {
		p.fail("want the keys descr, fortran_order and shape")
	}
	return h, p.err
}

// npyParser is a cursor over the header that remembers its first error.
type npyParser struct {
	rest string
	err  error
}

func (p *npyParser) fail(why string) {
	if p.err == nil {
		p.err = errors.New("header: " + why)
	}
}

func (p *npyParser) try(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	rest, ok := strings.CutPrefix(p.rest, token)
	if p.err != nil || !ok {
		return false
	}
	p.rest = rest
	return true
}

func (p *npyParser) want(token string) {
	if !p.try(token) {
		p.fail("want " + strconv.Quote(token))
	}
}

func (p *npyParser) quoted() string {
	quote := "'"
	if !p.try(quote) {
		quote = `"`
		p.want(quote)
	}
	s, rest, ok := strings.Cut(p.rest, quote)
	if !ok {
		p.fail("unfinished string")
		return ""
	}
	p.rest = rest
	return s
}

func (p *npyParser) integer() int {
	p.rest = strings.TrimLeft(p.rest, " ")
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(p.rest[:n], 10, 32)
	if err != nil {
		p.fail("a dimension is not a number in 0 to 2^31-1")
	}
	p.rest = p.rest[n:]
	return int(v)
}

func (p *npyParser) value(key string, h *npyHeader) {
	switch key {
	case "descr":
		h.descr = p.quoted()
		if _, err := decoderFor(h.descr); err != nil {
			p.fail(err.Error())
		}
	case "fortran_order":
		if p.try("True") {
			p.fail("Fortran order: save numpy.ascontiguousarray(x)")
		}
		p.want("False")
	case "shape":
		p.shape(h)
	default:
		p.fail("unknown key " + strconv.Quote(key))
	}
}

// shape reads a tuple of at most two dimensions: (), (3,) or (3, 4).
func (p *npyParser) shape(h *npyHeader) {
	p.want("(")
	n := 1
	for p.err == nil && !p.try(")") {
		if len(h.shape) == 2 {
			p.fail("more than two dimensions")
			return
		}
		d := p.integer()
		if h.shape = append(h.shape, d); d > 0 && n > maxCells/d {
			p.fail(fmt.Sprintf("more than %d values", maxCells))
			return
		}
		n *= d
		if !p.try(",") && len(h.shape) == 1 {
			p.want(",") // (3) is a number, not a tuple
		}
	}
}

// npyDecoder reads one element; false means that it has no exact finite float64.
type npyDecoder struct {
	size int
	read func([]byte) (float64, bool)
}

func decoderFor(descr string) (npyDecoder, error) {
	le := binary.LittleEndian
	finite := func(v float64) (float64, bool) { return v, !math.IsNaN(v) && !math.IsInf(v, 0) }
	var d npyDecoder
	switch descr {
	case "<f8":
		d.size = 8
		d.read = func(b []byte) (float64, bool) { return finite(math.Float64frombits(le.Uint64(b))) }
	case "<f4":
		d.size = 4
		d.read = func(b []byte) (float64, bool) { return finite(float64(math.Float32frombits(le.Uint32(b)))) }
	case "|u1":
		d.size = 1
		d.read = func(b []byte) (float64, bool) { return float64(b[0]), true }
	case "<i4":
		d.size = 4
		d.read = func(b []byte) (float64, bool) { return float64(int32(le.Uint32(b))), true }
	case "<i8":
		d.size = 8
		d.read = func(b []byte) (float64, bool) {
			v := int64(le.Uint64(b))
			return float64(v), v >= -maxExact && v <= maxExact
		}
	default:
		return d, fmt.Errorf("type %q is not <f8, <f4, <i8, <i4 or |u1", descr)
	}
	return d, nil
}

// read appends chunk by chunk, so that a header with a false size cannot make the reader
// allocate more than the file has, and room.
func (h *npyHeader) read(r io.Reader, room int) ([]float64, error) {
	dec, err := decoderFor(h.descr)
	if err != nil {
		return nil, err
	}
	const chunk = 1 << 13
	buf, data := make([]byte, chunk*dec.size), make([]float64, 0, room)
	for left := h.count(); left > 0; {
		b := buf[:min(left, chunk)*dec.size]
		if n, err := io.ReadFull(r, b); err != nil {
			if err == io.EOF { // before the first byte
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("%s: %w", h.place(len(data)+n/dec.size), err)
		}
		for ; len(b) > 0; b = b[dec.size:] {
			v, ok := dec.read(b)
			if !ok {
				return nil, fmt.Errorf("%s: not a finite number that a float64 represents exactly",
					h.place(len(data)))
			}
			data = append(data, v)
			left--
		}
	}
	switch n, err := io.ReadFull(r, buf[:1]); {
	case n != 0:
		return nil, errors.New("bytes follow the last value")
	case err != io.EOF:
		return nil, fmt.Errorf("after the last value: %w", err)
	}
	return data, nil
}

// place names the i-th value.
func (h *npyHeader) place(i int) string {
	if len(h.shape) != 2 {
		return fmt.Sprintf("value %d", i)
	}
	return fmt.Sprintf("row %d, column %d", i/h.shape[1], i%h.shape[1])
}
