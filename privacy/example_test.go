package privacy_test

import (
	"fmt"
	"log"

	"choir/privacy"
)

// The epsilon of ten Gaussian releases of sensitivity 1 with noise of standard deviation 12, in the
// tightest way that is proven.
func ExampleAccount() {
	a, err := privacy.Account(privacy.Query{
		Mechanism: privacy.Gaussian, Sigma: 12, Sensitivity: 1, Steps: 10, Delta: 1e-5,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: epsilon %.6f\n", a.Accountant, a.Epsilon)
	for _, s := range a.Assumptions {
		fmt.Println("assuming", s)
	}
	// Output:
	// analytic: epsilon 0.981468
	// assuming neighbouring sums differ by at most 1 in L2 norm, in every step and for any history
	// assuming noise is exactly Gaussian: no floating-point sampler is
}

// The least integer noise with which 20 rounds stay within epsilon 1 at delta 1e-5, if records are
// clipped to 1000 grid units and the noise of at least eight honest parties is hidden.
func ExampleCalibrate() {
	sensitivity, err := privacy.ReplaceOne.Sensitivity(1000)
	if err != nil {
		log.Fatal(err)
	}
	parts, err := privacy.HiddenParts(10, 1) // N_min = 10, T = 1
	if err != nil {
		log.Fatal(err)
	}
	noise, err := privacy.Calibrate(privacy.Target{
		Epsilon: 1, Delta: 1e-5, Sensitivity: sensitivity, Dim: 100, Releases: 20, Parts: parts,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d parts of variance %d: epsilon %.6f by %s\n",
		parts, noise.PartVariance, noise.Epsilon, noise.Method)
	// Output:
	// 8 parts of variance 139176125: epsilon 1.000000 by near-gaussian
}

// Sampling a tenth of the records in every round reduces the epsilon of 100 rounds.
func ExampleSpent() {
	release := privacy.SampledRelease{
		Release: privacy.Release{Sensitivity: 2000, PartVariance: 4_000_000, Parts: 8, Dim: 100},
		Count:   100,
	}
	for _, rate := range []float64{0, 0.1} {
		if rate > 0 {
			release.Sampling, release.Rate = privacy.SamplingPoisson, rate
		}
		all := []privacy.SampledRelease{release}
		b, err := privacy.Spent(all, privacy.ReplaceOne, 1e-5, privacy.PlanPrecision())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: epsilon %.2f by %s\n", release.Sampling, b.Epsilon, b.Method)
	}
	// Output:
	// none: epsilon 20.68 by near-gaussian
	// poisson: epsilon 1.36 by near-gaussian-pld
}
