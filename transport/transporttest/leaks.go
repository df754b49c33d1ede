package transporttest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// leaks returns an error that names the goroutines that are left, once none has ended for
// a long while: goleak itself waits for half a second, which a busy machine may need.
func leaks(options ...goleak.Option) (err error) {
	for range 240 { // two minutes
		if err = goleak.Find(options...); err == nil {
			return nil
		}
	}
	return err
}

// Main is a package's TestMain: it runs the tests and returns the exit code, which isn't 0
// when they leave goroutines behind.
func Main(m *testing.M) (code int) {
	if code = m.Run(); code != 0 {
		return code
	}
	if err := leaks(); err != nil {
		fmt.Fprintf(os.Stderr, "goroutines are left: %v\n", err)
		return 1
	}
	return 0
}
