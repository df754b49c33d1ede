package trusted

import (
	"errors"
	"slices"
	"testing"
)

// TestRounds: a round's sum has every party's vector and its noise, and an error ends the run.
func TestRounds(t *testing.T) {
	r := Run{Dim: 2, Parties: 3,
		Propose: func(round, party int, raw []int64) ([]int64, error) {
			return []int64{int64(party), raw[1]}, nil
		},
		Noise: func(round int, sum []int64) error { sum[0] += 10; return nil },
		Fold:  func(round int, raw, sum []int64) ([]int64, error) { return sum, nil }}
	if got, err := r.Rounds([]int64{0, 1}, 2); err != nil || !slices.Equal(got, []int64{13, 9}) {
		t.Errorf("%v, %v", got, err)
	}
	r.Noise = func(int, []int64) error { return errors.ErrUnsupported }
	if _, err := r.Rounds([]int64{0, 1}, 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the noise failed: %v", err)
	}
}
