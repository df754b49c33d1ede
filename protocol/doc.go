// Package protocol is what every role of Choir agrees on: the plan, the
// messages and their one canonical wire form, the contract of the pure state
// machines, and the rules that anybody can recompute.
//
// Wire form. Integers are fixed width and big endian, byte
// strings carry a length, field elements are 8 bytes little endian and
// canonical. Every message type lists its fields once, in one function that
// both writes and reads them, so Unmarshal accepts exactly what Marshal emits:
// a decoded message re-encodes to the same bytes, and anything else is refused
// with ErrMalformed.
//
// Signatures. A message is signed by the member that sends it over
// (label, cipher suite, plan id, kind, sender, body); see Envelope. The plan id
// is the hash of the whole plan, so no signature, key or sealed chunk of one
// plan means anything under another.
//
// The package does no I/O and holds no clock.
package protocol
