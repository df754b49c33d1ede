package collude_test

import (
	"context"
	"fmt"

	"choir/attack/collude"
	"choir/protocol"
)

// impatient is an adversary that looks at the last round alone.
type impatient struct{}

func (impatient) Name() string { return "impatient" }

func (impatient) Score(_ context.Context, v *collude.View) ([]float64, error) {
	scores := make([]float64, v.Coordinates())
	rest, ok := v.Residual(v.Rounds())
	for j := range scores {
		if ok {
			scores[j] = float64(rest[j])
		}
	}
	return scores, nil
}

// An adversary of one's own has two methods. It is judged like those of the catalogue, and it
// must succeed on the control: a session without noise.
func ExampleScored() {
	target, err := collude.NewTarget(collude.Target{Parties: 3, Nodes: 2, MinParties: 3, Rounds: 2,
		Noise: protocol.NoiseParty, Epsilon: 1, Delta: 1e-5})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := collude.Options{Target: target, Coalition: collude.Coalition{Parties: 1, Aggregator: true},
		Runs: 2048, Own: []collude.Attack{collude.Scored(impatient{})},
		Scenarios: []string{"impatient"}}.Execute(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range result.Verdicts {
		fmt.Println(v.Scenario, v.Verdict, v.Control)
	}
	// Output:
	// impatient held false
	// impatient broke true
}
