// Package parallel spreads independent pieces of one computation over the cores.
//
// # Contract
//
// [Do] calls a function once for each index and returns when all calls have
// returned: no goroutine outlives it. Which core takes which index, and in which
// order, is open, so the function must write only where its index says. The result
// is then a function of the arguments alone, and code that may not depend on a
// schedule (the roles' machines) can use it.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers returns how many calls of n run at the same time: n, or the number of
// cores that the process may use when that is smaller; at least 1.
func Workers(n int) int { return max(1, min(n, runtime.GOMAXPROCS(0))) }

// Do calls f(0), ..., f(n-1), as many at a time as [Workers] says. With one worker
// the calls come in order, in the caller's goroutine.
func Do(n int, f func(i int)) {
	workers := Workers(n)
	if workers == 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	group.Wait()
}

// Try does the same for a function that can fail, and returns the error of the
// lowest index that did. The other calls are made all the same.
func Try(n int, f func(i int) error) error {
	errs := make([]error, n)
	Do(n, func(i int) { errs[i] = f(i) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
