// Package parallel distributes independent parts of one computation over the cores.
//
// # Contract
//
// [Do] calls a function once for each index and returns when all calls have
// returned, so that no goroutine outlives it. The core and the order of each index are not
// specified: the function must write only to memory that belongs to its index. The result is then
// a function of the arguments, and deterministic code (the state machines of the roles) can use it.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers returns the number of calls of n that run at the same time: n or GOMAXPROCS, whichever is
// smaller, and at least 1.
func Workers(n int) int { return max(1, min(n, runtime.GOMAXPROCS(0))) }

// Do calls f(0), ..., f(n-1), [Workers] of them at a time. With one worker the calls are made in
// order, in the goroutine of the caller.
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

// Try is Do for a function that can fail. It makes all calls and returns the error of the lowest
// index that failed.
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
