package privacy

import "math"

// Bound is an epsilon with the argument that proves it.
type Bound struct {
	Epsilon float64 // upper bound at the requested delta; may be +Inf
	Method  string  // methodNearGaussian or methodZCDP
}

// The arguments that prove a Bound.
const (
	// Rounding of a Gaussian and exact Gaussian composition (docs/privacy.md, Theorem 3).
	methodNearGaussian = "near-gaussian"
	// Zero-concentrated differential privacy ([CKS20]), with Lemma 1 for sums.
	methodZCDP = "zcdp"
)

// Epsilon returns an upper bound, rounded up, on the epsilon at delta of all releases together, made
// adaptively and in any order: later sums may depend on earlier ones, but their noise may not.
// Releases may differ in noise, sensitivity and dimension. It is the better of two proven bounds:
// zCDP with the best order, and the exact Gaussian curve of slightly less noise. No release costs 0.
func Epsilon(releases []Release, delta float64) (Bound, error) {
	if err := validateDelta(delta); err != nil {
		return Bound{}, err
	}
	for i, r := range releases {
		if err := r.Validate(); err != nil {
			return Bound{}, reject("release %d: %v", i, err)
		}
	}
	return group(releases).epsilon(delta), nil
}

// sums describes n equal releases in floating point, for computing bounds.
type sums struct {
	sensitivity, part float64 // L2; variance of one part
	parts             uint32
	dim, n            float64
}

func (x sums) variance() float64 { return x.part * float64(x.parts) }

// rho returns the zCDP parameter of one sum at the given variance, rounded up.
func (x sums) rho(variance float64) float64 { return rho(x.sensitivity, variance) }

// grouped counts equal releases, so that the rounds of a plan take the time of one.
type grouped []sums

func group(releases []Release) grouped {
	var g grouped
	index := map[Release]int{}
	for _, r := range releases {
		i, ok := index[r]
		if !ok {
			i = len(g)
			index[r] = i
			g = append(g, r.sums(0))
		}
		g[i].n++
	}
	return g
}

func (g grouped) epsilon(delta float64) Bound {
	if len(g) == 0 {
		return Bound{0, methodZCDP}
	}
	best := Bound{g.zcdp(delta), methodZCDP}
	if e := g.bestNearGaussian(delta); e < best.Epsilon {
		best = Bound{e, methodNearGaussian}
	}
	return best
}

// bestNearGaussian tries several rounding variances. All are valid: larger ones reduce the variance,
// smaller ones increase the deviation.
func (g grouped) bestNearGaussian(delta float64) float64 {
	best := math.Inf(1)
	for _, r := range [...]float64{0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 10} {
		best = math.Min(best, g.nearGaussian(r, delta))
	}
	return best
}

// nearGaussian is Theorem 3 of docs/privacy.md: with the variance s of every release
// replaced by s - r, delta(epsilon) <= e^high GaussianDelta(mu, epsilon - low - high).
func (g grouped) nearGaussian(r, delta float64) float64 {
	var rho float64
	var total deviation
	for _, x := range g {
		s := x.variance()
		if s <= r {
			return math.Inf(1)
		}
		one := sumDeviation(x.part, x.parts).plus(roundingDeviation(r))
		total = total.plus(one.times(x.n * x.dim))
		rho = up(rho + x.n*x.rho((s-r)*(1-0x1p-45)))
	}
	if total.low+total.high > 1 {
		return math.Inf(1)
	}
	e := GaussianEpsilon(up(math.Sqrt(2*rho)), delta*math.Exp(-total.high)*(1-0x1p-45))
	return up(e + total.low + total.high)
}

// zcdp composes Renyi divergences. One part is exactly rho-zCDP. For more, the sum
// deviates from a discrete Gaussian by Lemma 1, which at order alpha adds at most
// alpha/(alpha-1) high + low to the divergence.
func (g grouped) zcdp(delta float64) float64 {
	var rho float64
	var total deviation
	for _, x := range g {
		rho = up(rho + x.n*x.rho(x.variance()))
		if x.parts > 1 {
			d := sumDeviation(x.part, x.parts)
			d.high = up(d.high + math.Log1p(thetaTail(x.variance())))
			total = total.plus(d.times(x.n * x.dim))
		}
	}
	if math.IsInf(total.low+total.high, 1) {
		return math.Inf(1)
	}
	return bestOrder(delta, func(a float64) float64 {
		return up(a*rho + a/(a-1)*total.high + total.low)
	})
}
