package main

import (
	"encoding/binary"
	"errors"

	"choir/crypto/field"
)

// limbs is how many field elements carry a secret of 32 bytes, seven bytes each.
const limbs = 5

// shard is one holder's point of a shared secret: the polynomials' values at its
// place, which is its index plus one.
type shard [limbs]field.Element

// split shares a secret among n holders such that any t of them recover it and fewer
// know nothing (Shamir, 1979), with coefficients from random, t-1 vectors of limbs.
func split(secret [32]byte, n int, random []shard) []shard {
	constant := toLimbs(secret)
	out := make([]shard, n)
	for i := range out {
		x := field.Element(i + 1)
		for l := range limbs { // Horner, from the highest coefficient
			y := field.Element(0)
			for c := len(random) - 1; c >= 0; c-- {
				y = field.Mul(field.Add(y, random[c][l]), x)
			}
			out[i][l] = field.Add(y, constant[l])
		}
	}
	return out
}

func toLimbs(secret [32]byte) (s shard) {
	var padded [7*limbs + 1]byte
	copy(padded[:], secret[:])
	for l := range s {
		s[l] = field.Element(binary.LittleEndian.Uint64(padded[7*l:]) & (1<<56 - 1))
	}
	return s
}

func fromLimbs(s shard) (secret [32]byte, err error) {
	var padded [7*limbs + 1]byte
	for l, v := range s {
		if v >= 1<<56 {
			return secret, errors.New("shares of no secret")
		}
		binary.LittleEndian.PutUint64(padded[7*l:], uint64(v))
	}
	return [32]byte(padded[:32]), nil
}

// weights are Lagrange's at zero for the holders.
func weights(holders []int) []field.Element {
	w := make([]field.Element, len(holders))
	for a, i := range holders {
		num, den := field.Element(1), field.Element(1)
		for b, j := range holders {
			if a == b {
				continue
			}
			num = field.Mul(num, field.Element(j+1))
			den = field.Mul(den, field.Sub(field.Element(j+1), field.Element(i+1)))
		}
		w[a] = field.Mul(num, inverse(den))
	}
	return w
}

// join recovers a secret from as many shards as there are weights.
func join(w []field.Element, shards []shard) ([32]byte, error) {
	var s shard
	for a := range w {
		for l := range s {
			s[l] = field.Add(s[l], field.Mul(w[a], shards[a][l]))
		}
	}
	return fromLimbs(s)
}

// inverse is x^(p-2).
func inverse(x field.Element) field.Element {
	r := field.Element(1)
	for e := field.Modulus - 2; e > 0; e >>= 1 {
		if e&1 == 1 {
			r = field.Mul(r, x)
		}
		x = field.Mul(x, x)
	}
	return r
}
