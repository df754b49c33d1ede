package model

import (
	"iter"
	"math"
)

// pass is one sweep over records with fixed variational parameters.
type pass struct {
	hidden, samples int
	mean, variance  []float64 // of the output layer: u, then b
	sd, eps, z      []float64 // of the units' inputs; the samples; the units
	da, ds          []float64 // sums over samples
}

func (n *neural) newPass(ws *Workspace, mean, variance []float64) *pass {
	inner, h := n.hidden*n.features, n.hidden
	p := &pass{hidden: h, samples: n.samples, mean: mean[inner:], variance: variance[inner:]}
	buf := ws.units(5 * h)
	for i, v := range []*[]float64{&p.sd, &p.eps, &p.z, &p.da, &p.ds} {
		*v = buf[i*h : (i+1)*h : (i+1)*h]
	}
	return p
}

// row adds one record. a and s have the means and the variances of its units' inputs and
// become the derivatives by those means and twice those by the variances, as the chain rule
// to the log standard deviations needs: d s/d logsd_j = 2 x_j^2 variance_j. The derivatives
// by the output layer's means and log standard deviations are added to gMean and gLogSD.
//
// With one sample's z, mu = z.u + b and v = z^2.var u + var b, the expectation over the
// output layer is y mu - E softplus, whose derivatives are y - E sigma by mu and -1/2 E
// sigma' by v.
func (p *pass) row(a, s, gMean, gLogSD []float64, y float64, seed uint64) {
	h := p.hidden
	for r, c := range p.outputs(a, s, y, seed) {
		for i, z := range p.z {
			if z <= 0 {
				continue
			}
			zv := c * z * p.variance[i]
			dz := r*p.mean[i] + zv
			p.da[i] += dz
			p.ds[i] += dz * p.eps[i]
			gMean[i] += r * z
			gLogSD[i] += zv * z
		}
		gMean[h] += r
		gLogSD[h] += c * p.variance[h]
	}
	copy(a, p.da)
	for i, sd := range p.sd {
		s[i] = 0
		if sd > 0 {
			s[i] = p.ds[i] / sd
		}
	}
}

// outputs draws the samples of a record's units, whose inputs have the means a and the
// variances s. For each it leaves eps and z and yields its share of the derivative by the
// output's mean and twice that of the derivative by its variance.
func (p *pass) outputs(a, s []float64, y float64, seed uint64) iter.Seq2[float64, float64] {
	return func(yield func(byMean, byVariance float64) bool) {
		for i, v := range s {
			p.sd[i] = math.Sqrt(v)
		}
		clear(p.da)
		clear(p.ds)
		from, scale := normals{state: seed}, 1/float64(p.samples)
		for k := range p.samples {
			from.antithetic(p.eps, k)
			mu, v := p.forward(a)
			mean, slope := sigmoidMoments(mu, v)
			if !yield(scale*(y-mean), -scale*slope) {
				return
			}
		}
	}
}

// forward writes the units of the sample eps to z and returns the mean and the variance of
// the output.
func (p *pass) forward(a []float64) (mu, v float64) {
	mu, v = p.mean[p.hidden], p.variance[p.hidden]
	for i, m := range a {
		z := max(0, m+p.eps[i]*p.sd[i])
		p.z[i] = z
		mu += z * p.mean[i]
		v += z * z * p.variance[i]
	}
	return mu, v
}

// digest mixes numbers into a seed.
func digest(seed uint64, v []float64) uint64 {
	for _, x := range v {
		seed = mix(seed + gamma ^ math.Float64bits(x))
	}
	return seed
}

// gamma and mix are those of SplitMix64 (Steele, Lea and Flood, 2014).
const gamma = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uniform is the i-th of a fixed sequence of numbers spread evenly over [-1, 1), the
// same on every machine: public, and no secret's.
func Uniform(i int) float64 {
	return math.Ldexp(float64(int64(mix(uint64(i+1)*gamma))>>11), -52)
}

// normals is a stream of standard normal numbers for Monte-Carlo estimates:
// SplitMix64 and the transform of Box and Muller. It is not for noise.
type normals struct{ state uint64 }

// uniform is in (0, 1].
func (n *normals) uniform() float64 {
	n.state += gamma
	return (float64(mix(n.state)>>11) + 1) / (1 << 53)
}

// fill writes independent normals.
func (n *normals) fill(dst []float64) {
	for i := 0; i < len(dst); i += 2 {
		r := math.Sqrt(-2 * math.Log(n.uniform()))
		sin, cos := math.Sincos(2 * math.Pi * n.uniform())
		dst[i] = r * cos
		if i+1 < len(dst) {
			dst[i+1] = r * sin
		}
	}
}

// antithetic writes the k-th sample: fresh numbers when k is even, else the mirror
// image of the last ones.
func (n *normals) antithetic(dst []float64, k int) {
	if k%2 == 0 {
		n.fill(dst)
		return
	}
	for i := range dst {
		dst[i] = -dst[i]
	}
}
