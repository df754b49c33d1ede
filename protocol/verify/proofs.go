package verify

import (
	"fmt"

	"choir/protocol"
)

// Proofs compares what the aggregator signed for a party, kept in the party's store (stored
// protocol.ResultProofs), with the results on a verified transcript. Two different results of one
// attempt are evidence against the aggregator, and Proofs returns an error that names the attempt.
func Proofs(r *Report, proofs [][]byte) error {
	for _, b := range proofs {
		if err := r.proof(b); err != nil {
			return protocol.Fail(protocol.ClassIntegrity, "results of the store: %w", err)
		}
	}
	return nil
}

func (r *Report) proof(b []byte) error {
	p, err := protocol.UnmarshalResultProof(b)
	if err != nil {
		return err
	}
	if err := r.session.CheckProof(p); err != nil {
		return err
	}
	a := r.find(p.Round, p.Attempt)
	if a == nil || a.result == nil {
		return mismatch("the aggregator signed a result of round %d attempt %d that is not on the transcript",
			p.Round, p.Attempt)
	}
	if a.result.Digest != p.Digest {
		return fmt.Errorf("%w: the aggregator signed two results of round %d attempt %d", protocol.ErrEquivocate,
			p.Round, p.Attempt)
	}
	return nil
}
