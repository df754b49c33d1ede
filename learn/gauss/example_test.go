package gauss_test

import (
	"fmt"

	"choir/learn/gauss"
)

// In natural parameters the product of two Gaussians is the sum of their vectors: a
// standard normal prior times a likelihood of mean 3 and precision 4.
func ExampleSpace_Moments() {
	s := gauss.Space{Family: gauss.MeanField, Features: 1}
	prior := make([]float64, s.Dim())
	s.Prior(prior, 1)
	likelihood := []float64{3 * 4, -4.0 / 2}
	posterior := []float64{prior[0] + likelihood[0], prior[1] + likelihood[1]}
	m, err := s.Moments(posterior)
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Mean[0], m.Variance[0])
	// Output: 2.4 0.2
}

// A likelihood alone may be improper: its quotient by something more precise has no
// moments.
func ExampleSpace_Moments_improper() {
	s := gauss.Space{Family: gauss.MeanField, Features: 1}
	_, err := s.Moments([]float64{0, 0.5})
	fmt.Println(err)
	// Output: coordinate 0: precision is not positive definite
}
