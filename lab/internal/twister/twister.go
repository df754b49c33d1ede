// Package twister repeats the draws of numpy's legacy generator, by the Mersenne Twister [MN98],
// for data and splits of published experiments, and the studies of chains that draw as these do.
package twister

import "math"

// Twister is MT19937.
type Twister struct {
	state [624]uint32
	at    int
	spare float64
	has   bool
}

// New starts a generator as numpy.random.RandomState(seed) does.
func New(seed uint32) *Twister {
	t := &Twister{at: 624}
	t.state[0] = seed
	for i := 1; i < len(t.state); i++ {
		t.state[i] = 1812433253*(t.state[i-1]^t.state[i-1]>>30) + uint32(i)
	}
	return t
}

// Next returns 32 bits.
func (t *Twister) Next() uint32 {
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

// Float is RandomState.rand: uniform on the multiples of 2^-53 in [0, 1).
func (t *Twister) Float() float64 {
	a, b := t.Next()>>5, t.Next()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}

// Normal is RandomState.normal(0, 1), by the polar method; every second draw is the spare of
// the one before.
func (t *Twister) Normal() float64 {
	if t.has {
		t.has = false
		return t.spare
	}
	for {
		x, y := 2*t.Float()-1, 2*t.Float()-1
		if s := x*x + y*y; s < 1 && s != 0 {
			f := math.Sqrt(-2 * math.Log(s) / s)
			t.spare, t.has = f*x, true
			return f * y
		}
	}
}
