package terms_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"choir/protocol"
	"choir/session/run"
	"choir/session/terms"
)

// A plan of one private sum: ten parties, of which one may drop out and two may
// collude, and three compute nodes. All members sign it.
func ExampleTerms_Sum() {
	roster, err := run.NewRoster(nil, 10, 3)
	if err != nil {
		log.Fatal(err)
	}
	t := terms.Terms{Name: "weights", Members: roster.Members, Created: time.Now(), Lifetime: 24 * time.Hour,
		Dropouts: 1, Colluders: 2, Deadline: time.Minute, Grace: time.Second}
	plan, err := t.Sum(terms.SumTerms{Dim: 100, FracBits: 16, PerParty: 1 << 20, Sigma: 0.5})
	if err != nil {
		log.Fatal(err)
	}
	signed, err := roster.Sign(plan)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("check:", errors.Join(terms.CheckPlan(plan), signed.Complete(time.Now())))
	fmt.Println("parties:", plan.Parties(), "of which at least", plan.MinParties, "count")
	fmt.Println("noise of", plan.HiddenParts(), "parties stays hidden")

	plan.Colluders = 9 // no honest noise would be left
	fmt.Println("input error:", protocol.ClassOf(plan.Validate()) == protocol.ClassInput)
	// Output:
	// check: <nil>
	// parties: 10 of which at least 9 count
	// noise of 6 parties stays hidden
	// input error: true
}
