package pvi

import (
	"errors"
	"fmt"
	"math/bits"
)

// Relation determines which data sets are neighbours.
type Relation string

// The relations.
const (
	// ReplaceRecord: one record at one party has another value.
	ReplaceRecord Relation = "replace-record"
	// AddRemoveRecord: one record's place at one party is empty instead; the other
	// records stay in their shards and the public weights stay as they are.
	AddRemoveRecord Relation = "add-remove-record"
	// ReplaceParty: one party has an entirely different data set.
	ReplaceParty Relation = "replace-party"
	// AddRemoveParty: one party contributes zeros instead.
	AddRemoveParty Relation = "add-remove-party"
)

// ErrUnbounded: a bound was requested of a configuration without clipping.
var ErrUnbounded = errors.New("updates are not clipped")

// perParty bounds the L2 norm, and so every coordinate, of one party's Update in units of
// 2^-f: Shards times the integer clip. Headroom checks multiply it by the number of parties
// and add the noise's tail. With local noise it is UpdateClip's bound, which includes the
// noise. Errors: ErrUnbounded, ErrOverflow.
func (c Config) perParty() (uint64, error) {
	if p := c.params(); !p.Local {
		return c.bound(c.reach() * uint64(p.Shards))
	}
	if c.Clip == 0 {
		return 0, ErrUnbounded
	}
	return c.grid().IntBound(c.updateClip())
}

// Sensitivity bounds the L2 distance, in units of 2^-f, between the sums that two
// neighbouring data sets give in one release (with local noise: one party's; before
// sampling), given everything that was released before. docs/methods.md has the theorems
// for every strategy.
//
// Argument for shards. Write B for the integer clip. In round s a shard's clipped vector is
// a deterministic function of public numbers (the raw states before, the configuration, the
// weight) and of the shard's own records: by induction its private factor is, since it is
// the damped sum of its earlier clipped vectors, without noise. A record is in one shard
// (Data.Split). So neighbours by a record give equal vectors in all other shards, and in
// that one shard two vectors of norm at most B each, hence at most 2B apart, for every
// record; in a residual round two of a set of that diameter. With one party exchanged the
// same holds for each of its Shards vectors: 2B Shards.
//
// AddRemoveRecord is 2B and not B: the shard without the record still sends a clipped
// vector, which may point in the opposite direction. AddRemoveParty is Shards B, as one of
// the two vectors is zero, and twice that with residual rounds. Rounds compose adaptively
// over the public history.
//
// For strategies that clip single records B bounds a record's vector, a function of the
// record and of what was released before: 2B for neighbours by a record, and no bound for
// those by a party, whose number of records is not known here. Errors: ErrUnbounded,
// ErrOverflow, ErrConfig for an unknown relation.
func (c Config) Sensitivity(r Relation) (uint64, error) {
	if c.stepped() && (r == ReplaceParty || r == AddRemoveParty) {
		return 0, fmt.Errorf("all records of a party: %w", ErrUnbounded)
	}
	switch r {
	case ReplaceRecord, AddRemoveRecord:
		return c.bound(2)
	case ReplaceParty:
		return c.bound(2 * uint64(c.params().Shards))
	case AddRemoveParty:
		return c.bound(c.reach() * uint64(c.params().Shards))
	}
	return 0, fmt.Errorf("%w: relation %q is unknown", ErrConfig, r)
}

// reach bounds the norm of a shard's term, in integer clips: residual rounds have longer ones, of which one
// that replaces another is as near as others are.
func (c Config) reach() uint64 {
	if c.ResidualFrom > 0 && !c.newton() {
		return 2
	}
	return 1
}

// bound returns n times the integer clip.
func (c Config) bound(n uint64) (uint64, error) {
	if c.Clip == 0 {
		return 0, ErrUnbounded
	}
	b, err := c.clipUnits()
	if err != nil {
		return 0, fmt.Errorf("clip: %w", err)
	}
	hi, lo := bits.Mul64(n, b)
	if hi != 0 {
		return 0, fmt.Errorf("bound of %d clipped vectors: %w", n, ErrOverflow)
	}
	return lo, nil
}
