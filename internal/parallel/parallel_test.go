package parallel

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestEachIndexOnce: the function is called once for each index with any number of cores.
func TestEachIndexOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, cores := range []int{1, 2, 5} {
		runtime.GOMAXPROCS(cores)
		for _, n := range []int{0, 1, 2, 7, 1000} {
			calls := make([]atomic.Int32, n)
			Do(n, func(i int) { calls[i].Add(1) })
			for i := range calls {
				if c := calls[i].Load(); c != 1 {
					t.Fatalf("%d cores: index %d of %d was called %d times", cores, i, n, c)
				}
			}
		}
		if w := Workers(3); w != min(3, cores) {
			t.Errorf("%d workers for 3 pieces on %d cores", w, cores)
		}
	}
}

// TestFirstErrorByIndex: the error returned does not depend on the schedule.
func TestFirstErrorByIndex(t *testing.T) {
	broken := errors.New("broken")
	for range 50 {
		err := Try(100, func(i int) error {
			if i%10 == 3 {
				return fmt.Errorf("%d: %w", i, broken)
			}
			return nil
		})
		if !errors.Is(err, broken) || err.Error() != "3: broken" {
			t.Fatal(err)
		}
	}
	if err := Try(5, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
}
