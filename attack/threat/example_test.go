package threat_test

import (
	"fmt"
	"math/rand/v2"

	"choir/attack/threat"
)

// Randomised response answers a yes/no question truthfully with probability 3/4,
// which is ln 3 = 1.0986-differentially private. The test refutes the claim that
// it is 0.5-differentially private, and can't refute the true one.
func ExampleTest_Epsilon() {
	coin := rand.New(rand.NewPCG(1, 2))
	answers := func(truth float64) []float64 {
		all := make([]float64, 100_000)
		for i := range all {
			all[i] = truth
			if coin.IntN(4) == 0 {
				all[i] = 1 - truth
			}
		}
		return all
	}
	found, err := threat.Test{FalseAlarm: 1e-6}.Epsilon(answers(1), answers(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("0.5 is refuted:", found.Epsilon > 0.5)
	fmt.Println("1.0986 is refuted:", found.Epsilon > 1.0986)
	// Output:
	// 0.5 is refuted: true
	// 1.0986 is refuted: false
}
