package pld

import "math"

// profile approximates the cumulant generating functions of the losses of the terms on a few
// hundred points, to choose a tilt and a window. The bounds do not depend on its accuracy.
type profile struct {
	counts []float64
	loss   [][]float64
	lnMass [][]float64
}

func newProfile(terms []Term, tail float64) profile {
	var f profile
	for _, t := range terms {
		if t.Kind == Discrete {
			f.add(t)
			continue
		}
		loss, lnMass := []float64{0}, []float64{math.Log(t.atom())}
		for _, p := range t.pieces(tail) {
			const n = 800
			w := (p.hi - p.lo) / n
			end, _ := p.at(p.lo)
			loss = append(loss, end)
			lnMass = append(lnMass, math.Log(p.low))
			for k := range n {
				l, density := p.at(p.lo + (float64(k)+0.5)*w)
				loss = append(loss, l)
				lnMass = append(lnMass, math.Log(density*w))
			}
		}
		f.counts = append(f.counts, float64(t.Count))
		f.loss = append(f.loss, loss)
		f.lnMass = append(f.lnMass, lnMass)
	}
	return f
}

// cumulants returns K(theta) of the whole composition and its first two derivatives.
func (f profile) cumulants(theta float64) (k0, k1, k2 float64) {
	for j, n := range f.counts {
		a, b, c := moments(f.loss[j], f.lnMass[j], theta)
		k0, k1, k2 = k0+n*a, k1+n*b, k2+n*c
	}
	return k0, k1, k2
}

// moments returns ln E e^(theta L), and the mean and variance of L under the tilted mass.
func moments(loss, lnMass []float64, theta float64) (lnM, mean, variance float64) {
	peak := math.Inf(-1)
	for i, l := range loss {
		if x := theta*l + lnMass[i]; x > peak {
			peak = x
		}
	}
	var s, s1, s2 float64
	for i, l := range loss {
		w := math.Exp(theta*l + lnMass[i] - peak)
		s, s1, s2 = s+w, s1+w*l, s2+w*l*l
	}
	mean = s1 / s
	return peak + math.Log(s), mean, math.Max(0, s2/s-mean*mean)
}

// reach returns a bound above (side 1) or below (side -1) the sum tilted by theta that is exceeded with
// probability about e^-34, and the exponent for which Chernoff's inequality proves it. The magnitude
// of the exponent is at most most, since the rounding of the grid would matter for larger ones.
func (f profile) reach(theta, side, most float64) (edge, exponent float64) {
	const rare = 34
	k0, _, k2 := f.cumulants(theta)
	at := func(u float64) float64 {
		t := side * math.Exp(u)
		k, _, _ := f.cumulants(theta + t)
		return side * (rare + k - k0) / t
	}
	// For a Gaussian sum the best exponent is sqrt(2 rare) over its standard deviation.
	mid := math.Min(math.Log(most), math.Log(math.Sqrt(2*rare)/math.Max(math.Sqrt(k2), f.resolution())))
	best, value := mid, at(mid)
	var grid []float64
	for u := mid - 6; u < math.Min(mid+2, math.Log(most)); u += 0.25 {
		grid = append(grid, u)
	}
	better := func(i int) bool {
		if i < 0 || i >= len(grid) {
			return false
		}
		v := at(grid[i])
		if !(v < value) {
			return false
		}
		best, value = grid[i], v
		return true
	}
	// The bound is quasiconvex in t, since K is convex: what is beyond a step that gains nothing gains nothing.
	const middle = 24 // the grid's point at mid, up to rounding
	better(middle)
	down, up := middle-1, middle+1
	for better(down) {
		down--
	}
	for down == middle-1 && better(up) {
		up++
	}
	return side * value, side * math.Exp(best)
}

// resolution returns the precision of floats on the scale of the losses.
func (f profile) resolution() float64 {
	most := 0x1p-60
	for _, losses := range f.loss {
		for _, l := range losses {
			most = math.Max(most, math.Abs(l))
		}
	}
	return 0x1p-40 * most
}

// tilt returns the theta >= 0 whose Chernoff bound exp(K - theta K') is about delta, so that the tail
// that determines epsilon has most of the mass. Losses of at most s < 1 count at most s times their
// mass, so that the tail must be larger by that factor.
func (f profile) tilt(delta float64) float64 {
	_, _, variance := f.cumulants(0)
	deviation := math.Max(math.Sqrt(variance), f.resolution())
	goal := math.Log(delta) - math.Min(0, math.Log(deviation))
	exponent := func(theta float64) float64 {
		k0, k1, _ := f.cumulants(theta)
		return k0 - theta*k1
	}
	if goal >= 0 {
		return 0
	}
	// A Gaussian sum with delta above 1e-200 needs no more than 30 standard deviations.
	// Bounded losses would need more and gain nothing.
	most := 30 / deviation
	hi := most / 64
	for exponent(hi) > goal && hi < most {
		hi *= 2
	}
	lo := 0.0
	for range 30 {
		mid := (lo + hi) / 2
		if exponent(mid) > goal {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// saddle returns the tilt >= 0 at which the mean of the sum is about epsilon.
func (f profile) saddle(epsilon float64) float64 {
	mean := func(theta float64) float64 {
		_, k1, _ := f.cumulants(theta)
		return k1
	}
	_, _, variance := f.cumulants(0)
	most := 60 / math.Max(math.Sqrt(variance), f.resolution())
	lo, hi := 0.0, most/1024
	for mean(hi) < epsilon && hi < most {
		lo, hi = hi, 2*hi
	}
	for range 30 {
		if mid := (lo + hi) / 2; mean(mid) < epsilon {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}
