package experiment

import (
	"fmt"
	"math"

	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/protocol"
)

// replay folds the sums on record and scores the model after every round: what
// the aggregator's process did, where it could not be scored. It returns the
// last model.
func (r *demoRun) replay(entries [][]byte, seconds map[uint32]float64) ([]int64, error) {
	model := r.app.Model(r.plan).Initial()
	sum, vectors := make(field.Vector, r.plan.Dim), 0
	for i, entry := range entries {
		if d, ok := protocol.ParseTranscriptSecret(entry); ok {
			r.digests = d
			continue
		}
		if v, _, ok := protocol.ParseTranscriptVector(entry, int(r.plan.Dim)); ok {
			sum.Add(v)
			vectors++
			continue
		}
		_, m, err := r.s.Receive(entry)
		if err != nil {
			return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: entry %d: %w", i, err)
		}
		res, ok := m.(*protocol.Result)
		if !ok || res.Outcome == protocol.OutcomeVoid {
			continue
		}
		if vectors != r.Computes {
			return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: round %d has %d partial sums, not %d",
				res.Round, vectors, r.Computes)
		}
		if model, err = r.fold(res, model, sum); err != nil {
			return nil, err
		}
		if err := r.scoreRound(res, model, seconds); err != nil {
			return nil, err
		}
		sum, vectors = make(field.Vector, r.plan.Dim), 0
	}
	if len(r.rounds) != r.Rounds {
		return nil, protocol.Fail(protocol.ClassIntegrity, "transcript: %d rounds, not %d", len(r.rounds), r.Rounds)
	}
	return model, nil
}

// fold moves the model by a round's sum and holds it to what the result
// announced.
func (r *demoRun) fold(res *protocol.Result, model []int64, sum field.Vector) (next []int64, err error) {
	next = model
	if res.Outcome == protocol.OutcomeAccepted {
		ints := make([]int64, len(sum))
		fixedpoint.FromField(ints, sum)
		if next, err = r.app.Model(r.plan).Fold(res.Round, model, ints); err != nil {
			return nil, fmt.Errorf("transcript: round %d: %w", res.Round, err)
		}
	}
	if protocol.IntDigest(r.digests.Key(res.Round), next) != res.Next {
		return nil, protocol.Fail(protocol.ClassIntegrity,
			"transcript: round %d: %w: the sums don't lead to the model that was announced",
			res.Round, protocol.ErrMismatch)
	}
	return next, nil
}

func (r *demoRun) scoreRound(res *protocol.Result, model []int64, seconds map[uint32]float64) error {
	p := r.progress(res.Round, len(res.Set))
	r.states = lastStates(r.states, model)
	s, err := r.scored(model)
	if err != nil {
		return err
	}
	p.Scores = &s
	if p.Seconds = seconds[res.Round]; p.Seconds == 0 {
		p.Seconds = math.NaN() // over before this process began to watch
	}
	r.rounds = append(r.rounds, p)
	return nil
}
