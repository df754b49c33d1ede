package transporttest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// leaks returns an error that names the goroutines that are left, if there are any after two
// minutes: goleak itself waits for half a second, which is too short on a busy machine.
func leaks(options ...goleak.Option) (err error) {
	for range 240 { // half a second each
		if err = goleak.Find(options...); err == nil {
			return nil
		}
	}
	return err
}

// Main is a package's TestMain: it runs the tests and returns the exit code, which is 1 if they
// leave goroutines running.
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
