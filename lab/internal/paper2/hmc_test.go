package paper2

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/lab/internal/twister"
	"choir/learn/mcmc"
	"choir/privacy"
)

// TestTunedHMCValues: the acceptance of DP-HMC on Adult at (6, 1e-5) and (20, 1e-5) with tuned steps,
// against chains that were run independently: here on the Gaussian approximation of the posterior, in
// coordinates in which .45 X'X/4 + I is the identity, with the same gradient noise, whose deviation is
// exact. 5 % of the budget is the coordinates', 30 % of the rest the start's, and half of what is left
// each the gradients' and the tests'.
func TestTunedHMCValues(t *testing.T) {
	d, _, _, err := seven("")
	if err != nil {
		t.Fatal(err)
	}
	_, cov, err := laplace(d)
	if err != nil {
		t.Fatal(err)
	}
	precision := whitened(t, d.X, cov)
	const columns, rows = 7, 32561
	lipschitz := 1.6 * math.Sqrt(4*columns/(0.45*rows))
	for _, c := range []struct {
		epsilon           float64
		rounds, leapfrogs int
		step, noise, want float64
	}{
		{6, 120, 1, 0.5, 2.869918697545191, 0.17895833333333336},
		{6, 60, 3, 0.35, 2.869918697545191, 0.06791666666666667},
		{20, 120, 1, 0.5, 1.0900431391195777, 0.5962499999999997},
		{20, 60, 3, 0.35, 1.0900431391195777, 0.4191666666666667},
	} {
		mu, err := privacy.GaussianMu(c.epsilon, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		left := mu * math.Sqrt(0.95*0.7*0.5)
		noise := 2 * lipschitz / left * math.Sqrt(float64(c.rounds*(c.leapfrogs+1)))
		near(t, "noise of the gradients", noise, c.noise, 1e-6)
		ratio := 2 * lipschitz / left * math.Sqrt(float64(c.rounds))
		h := idealHMC{precision, c.step, noise, ratio, twister.New(uint32(c.rounds))}
		accepted := 0.0
		const chains = 200
		for range chains {
			accepted += h.run(c.rounds, c.leapfrogs) / chains
		}
		if math.Abs(accepted-c.want) > 0.03 {
			t.Errorf("epsilon %v, %d steps: acceptance %v, want %v", c.epsilon, c.leapfrogs, accepted, c.want)
		}
	}
}

// whitened is a posterior's precision in coordinates in which .45 X'X/4 + I is the identity.
func whitened(t *testing.T, x []float64, cov *mat.SymDense) *mat.Dense {
	t.Helper()
	const n = 7
	metric := mat.NewSymDense(n, nil)
	for i := 0; i < len(x); i += n {
		for j := range n {
			for k := j; k < n; k++ {
				metric.SetSym(j, k, metric.At(j, k)+0.45/4*x[i+j]*x[i+k])
			}
		}
	}
	for j := range n {
		metric.SetSym(j, j, metric.At(j, j)+1)
	}
	var chol mat.Cholesky
	if !chol.Factorize(metric) {
		t.Fatal(mcmc.ErrSingular)
	}
	var root, inverse, half, out mat.Dense
	var lower mat.TriDense
	chol.LTo(&lower)
	if err := inverse.Inverse(&lower); err != nil {
		t.Fatal(err)
	}
	if err := root.Inverse(cov); err != nil {
		t.Fatal(err)
	}
	half.Mul(&inverse, &root)
	out.Mul(&half, inverse.T())
	return &out
}

// idealHMC is DP-HMC on N(0, precision^-1).
type idealHMC struct {
	precision          *mat.Dense
	step, noise, ratio float64 // ratio: the deviation of a ratio's noise for a unit step
	rng                *twister.Twister
}

func (h idealHMC) normals(n int) *mat.VecDense {
	v := mat.NewVecDense(n, nil)
	for i := range n {
		v.SetVec(i, h.rng.Normal())
	}
	return v
}

func (h idealHMC) energy(q *mat.VecDense) float64 { return mat.Inner(q, h.precision, q) / 2 }

// run returns the share of accepted proposals of a chain from about the posterior.
func (h idealHMC) run(rounds, leapfrogs int) (accepted float64) {
	n, _ := h.precision.Dims()
	at := h.normals(n)
	for range rounds {
		p, q, step := h.normals(n), mat.VecDenseCopyOf(at), h.step*(0.5+0.5*h.rng.Float())
		before := mat.Dot(p, p)/2 + h.energy(at)
		force := func() *mat.VecDense {
			g, z := mat.NewVecDense(n, nil), h.normals(n)
			g.MulVec(h.precision, q)
			g.AddScaledVec(g, -h.noise, z)
			return g
		}
		g := force()
		for range leapfrogs {
			p.AddScaledVec(p, -step/2, g)
			q.AddScaledVec(q, step, p)
			g = force()
			p.AddScaledVec(p, -step/2, g)
		}
		var moved mat.VecDense
		moved.SubVec(q, at)
		sd := h.ratio * mat.Norm(&moved, 2)
		noisy := before - mat.Dot(p, p)/2 - h.energy(q) + sd*h.rng.Normal()
		if mcmc.AcceptPenalty(noisy, sd*sd, h.rng.Float()) {
			at = q
			accepted += 1 / float64(rounds)
		}
	}
	return accepted
}
