package party

import (
	"math"
	"slices"
	"testing"

	"choir/crypto/noise"
	"pgregory.net/rapid"
)

// marshalOutbox returns an outbox as it is stored.
func marshalOutbox(seed noise.Seed, update []int64) []byte {
	outbox, _ := packOutbox(update, math.MaxUint64)
	completeOutbox(outbox, seed)
	return outbox
}

// TestNormOfOutbox: the bound on the norm includes the bound itself.
func TestNormOfOutbox(t *testing.T) {
	update := []int64{3, 0, -4}
	if _, within := packOutbox(update, 5); !within {
		t.Error("a norm of 5 is not within 5")
	}
	if _, within := packOutbox(update, 4); within {
		t.Error("a norm of 5 is within 4")
	}
}

// TestOutboxRoundTrip: seed and update are restored, and only for the dimension they have.
func TestOutboxRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		update := rapid.SliceOfN(rapid.Int64(), 1, 40).Draw(t, "update")
		seed := noise.Seed{5}
		outbox := marshalOutbox(seed, update)
		gotSeed, view, err := unmarshalOutbox(outbox, len(update))
		if err != nil || gotSeed != seed {
			t.Fatalf("seed %x, want %x (%v)", gotSeed, seed, err)
		}
		got := make([]int64, len(update))
		if view.AddTo(got, got, 0); !slices.Equal(got, update) {
			t.Fatalf("update %d, want %d", got, update)
		}
		if _, _, err := unmarshalOutbox(outbox, len(update)+1); err == nil {
			t.Fatal("an update of another dimension is accepted")
		}
	})
}

// FuzzOutbox: a damaged outbox is rejected, and no input makes the party panic.
func FuzzOutbox(f *testing.F) {
	f.Add(marshalOutbox(noise.Seed{1}, []int64{1, -2, 300}), 3)
	f.Add(marshalOutbox(noise.Seed{}, []int64{0, 0}), 2)
	f.Add([]byte{}, 0)
	f.Add(make([]byte, 37), 1)
	f.Fuzz(func(t *testing.T, b []byte, dim int) {
		if dim < 1 || dim > 1<<10 {
			return
		}
		seed, view, err := unmarshalOutbox(b, dim)
		if err != nil {
			return
		}
		update := make([]int64, dim)
		view.AddTo(update, update, 0)
		s, again, err := unmarshalOutbox(marshalOutbox(seed, update), dim)
		if err != nil || s != seed || again.Len() != dim {
			t.Fatalf("%d coordinates are restored as %d: %v", dim, again.Len(), err)
		}
	})
}
