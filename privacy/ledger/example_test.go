package ledger_test

import (
	"errors"
	"fmt"
	"log"

	"choir/privacy"
	"choir/privacy/ledger"
)

// A party charges every attempt before it contributes, until the budget is spent. The stored entries
// open to the same ledger.
func Example() {
	var l ledger.Ledger
	var stored [][]byte
	budget := ledger.Budget{Epsilon: 0.5, Delta: 1e-5}
	for round := uint32(1); ; round++ {
		charge := ledger.Charge{
			Plan: [32]byte{1}, Round: round, FracBits: 10,
			Release: privacy.Release{Sensitivity: 2000, PartVariance: 160_000_000, Parts: 8, Dim: 100},
		}
		spent, err := l.CanAfford(budget, charge)
		if errors.Is(err, ledger.ErrOverspend) {
			fmt.Println(err)
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("round %d: epsilon %.4f\n", round, spent.Epsilon)
		entry := l.Next(charge)
		stored = append(stored, entry.Marshal()) // durably, before the contribution is sent
		if err := l.Append(entry); err != nil {
			log.Fatal(err)
		}
	}
	again, err := ledger.Open(stored)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Len(), again.Head() == l.Head())
	// Output:
	// round 1: epsilon 0.1808
	// round 2: epsilon 0.2637
	// round 3: epsilon 0.3289
	// round 4: epsilon 0.3847
	// round 5: epsilon 0.4344
	// round 6: epsilon 0.4798
	// ledger: privacy budget refused: it would bring epsilon to 0.52186 of 0.5 at delta 1e-05
	// 6 true
}
