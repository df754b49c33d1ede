package paper4

import (
	"choir/lab/experiment"
	"choir/lab/study"
)

// authorsHalf is Figure 1 on the very half of Adult that the authors' code trains on.
func authorsHalf() comparison {
	c := ten()
	c.name = "paper4-adult-half"
	c.title = "Logistic regression on Adult, 10 clients, (1, 1e-5), on the authors' half"
	c.half = true
	c.published = "paper4-adult"
	c.methods = []method{c.methods[0], c.methods[1], c.methods[2], c.methods[4]}
	return c
}

// adultHalf is Adult, its first half in numpy's order to test and its second to train.
func adultHalf(o study.Options, s split, parties int, seed uint64) (*experiment.Data, error) {
	from, err := experiment.Adult(o.DataDir)
	if err != nil {
		return nil, err
	}
	order := numpyPermutation(len(from.Records.Cells), 0)
	half := len(order) / 2
	from.Order = append(order[half:len(order):len(order)], order[:half]...)
	from.Seed = seed
	from.Parties = parties
	from.Rho = s.rho
	from.Kappa = s.kappa
	from.Train = 0.5
	return from.Load()
}

// numpyPermutation is numpy.random.RandomState(seed).permutation(n): Fisher and Yates's
// shuffle from the top, by the Mersenne Twister MT19937 [MN98] with its integers masked to the
// least power of two and rejected. It repeats the split of a published experiment and has no
// other use.
func numpyPermutation(n int, seed uint32) []int {
	twister, order := newTwister(seed), make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		mask := uint32(1)
		for mask < uint32(i) {
			mask = mask<<1 | 1
		}
		j := twister.next() & mask
		for j > uint32(i) {
			j = twister.next() & mask
		}
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// twister is MT19937.
type twister struct {
	state [624]uint32
	at    int
}

func newTwister(seed uint32) *twister {
	t := &twister{at: 624}
	t.state[0] = seed
	for i := 1; i < len(t.state); i++ {
		t.state[i] = 1812433253*(t.state[i-1]^t.state[i-1]>>30) + uint32(i)
	}
	return t
}

func (t *twister) next() uint32 {
	const n, m = 624, 397
	if t.at == n {
		for i := range n {
			y := t.state[i]&0x80000000 | t.state[(i+1)%n]&0x7fffffff
			t.state[i] = t.state[(i+m)%n] ^ y>>1 ^ (y&1)*0x9908b0df
		}
		t.at = 0
	}
	y := t.state[t.at]
	t.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}
