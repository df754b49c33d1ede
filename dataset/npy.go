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

// LoadNPY reads a NumPy array file (format 1.0, 2.0 or 3.0): two dimensions, C order,
// little-endian f8, f4, i8 or i4, finite values, 8-byte integers at most 2^53 in
// magnitude. Anything else is refused, trailing bytes included.
func LoadNPY(r io.Reader) (*Matrix, error) {
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, badDataf("npy: %w", err)
	}
	m := &Matrix{Rows: h.rows, Cols: h.cols}
	if err := h.read(r, m); err != nil {
		return nil, badDataf("npy: %w", err)
	}
	return m, nil
}

// npyHeader is the dictionary at the start of the file.
type npyHeader struct {
	descr      string
	rows, cols int
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
	if err != nil || v < 1 {
		p.fail("a dimension is not a number in 1 to 2^31-1")
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

func (p *npyParser) shape(h *npyHeader) {
	p.want("(")
	h.rows = p.integer()
	if !p.try(",") || p.try(")") {
		p.fail("want two dimensions: save x.reshape(parties, -1)")
		return
	}
	h.cols = p.integer()
	p.try(",")
	if !p.try(")") {
		p.fail("want two dimensions")
	}
	if p.err == nil && h.rows > maxCells/h.cols {
		p.fail(fmt.Sprintf("%d x %d are more than %d values", h.rows, h.cols, maxCells))
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
	switch descr {
	case "<f8":
		return npyDecoder{8, func(b []byte) (float64, bool) { return finite(math.Float64frombits(le.Uint64(b))) }}, nil
	case "<f4":
		return npyDecoder{4, func(b []byte) (float64, bool) { return finite(float64(math.Float32frombits(le.Uint32(b)))) }}, nil
	case "<i4":
		return npyDecoder{4, func(b []byte) (float64, bool) { return float64(int32(le.Uint32(b))), true }}, nil
	case "<i8":
		return npyDecoder{8, func(b []byte) (float64, bool) {
			v := int64(le.Uint64(b))
			return float64(v), v >= -maxExact && v <= maxExact
		}}, nil
	}
	return npyDecoder{}, fmt.Errorf("type %q is not <f8, <f4, <i8 or <i4", descr)
}

// read appends row by row, so that a header that lies about the size cannot make the
// reader allocate more than the file holds.
func (h *npyHeader) read(r io.Reader, m *Matrix) error {
	dec, err := decoderFor(h.descr)
	if err != nil {
		return err
	}
	const chunk = 1 << 13
	buf := make([]byte, chunk*dec.size)
	for left := h.rows * h.cols; left > 0; {
		b := buf[:min(left, chunk)*dec.size]
		if _, err := io.ReadFull(r, b); err != nil {
			return fmt.Errorf("row %d: %w", len(m.Data)/h.cols, io.ErrUnexpectedEOF)
		}
		for ; len(b) > 0; b = b[dec.size:] {
			v, ok := dec.read(b)
			if !ok {
				return fmt.Errorf("row %d, column %d: not a finite number that a float64 holds exactly",
					len(m.Data)/h.cols, len(m.Data)%h.cols)
			}
			m.Data = append(m.Data, v)
			left--
		}
	}
	if n, _ := io.ReadFull(r, buf[:1]); n != 0 {
		return errors.New("bytes follow the last row")
	}
	return nil
}

// WriteNPY writes the matrix as <f8 in format 1.0, as numpy.save does.
func (m *Matrix) WriteNPY(w io.Writer) error {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", m.Rows, m.Cols)
	pad := 64 - (10+len(head)+1)%64
	head += strings.Repeat(" ", pad%64) + "\n"
	b := append([]byte(npyMagic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(head)))
	b = append(b, head...)
	for _, v := range m.Data {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("dataset: write npy: %w", err)
	}
	return nil
}
