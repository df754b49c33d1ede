// Package prf is HMAC-SHA256 (RFC 2104) under 32-byte keys in one call, without
// garbage: what derives the keys of a contribution, several times for each party,
// node and round.
//
// # Contract
//
// [Expand] is HKDF-Expand (RFC 5869, section 2.3) for an output of one hash length: one
// HMAC over info and a byte 1. It equals crypto/hkdf over the parts, one after the other. Parts are not delimited here: who derives keys
// encodes lengths. Time depends on lengths only. Copies of the key are wiped.
package prf

import "crypto/sha256"

// Size is the length in bytes of keys and of outputs.
const Size = 32

// room is how many bytes are hashed without an allocation: the key's block and the
// message.
const room = 1024

// Expand is HKDF-Expand with SHA-256 for an output of 32 bytes; info is the parts, one
// after the other.
func Expand(key *[Size]byte, info ...[]byte) [Size]byte { return sum(key, info, []byte{1}) }

// sum is HMAC-SHA256(key, parts[0] | parts[1] | ... | last).
func sum(key *[Size]byte, parts [][]byte, last []byte) [Size]byte {
	length := sha256.BlockSize + len(last)
	for _, p := range parts {
		length += len(p)
	}
	var stack [room]byte
	message := stack[:0]
	if length > room {
		message = make([]byte, 0, length)
	}
	message = message[:sha256.BlockSize]
	pad(message, key, 0x36)
	for _, p := range parts {
		message = append(message, p...)
	}
	inner := sha256.Sum256(append(message, last...))
	clear(message)
	var outer [sha256.BlockSize + sha256.Size]byte
	pad(outer[:sha256.BlockSize], key, 0x5c)
	copy(outer[sha256.BlockSize:], inner[:])
	mac := sha256.Sum256(outer[:])
	clear(outer[:])
	return mac
}

// pad sets block to the key, filled up with zeros, with each byte flipped by with.
func pad(block []byte, key *[Size]byte, with byte) {
	copy(block, key[:])
	for i := range block {
		block[i] ^= with
	}
}
