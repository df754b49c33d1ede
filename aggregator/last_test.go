package aggregator

import (
	"errors"
	"slices"
	"testing"

	"choir/protocol"

	"github.com/google/go-cmp/cmp"
)

// folding is a model that is another vector than the sum, or refuses the sum.
type folding struct {
	flat
	refuses bool
}

func (f folding) Fold(_ uint32, model, sum []int64) ([]int64, error) {
	if f.refuses {
		return nil, errors.New("not this one")
	}
	return []int64{model[0] + sum[0] + 1, model[1] + sum[1] - 1<<40}, nil
}

// TestTheLastResultIsSaidAgain: in each life that begins after a result, the same messages as in the
// one that published it, whether the sum is the model, leads to it or was refused; as long as
// there is the group key, the chunks are sealed again, and afterwards they are on record.
func TestTheLastResultIsSaidAgain(t *testing.T) {
	for name, model := range map[string]protocol.Model{"the sum is the model": flat{}, "the sum leads to the model": folding{}, "the sum is refused": folding{refuses: true}} {
		r := newRigOf(t, model)
		r.join()
		for round := uint32(1); round <= 2; round++ {
			r.round(round)
			said, now := r.a.last, r.a.model
			if len(said) < 2 || !protocol.IsChunk(said[1].Data) {
				t.Fatalf("%s, round %d: no result with a chunk was said", name, round)
			}
			for life := range 3 {
				if err := r.start(model); err != nil {
					t.Fatalf("%s, round %d, life %d: %v", name, round, life, err)
				}
				if diff := cmp.Diff(said, r.a.last); diff != "" {
					t.Fatalf("%s, round %d, life %d: says something else:\n%s", name, round, life, diff)
				}
				if !slices.Equal(r.a.model, now) {
					t.Fatalf("%s, round %d, life %d: the model is %v, not %v", name, round, life, r.a.model, now)
				}
			}
			if _, sum := r.store[sumKey]; sum != (round == 1) || (r.store["group"] != nil) != (round == 1) {
				t.Errorf("%s, round %d: the sum is on record: %t", name, round, sum)
			}
		}
	}
}

// TestADamagedSumIsRefused: what isn't the aggregate that was signed is never sealed under the
// nonces of that one.
func TestADamagedSumIsRefused(t *testing.T) {
	for name, damage := range map[string][]byte{
		"another sum":     protocol.PackInts([]int64{0, 1}),
		"one too long":    protocol.PackInts([]int64{0, 0, 0}),
		"no packed form":  {1, 2, 3},
		"none: the model": {},
	} {
		r := newRigOf(t, folding{})
		r.join()
		r.round(1)
		r.store[sumKey] = damage
		if err := r.start(folding{}); err == nil {
			t.Errorf("%s: taken for the aggregate", name)
		}
	}
}

// TestNothingOfTheLastSumAfterAVoidAttempt: a void result has no aggregate, and a life that
// begins after it seals none.
func TestNothingOfTheLastSumAfterAVoidAttempt(t *testing.T) {
	for name, model := range map[string]protocol.Model{"the sum is the model": flat{}, "the sum leads to the model": folding{}} {
		r := newRigOf(t, model)
		r.join()
		r.round(1)
		for node := uint32(1); node <= 2; node++ {
			r.says(node, &protocol.Hold{Round: 2, Attempt: 1})
		}
		for node := uint32(1); node <= 2; node++ {
			r.says(node, &protocol.Agree{Round: 2, Attempt: 1, Set: protocol.SetDigest(r.s, 2, 1, nil)})
		}
		said := r.a.last
		if len(said) != 1 || r.a.at.number != 2 {
			t.Fatalf("%s: no void attempt: %d messages, attempt %d", name, len(said), r.a.at.number)
		}
		if err := r.start(model); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(said, r.a.last); diff != "" {
			t.Errorf("%s: says something else:\n%s", name, diff)
		}
	}
}
