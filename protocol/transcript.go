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

const (
	transcriptVector = 64
	transcriptSecret = 65
)

// TranscriptVectorHeader is the number of bytes before the elements of a transcript's vector.
const TranscriptVectorHeader = 1 + 2*32

// EmptyTranscriptVector returns the entry of a vector of n zeros: u8 64, 32 bytes of salt and 32 of
// blinding sum, then 8 bytes an element, little endian. The caller sets all but the first.
func EmptyTranscriptVector(n int) []byte {
	b := make([]byte, TranscriptVectorHeader+n*field.ElementSize)
	b[0] = transcriptVector
	return b
}

// SetTranscriptOpening sets the opening of a vector's entry.
func SetTranscriptOpening(entry []byte, o Opening) {
	copy(entry[1:], o.Salt[:])
	copy(entry[1+len(o.Salt):], o.Blinding[:])
}

// ParseTranscriptVector returns the vector of an entry and its opening. ok is false for an entry
// that is not a vector of dim elements.
func ParseTranscriptVector(b []byte, dim int) (v field.Vector, o Opening, ok bool) {
	if len(b) != TranscriptVectorHeader+dim*field.ElementSize || b[0] != transcriptVector {
		return nil, o, false
	}
	copy(o.Salt[:], b[1:])
	copy(o.Blinding[:], b[1+len(o.Salt):])
	v = make(field.Vector, dim)
	return v, o, field.DecodeVector(v, b[TranscriptVectorHeader:]) == nil
}

// TranscriptSecret returns the entry of the secret that keys the digests: u8 65, then 32 bytes.
func TranscriptSecret(s DigestSecret) []byte { return append([]byte{transcriptSecret}, s[:]...) }

// ParseTranscriptSecret is the inverse of TranscriptSecret.
func ParseTranscriptSecret(b []byte) (s DigestSecret, ok bool) {
	if len(b) != 1+len(s) || b[0] != transcriptSecret {
		return s, false
	}
	return DigestSecret(b[1:]), true
}

// checkSum rejects a decoded sum beyond limit, the bound on sums under the plan: an overflow, which is
// improbable, or a faulty share.
func checkSum(sum []int64, limit SumLimit) error {
	if !fixedpoint.NormSquaredAtMost(sum, limit.Norm) {
		return fmt.Errorf("%w: the norm of the sum is out of the plan's range (a faulty share)", ErrMismatch)
	}
	if n := fixedpoint.Bits(sum); n == 0 || n <= 63 && limit.Coordinate >= 1<<(n-1) {
		return nil // no coordinate is near the limit, the usual case
	}
	for i, x := range sum {
		if x > int64(limit.Coordinate) || x < -int64(limit.Coordinate) {
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

// UnmarshalTranscript is the inverse of MarshalTranscript. It does not look into the entries, which are
// parts of b, but refuses empty ones: a transcript has none, and each takes 4 bytes of the file and 24 of
// memory.
func UnmarshalTranscript(b []byte) (entries [][]byte, err error) {
	n := 0
	for rest := b; len(rest) > 0; n++ {
		var e []byte
		if e, rest, err = cutPiece(rest); err != nil || len(e) == 0 {
			return nil, fmt.Errorf("transcript: entry %d: %w", n, ErrMalformed)
		}
	}
	entries = make([][]byte, n)
	for i := range entries {
		entries[i], b, _ = cutPiece(b)
	}
	return entries, nil
}
