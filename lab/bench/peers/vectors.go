package main

import (
	"crypto/rand"
	"fmt"

	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/xof"
)

// vectors are the clients' inputs and their plain sum.
func vectors(cfg Config) (in []field.Vector, sum []int64, err error) {
	in, sum = make([]field.Vector, cfg.Parties), make([]int64, cfg.Dim)
	for i := range in {
		v := make([]int64, cfg.Dim)
		for j := range v {
			v[j] = int64((i*40503+j*7919)%2047) - 1023
			sum[j] += v[j]
		}
		in[i] = make(field.Vector, cfg.Dim)
		if err := fixedpoint.ToField(in[i], v); err != nil {
			return nil, nil, err
		}
	}
	return in, sum, nil
}

// equal holds a sum against the plain one.
func equal(got field.Vector, want []int64) error {
	v := make([]int64, len(got))
	fixedpoint.FromField(v, got)
	for j := range want {
		if v[j] != want[j] {
			return fmt.Errorf("coordinate %d of the sum is %d, not %d", j, v[j], want[j])
		}
	}
	return nil
}

// fresh is a uniform key.
func fresh() (k xof.Key, err error) {
	_, err = rand.Read(k[:])
	return k, err
}

// each calls f for every chunk of a vector.
func each(v field.Vector, f func(part field.Vector, chunk uint64)) {
	for c := range xof.Chunks(len(v)) {
		f(xof.Chunk(v, uint64(c)), uint64(c))
	}
}
