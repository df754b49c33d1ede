package paper2

import (
	"context"
	"fmt"
	"math"

	"choir/lab/study"
	"choir/privacy"
	"choir/privacy/pld"
)

// printed is Theorem 2 of [DP-MCMC] for a batch of size b, repaired the same with its middle
// term bounded as a ratio: sigma_alpha^2 >= sigma_2^2 (1 - 5(alpha-1)/b), as sigma_2^2 >= 1.
func printed(alpha float64, b int) float64 {
	n := float64(b)
	return 5/(2*n) + math.Log(2*n/(n-5*alpha))/(2*(alpha-1)) + 2*alpha/(n-5*alpha)
}

func repaired(alpha float64, b int) float64 {
	n := float64(b)
	rest := 1 - 5*(alpha-1)/n
	return 5/(2*n) - math.Log(rest)/(2*(alpha-1)) + 2*alpha/n/rest
}

// corollary is Corollary 2 of [DP-MCMC]: the amplification of [WBK19] over integer orders below
// min(200, b/5), converted by Proposition 3 ([Mironov17]) or, if tight, by [CKS20].
func corollary(batch func(alpha float64, b int) float64, b, n, rounds int, delta float64,
	tight bool) float64 {
	best := math.Inf(1)
	q := float64(b) / float64(n)
	for order := 3; order < min(200, b/5); order++ {
		a := float64(order)
		renyi := float64(rounds) * amplified(func(alpha float64) float64 { return batch(alpha, b) }, order, q)
		epsilon := renyi + math.Log(1/delta)/(a-1)
		if tight {
			epsilon = renyi + math.Log1p(-1/a) - (math.Log(delta)+math.Log(a))/(a-1)
		}
		best = min(best, epsilon)
	}
	return best
}

// amplified is the bound at an order as the paper writes it, in logarithms.
func amplified(curve func(alpha float64) float64, order int, q float64) float64 {
	two := curve(2)
	choose := func(j int) float64 {
		a, _ := math.Lgamma(float64(order + 1))
		b, _ := math.Lgamma(float64(j + 1))
		c, _ := math.Lgamma(float64(order - j + 1))
		return a - b - c
	}
	terms := []float64{0, 2*math.Log(q) + choose(2) + math.Log(min(4*math.Expm1(two), 2*math.Exp(two)))}
	for j := 3; j <= order; j++ {
		terms = append(terms, math.Ln2+float64(j)*math.Log(q)+choose(j)+float64(j-1)*curve(float64(j)))
	}
	top, sum := math.Inf(-1), 0.0
	for _, t := range terms {
		top = max(top, t)
	}
	for _, t := range terms {
		sum += math.Exp(t - top)
	}
	return (top + math.Log(sum)) / float64(order-1)
}

// full is the tight epsilon of the same clip and noise on all records: mu = 2 sqrt(b T/2)/N.
func full(b, n, rounds int, delta float64) float64 {
	return privacy.GaussianEpsilon(2*math.Sqrt(float64(b)*float64(rounds)/2)/float64(n), delta)
}

// sampled is the tight epsilon of batches of fixed size under public Gaussian noise.
func sampled(sigma float64, b, n, rounds int, delta float64) (float64, error) {
	step := privacy.SampledStep{Mu: 2 / math.Sqrt(float64(b)) / sigma,
		Sampling: privacy.SamplingFixed, Rate: float64(b) / float64(n), Count: rounds}
	e, err := privacy.SampledEpsilon([]privacy.SampledStep{step}, privacy.ReplaceOne, delta, pld.Precision{})
	return e.Upper, err
}

func figure1(_ context.Context, o study.Options) (*study.Result, error) {
	r := &study.Result{SchemaVersion: 1, Name: "paper2-figure1", Title: "The epsilon of subsampled DP-MCMC",
		Seeds: 1, Transport: o.Transport, Source: "[DP-MCMC], Theorem 2, Corollary 2 and Figure 1",
		Settings: []study.Setting{{Name: "chain", Value: "batches of 1000 of 10^6 records, 20,000 iterations, " +
			"delta 1e-6, clip sqrt(b)/N0, C = 2"}},
		Notes: []string{"The logarithm in the middle of Theorem 2 stays at ln 2 / (2 (alpha - 1)) however large " +
			"the batch: the published epsilon is 30 to 50 times too large. On all records in every round the same " +
			"clip and noise cost less than any batch: sampling buys time here, and no privacy."}}
	const b, n, rounds, delta = 1000, 1000000, 20000, 1e-6
	row := func(of, method string, paper *study.Figure, value float64) {
		r.Rows = append(r.Rows, study.Row{Case: of, Method: method, Measure: study.EpsilonOf, Paper: paper,
			Values: []float64{value}}.Mean())
	}
	const mixtureCase = "mixture, 20,000 iterations"
	row(mixtureCase, "as published", &study.Figure{Value: 1.0004, Precision: 0.001, Where: "code of Figure 3"},
		corollary(printed, b, n, rounds, delta, false))
	row(mixtureCase, "as published, tight conversion", nil, corollary(printed, b, n, rounds, delta, true))
	row(mixtureCase, "Theorem 2 repaired", nil, corollary(repaired, b, n, rounds, delta, false))
	row(mixtureCase, "repaired, tight conversion", nil, corollary(repaired, b, n, rounds, delta, true))
	for _, sigma := range []float64{1, math.Sqrt2} {
		e, err := sampled(sigma, b, n, rounds, delta)
		if err != nil {
			return nil, err
		}
		row(mixtureCase, fmt.Sprintf("public noise of variance %.0f, accountant", sigma*sigma), nil, e)
	}
	all := full(b, n, rounds, delta)
	row(mixtureCase, "all records every round", nil, all)
	r.Spent = []study.Spent{{Method: "all records every round", Epsilon: all, Delta: delta,
		Accountant: "Gaussian, exact", Relation: "replace-one",
		Noise: "variance 2 on a ratio of sensitivity 2 sqrt(b)/N, 20,000 releases"}}
	r.Panels = curves()
	return r, nil
}

// curves are Figures 1a and 1b, with the tight epsilon of the chain on all records.
func curves() []study.Panel {
	a := study.Panel{Title: "5000 iterations, delta 1/N", XLabel: "sampling rate", YLabel: "epsilon", LogY: true}
	b := study.Panel{Title: "rate 0.001, delta 1/N", XLabel: "iterations", YLabel: "epsilon", LogX: true,
		LogY: true}
	for _, n := range []int{100000, 1000000, 10000000} {
		name := fmt.Sprintf("N = 10^%.0f", math.Log10(float64(n)))
		var pub, tight, pubT, tightT study.Curve
		pub.Name, pubT.Name, tight.Name, tightT.Name = name, name, name+", all records", name+", all records"
		delta := 1 / float64(n)
		for _, q := range []float64{0.001, 0.0025, 0.005, 0.0075, 0.01} {
			size := int(q * float64(n))
			pub.X, pub.Y = append(pub.X, q), append(pub.Y, corollary(printed, size, n, 5000, delta, false))
			tight.X, tight.Y = append(tight.X, q), append(tight.Y, full(size, n, 5000, delta))
		}
		for _, rounds := range []int{1000, 5000, 20000, 50000, 100000} {
			t := float64(rounds)
			pubT.X, pubT.Y = append(pubT.X, t), append(pubT.Y, corollary(printed, n/1000, n, rounds, delta, false))
			tightT.X, tightT.Y = append(tightT.X, t), append(tightT.Y, full(n/1000, n, rounds, delta))
		}
		a.Curves, b.Curves = append(a.Curves, pub, tight), append(b.Curves, pubT, tightT)
	}
	return []study.Panel{a, b}
}
