// Package fragment divides a message that is larger than what a broker accepts at once into
// pieces, and assembles them again. A Header with each piece identifies the piece and its
// message.
//
// Pieces are neither signed nor checked for content. Messages on a transport.Bus are sealed or
// signed as a whole by its users, who refuse a message that was assembled from the wrong pieces
// like any other message that a broker altered. The Assembler stays within its bounds for any
// input. Below them it loses no message that arrives whole. Where one is reached it drops the
// incomplete message whose first piece is oldest, which its sender has to retransmit.
package fragment

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"choir/transport"
)

const (
	// Size is the length of every piece but the last, in bytes, and the largest message that
	// is not divided: a chunk of 512 KiB and 16 KiB for its envelope.
	// (NATS allows 1 MiB by default and discourages more than 8 MiB.)
	Size = 528 << 10
	// maxPieces is the largest number of pieces of one message.
	maxPieces = (transport.MaxPayload + Size - 1) / Size
)

// ID identifies a message among those that are incomplete at the same time. It must be
// unpredictable: a client that guesses it can spoil the message.
type ID [16]byte

// Header identifies a piece and its message.
type Header struct {
	ID    ID
	Index int // from 0
	Count int // 2 to maxPieces
}

// String returns the header's text form, of which there is one: the ID in lower-case
// hexadecimal, index and count in decimal, joined by dots.
func (h Header) String() string {
	return hex.EncodeToString(h.ID[:]) + "." + strconv.Itoa(h.Index) + "." + strconv.Itoa(h.Count)
}

// ParseHeader parses what String returns, and nothing else. Index and count are within their
// bounds.
func ParseHeader(text string) (h Header, err error) {
	fields := strings.Split(text, ".")
	if len(fields) == 3 && len(fields[0]) == 2*len(h.ID) {
		id, idErr := hex.DecodeString(fields[0])
		index, indexErr := strconv.Atoi(fields[1])
		count, countErr := strconv.Atoi(fields[2])
		if idErr == nil && indexErr == nil && countErr == nil {
			h = Header{ID(id), index, count}
			if h.valid() && h.String() == text {
				return h, nil
			}
		}
	}
	return Header{}, fmt.Errorf("fragment: malformed header %.64q", text)
}

func (h Header) valid() bool {
	return h.Count >= 2 && h.Count <= maxPieces && h.Index >= 0 && h.Index < h.Count
}

// fits reports whether a piece has the length for its index.
func (h Header) fits(piece []byte) bool {
	if h.Index == h.Count-1 {
		return len(piece) >= 1 && len(piece) <= Size
	}
	return len(piece) == Size
}

// Count returns the number of pieces of a message of n bytes, at least 1.
func Count(n int) int { return max(1, (n+Size-1)/Size) }

// Piece returns piece i of a message, which shares its memory; 0 <= i < Count(len(data)).
func Piece(data []byte, i int) []byte {
	return data[i*Size : min((i+1)*Size, len(data))]
}
