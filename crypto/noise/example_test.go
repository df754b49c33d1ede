package noise_test

import (
	"fmt"
	"log"
	"math"

	"choir/crypto/noise"
)

// A seed determines the samples, which follow the discrete Gaussian exactly: the probability of x is
// proportional to exp(-x^2 / 2s^2).
func ExampleGaussian_FillSeeded() {
	const variance = 4
	g, err := noise.NewGaussian(variance)
	if err != nil {
		log.Fatal(err)
	}
	samples := make([]int64, 1_000_000)
	if err := g.FillSeeded(samples, noise.Seed{1, 2, 3}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(samples[:12])

	counts, total := map[int64]int{}, 0.0
	for _, x := range samples {
		counts[x]++
	}
	weight := func(x int64) float64 { return math.Exp(-float64(x*x) / (2 * variance)) }
	for x := int64(-100); x <= 100; x++ {
		total += weight(x)
	}
	for x := int64(0); x <= 6; x += 2 {
		frequency := float64(counts[x]) / float64(len(samples))
		fmt.Printf("%d: frequency %.4f, probability %.4f\n", x, frequency, weight(x)/total)
	}
	// Output:
	// [1 -2 1 1 -1 -3 3 4 -3 -1 1 1]
	// 0: frequency 0.2000, probability 0.1995
	// 2: frequency 0.1211, probability 0.1210
	// 4: frequency 0.0269, probability 0.0270
	// 6: frequency 0.0022, probability 0.0022
}
