package commit

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm"
)

// blockSize is the number of products that are summed together. A larger one would save less than
// 2 % and take some 130 bytes of memory a product.
const blockSize = 1 << 14

// sumOfProducts returns Σ values[i]·points[i], computed by package msm in blocks and at most workers
// goroutines. The two slices have the same length. The time and the memory accesses depend on
// the values.
func sumOfProducts(points []msm.Point, values []int64, workers int) (*edwards25519.Point, error) {
	size := blockSize
	if workers > 1 {
		size = min(size, len(values)/workers+1)
	}
	blocks := (len(values) + size - 1) / size
	sums, errs := make([]*edwards25519.Point, blocks), make([]error, blocks)
	parallel(blocks, workers, func(b int) {
		lo, hi := b*size, min((b+1)*size, len(values))
		sums[b], errs[b] = blockSum(points[lo:hi], values[lo:hi])
	})
	total := edwards25519.NewIdentityPoint()
	for b := range sums {
		if errs[b] != nil {
			return nil, errs[b]
		}
		total.Add(total, sums[b])
	}
	return total, nil
}

func blockSum(points []msm.Point, values []int64) (*edwards25519.Point, error) {
	terms := make([]msm.Term, len(values))
	for i, v := range values {
		terms[i].Point, terms[i].Negative = &points[i], v < 0
		binary.LittleEndian.PutUint64(terms[i].Scalar[:], magnitude(v))
	}
	return msm.Sum(terms)
}

// magnitude returns |v|, 2^63 for the least int64.
func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
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
