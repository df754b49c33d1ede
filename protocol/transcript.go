package protocol

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/field"
	"choir/crypto/fixedpoint"
)

// A transcript is the aggregator's record of a session, in the order in which
// it settled things: signed messages as they stood on the wire, and between
// them the opened vectors that they signed for. Entry kinds are told apart by
// the first byte: a signed message starts with its kind (1..31), a vector with
// transcriptVector.
//
// For each attempt it holds the Round, the parties' Contributions, the nodes'
// Holds and Agrees, then (unless the attempt is void) each node's Partial and
// its vector, then the Result. The file form is a sequence of u32 length and
// entry; the signed plan lies beside it.

const transcriptVector = 64

// TranscriptVector is the record of a vector of field elements: u8 64 | 8
// bytes little endian an element.
func TranscriptVector(v field.Vector) []byte {
	return field.AppendVector([]byte{transcriptVector}, v)
}

// EmptyTranscriptVector is the record of n zeros; the elements stand from its second
// byte on, for a caller that receives them piece by piece.
func EmptyTranscriptVector(n int) []byte {
	b := make([]byte, 1+n*field.ElementSize)
	b[0] = transcriptVector
	return b
}

// ParseTranscriptVector is its inverse; ok is false for an entry that isn't a
// vector of dim elements.
func ParseTranscriptVector(b []byte, dim int) (v field.Vector, ok bool) {
	if len(b) != 1+dim*field.ElementSize || b[0] != transcriptVector {
		return nil, false
	}
	v = make(field.Vector, dim)
	return v, field.DecodeVector(v, b[1:]) == nil
}

// CheckSum refuses a decoded sum with a coordinate beyond what the plan can
// produce: an overflow that happened against all odds, or a faulty share.
func CheckSum(sum []int64, limit uint64) error {
	if n := fixedpoint.Bits(sum); n == 0 || n <= 63 && limit >= 1<<(n-1) {
		return nil // as most sums are, far from the limit
	}
	for i, x := range sum {
		if x > int64(limit) || x < -int64(limit) {
			return fmt.Errorf("%w: coordinate %d of the sum is out of the plan's range (overflow or a faulty share)", ErrMismatch, i)
		}
	}
	return nil
}

// MarshalTranscript is the file form of a transcript's entries: for each, u32
// length and the bytes.
func MarshalTranscript(entries [][]byte) []byte {
	var b []byte
	for _, e := range entries {
		b = binary.BigEndian.AppendUint32(b, uint32(len(e)))
		b = append(b, e...)
	}
	return b
}

// UnmarshalTranscript is its inverse; it checks the framing alone.
func UnmarshalTranscript(b []byte) (entries [][]byte, err error) {
	for len(b) > 0 {
		var e []byte
		if e, b, err = cutPiece(b); err != nil {
			return nil, fmt.Errorf("transcript: entry %d: %w", len(entries), ErrMalformed)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
