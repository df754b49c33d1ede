// Package fragment carries a message that is larger than what a broker takes in
// one piece: it cuts it into pieces and puts them together again. Which piece of
// which message it is stands in a Header beside the piece.
//
// Pieces are neither signed nor checked for content. What travels over a
// transport.Bus is sealed or signed as a whole by those who use it, so a message
// that was put together from the wrong pieces is refused there, like any other
// message that a broker altered. The Assembler's part is to stay within bounds
// whatever arrives, and to lose nothing that arrived whole.
package fragment

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"choir/transport"
)

const (
	// Size is the length of every piece but the last, in bytes, and the largest
	// message that travels uncut: a chunk of 512 KiB and 16 KiB for its envelope.
	// (NATS allows 1 MiB by default and discourages more than 8 MiB.)
	Size = 528 << 10
	// MaxPieces is the largest number of pieces of one message.
	MaxPieces = (transport.MaxPayload + Size - 1) / Size
)

// ID tells the messages apart that are under way at the same time. It must be
// unpredictable: whoever guesses it can spoil the message.
type ID [16]byte

// Header says which piece of which message stands beside it.
type Header struct {
	ID    ID
	Index int // from 0
	Count int // 2 to MaxPieces
}

// String is the header's one text form: the ID in lower-case hexadecimal, index
// and count in decimal, joined by dots.
func (h Header) String() string {
	return hex.EncodeToString(h.ID[:]) + "." + strconv.Itoa(h.Index) + "." + strconv.Itoa(h.Count)
}

// ParseHeader reads what String writes, and nothing else. Index and count are
// within their bounds.
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
	return h.Count >= 2 && h.Count <= MaxPieces && h.Index >= 0 && h.Index < h.Count
}

// fits says whether a piece has the length that its place calls for.
func (h Header) fits(piece []byte) bool {
	if h.Index == h.Count-1 {
		return len(piece) >= 1 && len(piece) <= Size
	}
	return len(piece) == Size
}

// Count is how many pieces a message of n bytes travels in, at least 1.
func Count(n int) int { return max(1, (n+Size-1)/Size) }

// Piece is piece i of a message, sharing its memory; 0 <= i < Count(len(data)).
func Piece(data []byte, i int) []byte {
	return data[i*Size : min((i+1)*Size, len(data))]
}
