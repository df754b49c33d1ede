package protocol

// Every key and every digest of the protocol is BLAKE3 in key derivation mode under a separate
// context string (package crypto/blake, docs/decisions/0020-one-hash.md), so no two of them can
// be confused.
//
// The contexts of keys that are derived from a channel's secret, or from another key of the
// plan.
const (
	sealKey     = "choir v5 key seal"     // seals a vector
	maskKey     = "choir v5 key mask"     // expands to a seed node's share
	confirmKey  = "choir v5 key confirm"  // 16 bytes of it confirm a manifest
	groupKey    = "choir v5 key group"    // seals the plan's group key for a member
	blindingKey = "choir v5 key blinding" // seals a share of a commitment's blinding scalar
	workerKey   = "choir v5 key worker"   // seals the messages between a node and its workers
)

// The contexts of digests of messages and of their parts, which are short: see digest.
const (
	ownerContext    = "choir v5 owner"   // a responder's plan key
	channelContext  = "choir v5 channel" // HPKE's info
	manifestContext = "choir v5 account"
	bundleContext   = "choir v5 bundle"
	chunksContext   = "choir v5 chunks" // a vector's list of chunk digests
	leafContext     = "choir v5 leaf"   // of the tree of receipts
	innerContext    = "choir v5 inner"
)

// The contexts of digests whose input grows with the dimension or the roster.
const (
	fileContext     = "choir v5 file" // a signed plan, for checkAccepts alone
	chunkContext    = "choir v5 chunk"
	vectorContext   = "choir v5 vector"
	integersContext = "choir v5 integers"
	setContext      = "choir v5 set"
)
