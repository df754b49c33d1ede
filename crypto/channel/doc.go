// Package channel gives two members of a session a common secret, keys derived
// from it, and a box that seals one vector in chunks.
//
// A party initiates one channel to each compute node per plan, with HPKE (RFC
// 9180, Base mode) to a key that the node made for this plan and that the
// node's identity has signed:
//
//	enc, secret := Initiate(suite, node's public key, info)     at the party
//	secret      := Accept(node's private key, enc, info)        at the node
//	secret       = HPKE.Export("choir channel v1", 32)
//
// info binds the channel to its use: the plan's hash and both members' names or
// keys, in an unambiguous encoding. Base mode does not say who initiated: the
// initiator signs enc with its identity. Either side then derives a key for
// each round, attempt, direction and purpose:
//
//	key = secret.Derive(purpose, context)
//
// and seals one message under each key with a Box. Nothing in here is
// negotiated: the suite stands in the plan.
//
// Forward secrecy comes from the node deleting its private key when the plan
// ends, and both sides deleting their secrets. The hybrid suite stays secret
// while either ML-KEM-768 or X25519 does. All of it is constant time as far as
// the standard library's primitives are on the platform.
package channel
