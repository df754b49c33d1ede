// Package protocol is what all roles of Choir share: the plan, the messages and their
// canonical wire form, the contract of the role's state machines, and the rules that every
// member recomputes.
//
// Wire form. Integers have a fixed width and are big endian, byte strings begin with their
// length, and field elements are 8 bytes, little endian and canonical. Every message type
// lists its fields once, in one function that both encodes and decodes them, so decoding
// accepts exactly what encoding returns: a decoded message re-encodes to the same bytes, and
// any other input is rejected with ErrMalformed.
//
// Signatures. A message is signed by its sender over (label, cipher suite, plan id, kind,
// sender, body); see Envelope. The plan id is the hash of the whole plan, so no signature, key
// or sealed chunk of one plan is valid under another.
//
// The package does no I/O and reads no clock.
package protocol
