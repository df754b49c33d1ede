package protocol

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Opened is the sum of an accepted round.
type Opened struct {
	Round   uint32
	Counted int     // parties whose contributions the sum counts
	Before  []int64 // the public model before the round
	Sum     []int64 // decoded
}

// openedKey is the prefix of the keys of sums in a party's store.
const openedKey = "sum/"

// Record returns the stored form, without the model: u32 parties, then the sum, packed.
func (o Opened) Record() Record {
	value, _ := AppendPackedInts(binary.BigEndian.AppendUint32(nil, uint32(o.Counted)), o.Sum)
	return Record{Key: fmt.Sprintf("%s%08d", openedKey, o.Round), Value: value}
}

// OpenedSums returns the sums in a party's store, in order of the rounds. The models before them follow
// from the sums.
func OpenedSums(view View, m Model) (all []Opened, err error) {
	model := m.Initial()
	for _, key := range view.Keys(openedKey) {
		o := Opened{Before: model}
		if o.Round, err = KeyNumber(key); err != nil {
			return nil, err
		}
		b := view.Get(key)
		sum, ok := UnpackInts(b[min(4, len(b)):])
		if len(b) < 4 || !ok {
			return nil, fmt.Errorf("%w: %s has %d bytes", ErrMalformed, key, len(b))
		}
		o.Counted, o.Sum = int(binary.BigEndian.Uint32(b)), sum
		if model, err = m.Fold(o.Round, slices.Clone(model), slices.Clone(sum)); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		all = append(all, o)
	}
	return all, nil
}
