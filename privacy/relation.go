package privacy

import (
	"errors"
	"fmt"
	"math"
)

// Relation is the neighbouring relation: what one individual may change.
type Relation uint8

const (
	// ReplaceOne replaces one record by another; the number of
	// records is public. Neighbouring sums of terms bounded by C differ by up to 2C.
	ReplaceOne Relation = 1
	// AddRemove adds or removes one record; neighbouring sums differ by up to C.
	AddRemove Relation = 2
)

// Errors that callers distinguish.
var (
	// ErrInput reports input that is invalid or for which no bound is proven. The message names the
	// field.
	ErrInput = errors.New("privacy: impossible input")
	// ErrUnreachable reports a target that no noise in range meets.
	ErrUnreachable = errors.New("privacy: target out of reach")
)

func reject(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrInput}, args...)...)
}

// String returns the name of the relation in plans and flags.
func (r Relation) String() string {
	switch r {
	case ReplaceOne:
		return "replace-one"
	case AddRemove:
		return "add-remove"
	}
	return fmt.Sprintf("relation(%d)", uint8(r))
}

// ParseRelation parses "replace-one" (or "replace") and "add-remove".
func ParseRelation(s string) (Relation, error) {
	switch s {
	case "replace-one", "replace":
		return ReplaceOne, nil
	case "add-remove":
		return AddRemove, nil
	}
	return 0, reject("relation %q is neither replace-one nor add-remove", s)
}

// Sensitivity returns the largest L2 distance, in grid units, between the sums over
// neighbouring data if each record (in virtual-client PVI: each shard) contributes
// one integer vector of L2 norm at most clip: 2 clip for ReplaceOne,
// clip for AddRemove. It is exact, since the clip applies to the integers, after rounding.
//
// With AddRemove the caller guarantees that the absence of a record does not change the terms of other
// records, and that the term of an empty shard is zero.
func (r Relation) Sensitivity(clip uint64) (uint64, error) {
	switch {
	case clip == 0:
		return 0, reject("clip 0 bounds nothing")
	case r == AddRemove:
		return clip, nil
	case r != ReplaceOne:
		return 0, reject("unknown %v", r)
	case clip > math.MaxUint64/2:
		return 0, reject("clip %d: twice that overflows 64 bits", clip)
	}
	return 2 * clip, nil
}
