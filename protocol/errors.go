package protocol

import (
	"errors"
	"fmt"
)

// Class is the kind of failure that ended a role or a command. It is the exit code of the
// command line.
type Class int

const (
	ClassFailed    Class = 1 // any other failure
	ClassAuth      Class = 2 // authentication or connection
	ClassTimeout   Class = 3 // a deadline passed
	ClassInput     Class = 4 // bad input: a flag, a file, an infeasible plan
	ClassQuorum    Class = 5 // too few parties or nodes
	ClassBudget    Class = 6 // beyond the privacy budget
	ClassIntegrity Class = 7 // wrong plan, bad signature, altered or expired document
)

// Error is a failure with its class. Fail makes one, and ClassOf returns its class.
type Error struct {
	Class Class
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Fail returns a formatted error with a class.
func Fail(c Class, format string, args ...any) error {
	return &Error{Class: c, Err: fmt.Errorf(format, args...)}
}

// ClassOf returns the class of the outermost Error in err's chain, ClassFailed if there is
// none.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ClassFailed
}

// The reasons for which a role rejects a message. The role's state does not change. Tests and
// operators match them with errors.Is.
var (
	ErrWrongPlan  = errors.New("message belongs to another plan")
	ErrSignature  = errors.New("signature does not verify")
	ErrUnknown    = errors.New("sender is not a member in that role")
	ErrEquivocate = errors.New("sender signed two different messages for one purpose")
	ErrStale      = errors.New("message is for a round or attempt that is over")
	ErrEarly      = errors.New("message is for a round or attempt that is not open")
	ErrMismatch   = errors.New("content disagrees with what was agreed")
	ErrSealed     = errors.New("sealed data does not open under the agreed key")
	ErrSmallSet   = errors.New("set is smaller than the plan's N_min")
	ErrRevealed   = errors.New("a partial sum of this round was already revealed")
	ErrExpired    = errors.New("the plan has expired")
	ErrKeyExpired = errors.New("the key has expired")
)

// ErrDuplicate is returned for a message that was accepted before. It is not reported.
var ErrDuplicate = errors.New("duplicate")
