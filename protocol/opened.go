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
	Set     []int   // these parties; nil: not known
	Before  []int64 // the public model before the round
	Sum     []int64 // decoded
}

// openedKey is the prefix of the keys of sums in a party's store.
const openedKey = "sum/"

// Record returns the stored form, without the model: u32 parties | u32 n | n* u32 party, then the sum,
// packed.
func (o Opened) Record() Record {
	value := binary.BigEndian.AppendUint32(nil, uint32(o.Counted))
	value = binary.BigEndian.AppendUint32(value, uint32(len(o.Set)))
	for _, k := range o.Set {
		value = binary.BigEndian.AppendUint32(value, uint32(k))
	}
	value, _ = AppendPackedInts(value, o.Sum)
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
		if err := o.parse(view.Get(key)); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if model, err = m.Fold(o.Round, slices.Clone(model), slices.Clone(o.Sum)); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		all = append(all, o)
	}
	return all, nil
}

// parse reads the stored form.
func (o *Opened) parse(b []byte) error {
	wrong := fmt.Errorf("%w: a sum of %d bytes", ErrMalformed, len(b))
	if len(b) < 8 {
		return wrong
	}
	n := binary.BigEndian.Uint32(b[4:])
	o.Counted, b = int(binary.BigEndian.Uint32(b)), b[8:]
	if uint64(len(b)) < 4*uint64(n) {
		return wrong
	}
	for range n {
		o.Set, b = append(o.Set, int(binary.BigEndian.Uint32(b))), b[4:]
	}
	var ok bool
	if o.Sum, ok = UnpackInts(b); !ok {
		return wrong
	}
	return nil
}

// Parties returns the parties of a set's entries.
func Parties(set []Entry) (parties []int) {
	for _, e := range set {
		parties = append(parties, int(e.Party))
	}
	return parties
}
