package protocol

// Every key and every digest of the protocol is BLAKE3 in key derivation mode under a separate
// context string (package crypto/blake, docs/decisions/0020-one-hash.md), so no two of them can
// be confused.
//
// The contexts of keys that are derived from a channel's secret, or from another key of the
// plan.
const (
	sealKey       = "choir v1 key seal"        // seals a vector
	maskKey       = "choir v1 key mask"        // expands to a seed node's share
	confirmKey    = "choir v1 key confirm"     // 16 bytes of it confirm a manifest
	groupKey      = "choir v1 key group"       // seals the plan's group key for a member
	blindingKey   = "choir v1 key blinding"    // seals a share of a commitment's blinding scalar
	noiseKey      = "choir v1 key noise"       // seeds a compute node's noise
	saltKey       = "choir v1 key salt"        // salts the digest of a compute node's partial sum
	resultSaltKey = "choir v1 key result salt" // salts what a result seals
	openingKey    = "choir v1 key opening"     // seals the salt for the aggregator
	digestKey     = "choir v1 key digest"      // keys the digests of models and aggregates
	roundKey      = "choir v1 key round"       // keys those of one round
	nextKey       = "choir v1 key next"        // a secret's successor in the next round
	traceKey      = "choir v1 key trace"       // seals the sum of the compute nodes' traces
	workerKey     = "choir v1 key worker"      // seals the messages between a node and a worker
	// a worker's key, from the node's
	oneWorkerKey = "choir v1 key one worker"
)

// The contexts of digests of messages and of their parts, which are short: see digest.
const (
	ownerContext    = "choir v1 owner"   // a responder's plan key
	channelContext  = "choir v1 channel" // HPKE's info
	openContext     = "choir v1 open"    // an Open, in a node's store
	manifestContext = "choir v1 manifest"
	bundleContext   = "choir v1 bundle"
	chunksContext   = "choir v1 chunks" // a vector's list of chunk digests
	leafContext     = "choir v1 leaf"   // of the tree of receipts
	innerContext    = "choir v1 inner"
	resultContext   = "choir v1 result"
	pointContext    = "choir v1 point" // of fingerprints
	traceContext    = "choir v1 trace"
	partialsContext = "choir v1 partials" // of a result, for the salt
	saltContext     = "choir v1 salt"
	blindContext    = "choir v1 blinding seed"
)

// The contexts of digests whose input grows with the dimension or the roster.
const (
	fileContext     = "choir v1 file" // a signed plan, for checkAccepts alone
	chunkContext    = "choir v1 chunk"
	vectorContext   = "choir v1 vector"
	integersContext = "choir v1 integers"
	setContext      = "choir v1 set"
)
