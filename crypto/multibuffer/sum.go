package multibuffer

import (
	"crypto/sha512"
	"encoding/binary"
	"hash"
)

// Width is how many messages are hashed side by side.
const Width = 8

// Message is what is hashed: a head, and what follows it.
type Message struct {
	Head [64]byte
	Tail []byte
}

// longest is the longest message that is hashed beside others, in blocks: those beside it may
// be short.
const longest = 64

// blocks is how many blocks the message takes, with its padding.
func (m *Message) blocks() int {
	return (len(m.Head) + len(m.Tail) + 1 + 16 + sha512.BlockSize - 1) / sha512.BlockSize
}

// Sum512 sets each digest to the SHA-512 of the message with the same index. There must
// be as many of one as of the other, else it panics.
func Sum512(digests [][sha512.Size]byte, messages []Message) {
	digests = digests[:len(messages):len(messages)]
	group, alone := make([]int, 0, Width), sha512.New() // group: of messages that are waiting
	for i := range messages {
		if !Fast() || messages[i].blocks() > longest {
			one(alone, &digests[i], &messages[i])
			continue
		}
		if group = append(group, i); len(group) == Width {
			eight(digests, messages, group)
			group = group[:0]
		}
	}
	for _, i := range group { // too few
		one(alone, &digests[i], &messages[i])
	}
}

func one(h hash.Hash, digest *[sha512.Size]byte, m *Message) {
	h.Reset()
	h.Write(m.Head[:])
	h.Write(m.Tail)
	h.Sum(digest[:0])
}

// eight hashes those of the messages that group names. A lane whose message has ended goes on
// with what it has; nobody looks at it any more.
func eight(digests [][sha512.Size]byte, messages []Message, group []int) {
	var state [8][Width]uint64
	for i := range state {
		for lane := range state[i] {
			state[i][lane] = initial[i]
		}
	}
	most := 0
	for _, i := range group {
		most = max(most, messages[i].blocks())
	}
	var block [16][Width]uint64
	for n := range most {
		for lane, i := range group {
			if n < messages[i].blocks() {
				messages[i].load(&block, lane, n)
			}
		}
		compress(&state, &block)
		for lane, i := range group {
			if n == messages[i].blocks()-1 {
				for j := range state {
					binary.BigEndian.PutUint64(digests[i][8*j:], state[j][lane])
				}
			}
		}
	}
}

// load sets a lane to block n of the padded message.
func (m *Message) load(block *[16][Width]uint64, lane, n int) {
	from := n*sha512.BlockSize - len(m.Head) // in the tail
	if from >= 0 && from+sha512.BlockSize <= len(m.Tail) {
		spread(block, lane, (*[sha512.BlockSize]byte)(m.Tail[from:]))
		return
	}
	var b [sha512.BlockSize]byte
	rest := b[:]
	if n == 0 {
		copy(b[:], m.Head[:])
		from, rest = 0, b[len(m.Head):]
	}
	if from <= len(m.Tail) { // else the message and the bit behind it ended with the block before
		if k := copy(rest, m.Tail[from:]); k < len(rest) {
			rest[k] = 0x80
		}
	}
	if n == m.blocks()-1 {
		binary.BigEndian.PutUint64(b[len(b)-8:], 8*uint64(len(m.Head)+len(m.Tail)))
	}
	spread(block, lane, &b)
}

func spread(block *[16][Width]uint64, lane int, b *[sha512.BlockSize]byte) {
	for t := range block {
		block[t][lane] = binary.BigEndian.Uint64(b[8*t:])
	}
}
