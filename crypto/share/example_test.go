package share_test

import (
	"fmt"
	"log"

	"choir/crypto/field"
	"choir/crypto/share"
	"choir/crypto/xof"
)

// A party shares a vector to three nodes. Two derive their share from a key; the party sends only the
// explicit share to the third. The partial sums of the nodes add up to the vector.
func Example() {
	var streams []*xof.Stream
	for node := range 2 {
		s, err := xof.New(xof.Key{byte(node + 1)}) // in a session: derived from the secret of a channel
		if err != nil {
			log.Fatal(err)
		}
		streams = append(streams, s)
	}

	// The party.
	explicit := field.Vector{10, 20, 30}
	share.Explicit(explicit, streams)

	// The nodes.
	partials := make([]field.Vector, 3)
	for i := range partials {
		partials[i] = make(field.Vector, 3)
	}
	var adder share.Adder
	adder.Add(partials[0], streams[0])
	adder.Add(partials[1], streams[1])
	partials[2].Add(explicit)

	// The aggregator.
	sum := make(field.Vector, 3)
	for _, p := range partials {
		sum.Add(p)
	}
	fmt.Println(sum)
	// Output: [10 20 30]
}

// ExplicitIndex distributes the explicit shares evenly over the nodes.
func ExampleExplicitIndex() {
	for round := range 2 {
		var nodes []int
		for party := range 4 {
			nodes = append(nodes, share.ExplicitIndex(party, round, 3))
		}
		fmt.Println(nodes)
	}
	// Output:
	// [0 1 2 0]
	// [1 2 0 1]
}
