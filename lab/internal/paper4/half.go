package paper4

import (
	"choir/lab/experiment"
	"choir/lab/internal/twister"
	"choir/lab/study"
)

// authorsHalf is Figure 1 on the very half of Adult that the authors' code trains on.
func authorsHalf() comparison {
	c := ten()
	c.name = "paper4-adult-half"
	c.title = "Logistic regression on Adult, 10 clients, (1, 1e-5), on the authors' half"
	c.half = true
	c.published = "paper4-adult"
	c.methods = []method{c.methods[0], c.methods[1], c.methods[2], c.methods[4], planned(c.methods[0])}
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
	source, order := twister.New(seed), make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		mask := uint32(1)
		for mask < uint32(i) {
			mask = mask<<1 | 1
		}
		j := source.Next() & mask
		for j > uint32(i) {
			j = source.Next() & mask
		}
		order[i], order[j] = order[j], order[i]
	}
	return order
}
