package protocol

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/field"
	"choir/crypto/fixedpoint"
)

// A transcript is the aggregator's record of a session, in the order in which it settled
// things: signed messages as they were sent, and the opened vectors that they sign. The first
// byte of an entry tells its kind: a signed message starts with its Kind (1..31), a vector with
// transcriptVector.
//
// For each attempt it has the Round, the parties' Contributions, the nodes' Holds and Agrees,
// then, unless the attempt is void, each node's Partial and its vector, then the Result. In
// the file form each entry follows its length as u32. The signed plan is a separate file.

const transcriptVector = 64

// EmptyTranscriptVector returns the entry of a vector of n zeros: u8 64, then 8 bytes an element,
// little endian. The caller sets the elements, from the second byte on.
func EmptyTranscriptVector(n int) []byte {
	b := make([]byte, 1+n*field.ElementSize)
	b[0] = transcriptVector
	return b
}

// ParseTranscriptVector returns the vector of an entry. ok is false for an entry that is not a
// vector of dim elements.
func ParseTranscriptVector(b []byte, dim int) (v field.Vector, ok bool) {
	if len(b) != 1+dim*field.ElementSize || b[0] != transcriptVector {
		return nil, false
	}
	v = make(field.Vector, dim)
	return v, field.DecodeVector(v, b[1:]) == nil
}

// checkSum rejects a decoded sum with a coordinate beyond limit, the bound on sums under the
// plan: an overflow, which is improbable, or a faulty share.
func checkSum(sum []int64, limit uint64) error {
	if n := fixedpoint.Bits(sum); n == 0 || n <= 63 && limit >= 1<<(n-1) {
		return nil // no coordinate is near the limit, the usual case
	}
	for i, x := range sum {
		if x > int64(limit) || x < -int64(limit) {
			return fmt.Errorf("%w: coordinate %d of the sum is out of the plan's range (overflow or a faulty share)",
				ErrMismatch, i)
		}
	}
	return nil
}

// MarshalTranscript returns the file form of a transcript's entries: for each, its length as
// u32 and its bytes.
func MarshalTranscript(entries [][]byte) []byte {
	var b []byte
	for _, e := range entries {
		b = binary.BigEndian.AppendUint32(b, uint32(len(e)))
		b = append(b, e...)
	}
	return b
}

// UnmarshalTranscript is the inverse of MarshalTranscript. It does not look into the entries.
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
