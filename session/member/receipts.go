package member

import (
	"fmt"
	"os"

	"choir/host"
	"choir/protocol"
	"choir/session/terms"
)

// readSums reads a plan under which nodes and the aggregator sign something for a party alone.
func readSums(plan string) (*protocol.SignedPlan, error) {
	signed, err := terms.ReadPlan(plan)
	if err == nil && signed.Plan.Mixes() {
		return nil, protocol.Fail(protocol.ClassInput,
			"plan: with a mix-net a party's store has no receipts and no "+
				"results of its own: what is signed goes to all, and choir verify checks the transcript")
	}
	return signed, err
}

// Receipts reads a party's receipts of a round from its store, in the form of a
// transcript's entries. attempt 0 is the last of the round that has receipts.
func Receipts(store, plan string, round, attempt uint32) ([][]byte, error) {
	s, bound, err := openStored(store, plan)
	if err != nil {
		return nil, err
	}
	defer s.Close() // it was only read
	for a := bound.Plan.SpareAttempts + 1; a >= 1; a-- {
		if attempt != 0 && a != attempt {
			continue
		}
		if got := receipts(s, round, a); len(got) > 0 {
			return got, nil
		}
	}
	return nil, protocol.Fail(protocol.ClassInput, "%s holds no receipt for round %d", store, round)
}

// ResultProofs reads what the aggregator signed for a party from the party's store.
func ResultProofs(store, plan string) (proofs [][]byte, err error) {
	s, _, err := openStored(store, plan)
	if err != nil {
		return nil, err
	}
	defer s.Close() // it was only read
	for _, key := range s.Keys("proof/") {
		proofs = append(proofs, s.Get(key))
	}
	if len(proofs) == 0 {
		return nil, protocol.Fail(protocol.ClassInput, "%s holds no result: is it a party's store?", store)
	}
	return proofs, nil
}

// openStored opens a store that exists already, with the plan in a file.
func openStored(store, plan string) (*host.Scoped, protocol.BoundPlan, error) {
	signed, err := readSums(plan)
	if err != nil {
		return nil, protocol.BoundPlan{}, err
	}
	bound := protocol.Bind(signed.Plan)
	if _, err := os.Stat(store); err != nil { // OpenStore would create it
		return nil, bound, protocol.Fail(protocol.ClassInput, "store: %w", err)
	}
	s, err := OpenStore(store, bound)
	return s, bound, err
}

func receipts(s host.Store, round, attempt uint32) (out [][]byte) {
	for _, key := range s.Keys(fmt.Sprintf("receipt/%d/%d/", round, attempt)) {
		out = append(out, s.Get(key))
	}
	return out
}
