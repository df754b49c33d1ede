package protocol

import "fmt"

// Kind is the type of a message. It is part of what is signed.
type Kind uint8

const (
	KindAccept       Kind = 1  // a member's signature on the plan, in the plan file
	KindKey          Kind = 2  // compute node, aggregator -> all: the sender's key for this plan
	KindOpen         Kind = 3  // party, compute node -> key owner: sets up a channel
	KindGroup        Kind = 4  // aggregator -> member: the group key, sealed
	KindRound        Kind = 5  // aggregator -> all: opens an attempt
	KindContribution Kind = 6  // party -> compute nodes: the manifest of a contribution
	KindReceipt      Kind = 7  // compute node -> party: the contribution is durable
	KindHold         Kind = 8  // compute node -> all: the held list
	KindAgree        Kind = 9  // compute node -> all: the set that the node is ready to reveal
	KindPartial      Kind = 10 // compute node -> aggregator: the partial sum
	KindResult       Kind = 11 // aggregator -> all: the outcome of the attempt
	KindAbort        Kind = 12 // aggregator -> all: ends the session
	KindConfirm      Kind = 13 // compute node -> all: the result is what the node has signed for
	KindMixRound     Kind = 14 // aggregator -> all: opens an attempt of the mix-net
	KindMixKeys      Kind = 15 // compute node -> all: its keys for the attempt
	KindOnion        Kind = 16 // party -> first compute node: a sealed report
	KindMixBatch     Kind = 17 // compute node -> all: what a batch is
	KindMixPiece     Kind = 18 // compute node -> compute nodes or aggregator: entries of a batch
	KindMixGo        Kind = 19 // party -> compute nodes: its entry is in the list
	KindMixAgree     Kind = 20 // compute node -> all: the list that the node is ready to open
	KindMixComplaint Kind = 21 // compute node -> all: another node's batch is wrong
	KindMixResult    Kind = 22 // aggregator -> all: the outcome of the attempt
	KindChunk        Kind = 32 // a sealed piece of a vector; authenticated by its channel, unsigned
)

// from reports whether a role may send the kind.
func (k Kind) from(r Role) bool {
	switch k {
	case KindAccept:
		return true
	case KindKey:
		return r == RoleCompute || r == RoleAggregator
	case KindOpen:
		return r == RoleParty || r == RoleCompute
	case KindContribution, KindOnion, KindMixGo:
		return r == RoleParty
	case KindReceipt, KindHold, KindAgree, KindPartial, KindConfirm, KindMixKeys, KindMixBatch, KindMixPiece,
		KindMixAgree, KindMixComplaint:
		return r == RoleCompute
	case KindGroup, KindRound, KindResult, KindAbort, KindMixRound, KindMixResult:
		return r == RoleAggregator
	}
	return false
}

var kindNames = [...]string{
	KindAccept:       "accept",
	KindKey:          "key",
	KindOpen:         "open",
	KindGroup:        "group key",
	KindRound:        "round",
	KindContribution: "contribution",
	KindReceipt:      "receipt",
	KindHold:         "hold",
	KindAgree:        "agree",
	KindPartial:      "partial sum",
	KindResult:       "result",
	KindAbort:        "abort",
	KindConfirm:      "confirm",
	KindMixRound:     "mix round",
	KindMixKeys:      "mix keys",
	KindOnion:        "onion",
	KindMixBatch:     "mix batch",
	KindMixPiece:     "mix piece",
	KindMixGo:        "mix go",
	KindMixAgree:     "mix agree",
	KindMixComplaint: "mix complaint",
	KindMixResult:    "mix result",
	KindChunk:        "chunk",
}

// String returns the kind's name in logs and errors.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// newMessage returns an empty body of a kind, nil for a kind without one.
func newMessage(k Kind) Message {
	switch k {
	case KindAccept:
		return new(Accept)
	case KindKey:
		return new(Key)
	case KindOpen:
		return new(Open)
	case KindGroup:
		return new(Group)
	case KindRound:
		return new(Round)
	case KindContribution:
		return new(Contribution)
	case KindReceipt:
		return new(Receipt)
	case KindHold:
		return new(Hold)
	case KindAgree:
		return new(Agree)
	case KindPartial:
		return new(Partial)
	case KindResult:
		return new(Result)
	case KindAbort:
		return new(Abort)
	case KindConfirm:
		return new(Confirm)
	case KindMixRound:
		return new(MixRound)
	case KindMixKeys:
		return new(MixKeys)
	case KindOnion:
		return new(Onion)
	case KindMixBatch:
		return new(MixBatch)
	case KindMixPiece:
		return new(MixPiece)
	case KindMixGo:
		return new(MixGo)
	case KindMixAgree:
		return new(MixAgree)
	case KindMixComplaint:
		return new(MixComplaint)
	case KindMixResult:
		return new(MixResult)
	}
	return nil
}
