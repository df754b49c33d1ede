package bench

import (
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"sync"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/identity"
)

// Limits are rates of this machine, measured in the run that they are compared
// with, in bytes per second of processor time: one core's.
type Limits struct {
	KeystreamAdd float64 `json:"keystream_add_bytes_per_core_second"` // AES-256-CTR, added to a vector mod p
	GCM          float64 `json:"aes_gcm_bytes_per_core_second"`       // AES-256-GCM, sealing
	// of one channel: an encapsulation and the decapsulation of the suite's KEM, in HPKE
	KEM   float64 `json:"kem_cpu_seconds_per_channel"`
	Cores int     `json:"cores"`
}

// Bounds on the bytes that each worker processes for one limit: small cells fewer than large
// ones, and enough for some milliseconds.
const (
	minLimitBytes = 16 << 20
	maxLimitBytes = 64 << 20
)

// measureLimits measures both rates with all workers at once.
func measureLimits(cfg Config) (Limits, error) {
	workers, l := cfg.Workers, Limits{Cores: cfg.Workers}
	each := min(maxLimitBytes, max(minLimitBytes, 8*cfg.Parties*cfg.elements()))
	for _, m := range []struct {
		to *float64
		f  func(dim, bytes int) error
	}{{&l.KeystreamAdd, keystreamAdd}, {&l.GCM, sealChunks}} {
		c, err := Measure(func() error {
			return parallel(workers, workers,
				func(int) error { return m.f(cfg.elements(), each) })
		})
		if err != nil {
			return l, fmt.Errorf("limit: %w", err)
		}
		*m.to = float64(workers) * float64(each) / c.CPUSeconds
	}
	return l, nil
}

const limitElements = 1 << 14

// keystreamAdd is all that a derived share costs at the least: AES-256 in counter mode, 8 KiB
// at a time, and an addition for each eight bytes of it, over a vector that is long enough
// for nothing else to count, and short enough for the cache.
func keystreamAdd(_, bytes int) error {
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		return err
	}
	ctr := cipher.NewCTR(block, make([]byte, aes.BlockSize))
	acc := make(field.Vector, limitElements)
	buf := make([]byte, 8<<10)
	zero := make([]byte, 8<<10)
	for done := 0; done < bytes; {
		for lo := 0; lo < len(acc) && done < bytes; lo += len(buf) / field.ElementSize {
			v := acc[lo:min(len(acc), lo+len(buf)/field.ElementSize)]
			ctr.XORKeyStream(buf[:field.ElementSize*len(v)], zero[:field.ElementSize*len(v)])
			// a word that is no element ends a batch, once in 2^32 words: too rare to matter here
			v.AddWords(buf)
			done += field.ElementSize * len(v)
		}
	}
	return nil
}

// signatures is how many signatures are made to know what one costs.
const signatures = 512

// signSeconds is the processor time of one signature on a message as long as a
// receipt.
func signSeconds(key *identity.PrivateKey) float64 {
	msg := make([]byte, 128)
	c, _ := Measure(func() error { // signing cannot fail
		for range signatures {
			key.Sign(msg)
		}
		return nil
	})
	return c.CPUSeconds / signatures
}

// sealChunks seals pieces as long as a vector's chunks.
func sealChunks(dim, bytes int) error {
	box, err := channel.NewBox([32]byte{}, nil)
	if err != nil {
		return err
	}
	plain := make([]byte, min(8*dim, 512<<10))
	sealed := make([]byte, 0, len(plain)+channel.Overhead)
	for done := 0; done < bytes; done += len(plain) {
		sealed = box.Seal(sealed[:0], 0, false, plain)
	}
	return nil
}

// parallel runs f(0) ... f(n-1) on some workers and returns the first error.
func parallel(workers, n int, f func(i int) error) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var first error
	next := 0
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= n || first != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(workers, n) {
		group.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := f(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return first
}
