package protocol

import (
	"errors"
	"fmt"
)

// Class says what kind of failure ended a role or a command; the command line
// turns it into its exit code.
type Class int

const (
	ClassFailed    Class = 1 // anything not below
	ClassAuth      Class = 2 // authentication or connection
	ClassTimeout   Class = 3 // a deadline passed
	ClassInput     Class = 4 // bad input: a flag, a file, a plan that can't hold
	ClassQuorum    Class = 5 // too few parties or nodes to go on
	ClassBudget    Class = 6 // the privacy budget refuses
	ClassIntegrity Class = 7 // wrong plan, bad signature, altered or expired document
)

// Error is a failure with its class. Use Fail to make one, ClassOf to read it.
type Error struct {
	Class Class
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Fail wraps a formatted error with its class.
func Fail(c Class, format string, args ...any) error {
	return &Error{Class: c, Err: fmt.Errorf(format, args...)}
}

// ClassOf is the class of the outermost Error in err's chain, ClassFailed
// when there is none.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ClassFailed
}

// Reasons for which a role refuses a message; all of them leave the role as it
// was. Tests and operators decide on them with errors.Is.
var (
	ErrWrongPlan  = errors.New("message belongs to another plan")
	ErrSignature  = errors.New("signature doesn't verify")
	ErrUnknown    = errors.New("sender isn't a member in that role")
	ErrEquivocate = errors.New("sender signed two different messages for one purpose")
	ErrStale      = errors.New("message is for a round or attempt that is over")
	ErrEarly      = errors.New("message is for a round or attempt that isn't open")
	ErrMismatch   = errors.New("content disagrees with what was agreed")
	ErrSealed     = errors.New("sealed data doesn't open under the agreed key")
	ErrSmallSet   = errors.New("set is smaller than the plan's N_min")
	ErrRevealed   = errors.New("a partial sum of this round was already revealed")
	ErrExpired    = errors.New("the plan or a key has expired")
)
