package commit

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"filippo.io/edwards25519"
)

// sumOfProducts returns Σ values[i]·points[i] by the bucket method (Pippenger;
// Bernstein, Doumen, Lange and Oosterwijk, "Faster batch forgery
// identification", section 4). The scalars are cut into windows of c bits with
// signed digits (Booth), so that a window needs 2^(c-1) buckets; windows are
// independent and go to as many goroutines as workers says. The two slices have
// the same length. Variable time.
func sumOfProducts(points []edwards25519.Point, values []int64, workers int) *edwards25519.Point {
	width := bitLen(values)
	c := windowSize(len(values), width)
	sums := make([]*edwards25519.Point, windows(width, c))
	parallel(len(sums), workers, func(w int) {
		sums[w] = windowSum(points, values, w, c)
	})
	total := edwards25519.NewIdentityPoint()
	for w := len(sums) - 1; w >= 0; w-- {
		for range c {
			total.Double(total)
		}
		total.Add(total, sums[w])
	}
	return total
}

// magnitude returns |v|, 2^63 for the least int64.
func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// bitLen returns the length in bits of the longest magnitude.
func bitLen(values []int64) int {
	var all uint64
	for _, v := range values {
		all |= magnitude(v)
	}
	return bits.Len64(all)
}

// windows returns the number of windows of c bits for magnitudes of width bits;
// the last has room for the carry of the one before.
func windows(width, c int) int { return width/c + 1 }

// windowSize returns the c for which adding n points to buckets and summing the
// buckets costs least over all windows.
func windowSize(n, width int) int {
	cost := func(c int) int { return windows(width, c) * (n + 1<<c) }
	best := 1
	for c := 2; c <= 16; c++ {
		if cost(c) < cost(best) {
			best = c
		}
	}
	return best
}

// digit returns the Booth digit w of m, in [-2^(c-1), 2^(c-1)]: it reads the
// c bits of its window and the bit below them, so it needs no carry chain. The
// sum of digit(m, w, c)·2^(c·w) over all windows is m.
func digit(m uint64, w, c int) int {
	var x uint64
	if w == 0 {
		x = m << 1
	} else {
		x = m >> (c*w - 1)
	}
	x &= 1<<(c+1) - 1
	return int((x+1)>>1) - int(x>>c)<<c
}

// windowSum returns Σ digit(values[i])·points[i] for one window.
func windowSum(points []edwards25519.Point, values []int64, w, c int) *edwards25519.Point {
	buckets := make([]edwards25519.Point, 1<<(c-1))
	for b := range buckets {
		buckets[b].Set(edwards25519.NewIdentityPoint())
	}
	for i, v := range values {
		d := digit(magnitude(v), w, c)
		if v < 0 {
			d = -d
		}
		switch {
		case d > 0:
			buckets[d-1].Add(&buckets[d-1], &points[i])
		case d < 0:
			buckets[-d-1].Subtract(&buckets[-d-1], &points[i])
		}
	}
	// Σ (b+1)·buckets[b], as the sum of all the sums from the top down to b.
	running, total := edwards25519.NewIdentityPoint(), edwards25519.NewIdentityPoint()
	for b := len(buckets) - 1; b >= 0; b-- {
		running.Add(running, &buckets[b])
		total.Add(total, running)
	}
	return total
}

// parallel calls f(0) ... f(n-1) from up to workers goroutines and waits.
func parallel(n, workers int, f func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}
