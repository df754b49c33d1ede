package simulate_test

import (
	"context"
	"fmt"

	"choir/attack/simulate"
)

// Sessions on a bus that loses, duplicates and delays messages, one for each seed.
func ExampleBatch_Run() {
	batch := simulate.Batch{From: 1, Seeds: 20, Profile: "lossy", Workers: 2}
	report, err := batch.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Seeds, "sessions,", report.Violations, "violations")
	fmt.Println("messages were lost:", report.Faults["lose"] > 0)
	// Output:
	// 20 sessions, 0 violations
	// messages were lost: true
}

// A script describes one session exactly; Tell describes what happened in it.
func ExampleTell() {
	setup, faults, err := simulate.ParseScript([]byte("setup seed=7 parties=3 computes=2 dim=2 rounds=1 " +
		"spares=1 min=2 noise=party reject=0 audit=0 paired=0 until=3000\n" +
		"crash c0@2 1 200\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	result, _ := simulate.Tell(setup, faults)
	fmt.Println(result.Rounds, "round settled,", result.Faults["crash"], "crash")
	fmt.Println(len(result.Violations), "violations")
	// Output:
	// 1 round settled, 1 crash
	// 0 violations
}
