// Package channel establishes a shared secret between two members of a session, derives keys from
// it, and seals vectors in chunks.
//
// A party initiates one channel to each compute node per plan, with HPKE (RFC
// 9180, Base mode) to a key that the node generated for this plan and signed with its identity:
//
//	enc, secret := Initiate(suite, node's public key, info)     at the party
//	secret      := Accept(node's private key, enc, info)        at the node
//	secret       = HPKE.Export("choir channel v1", 32)
//
// info binds the channel to its use: the hash of the plan and the names or keys of both members, in
// an unambiguous encoding. Base mode does not authenticate the initiator, which therefore signs enc
// with its identity. Both sides then derive a key for each round, attempt, direction and purpose:
//
//	key = secret.Derive(purpose, context)
//
// and seal one message under each key with a [Box]. Nothing is negotiated: the plan states the
// suite.
//
// For forward secrecy the node deletes its private key when the plan ends, and both sides delete
// their secrets. The hybrid suite is secure while either ML-KEM-768 or X25519 is. Everything is
// constant time to the extent that the primitives of the standard library are.
package channel
