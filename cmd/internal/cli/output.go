package cli

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// output is stdout, which remembers that a write has failed: most verbs print their text line by line
// and leave it to Execute to report that some of it is lost.
type output struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// errLost is of every error about output that could not be written.
var errLost = errors.New("not all of the output could be written")

// result is the error of a verb, or of its output if the verb itself has none.
func (o *output) result(verb error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil || verb != nil && !errors.Is(verb, o.err) {
		return verb
	}
	return fmt.Errorf("%w: %w", errLost, o.err)
}
