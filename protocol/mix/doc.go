// Package mix is the mix-net of a shuffled plan: the roles as state machines of protocol.Machine. It
// carries one report of fixed length from each party to the aggregator, so that no one learns which
// party sent which report unless all compute nodes pool their keys. It is for reports that are too
// long, or have too many values, for a sum of counts. The design is that of [BS06] with the go/no-go step
// of [CF10].
//
// An attempt of a round has four steps:
//
//  1. Each of the M compute nodes signs two fresh HPKE keys, outer and inner. A party seals its
//     report to the inner keys of the nodes M..1, the result with digests of its inner layers to the
//     outer keys M..1, and sends the onion, signed, to the first node.
//  2. Each node in turn removes its outer layer from the whole batch, drops entries that do not open
//     or repeat, shuffles and passes the batch on. What the last node passes on is the list.
//  3. A party that finds its entry in the list signs "go", which does not tell the entry. A node that
//     has at least N_min of these signs the list, at most one in an attempt.
//  4. With the signatures of all M nodes on one list, and in no more than one attempt of a round, each
//     node in turn opens its inner layer of the list's entries, in order. The last node seals the
//     reports for the aggregator.
//
// The layers are bound to the digest of all keys of the attempt: a node that hands out different keys
// to tell parties apart makes onions that no honest node opens. The outermost layer is bound to its
// sender, so that a copied onion does not open. Each inner layer's digest is in the list, so that a
// node cannot replace what it opens.
//
// An honest node's permutation separates the parties from the entries. An adversary of all other
// nodes, the aggregator and T parties therefore sees the multiset of at least N_min - T reports of
// other parties, one of them the victim's.
package mix
