package verify_test

import (
	"fmt"
	"log"
	"os"

	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
)

// Anyone with the signed plan and the transcript of a session can verify what it computed.
func ExampleTranscript() {
	text, err := os.ReadFile("../../testdata/protocol/audit.plan")
	if err != nil {
		log.Fatal(err)
	}
	plan, err := protocol.UnmarshalSignedPlan(text)
	if err != nil {
		log.Fatal(err)
	}
	record, err := os.ReadFile("../../testdata/protocol/audit.transcript")
	if err != nil {
		log.Fatal(err)
	}
	entries, err := protocol.UnmarshalTranscript(record)
	if err != nil {
		log.Fatal(err)
	}
	report, err := verify.Transcript(plan, entries, app.Sum{Dim: int(plan.Plan.Dim)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rounds, audited: %t\n", report.Rounds(), report.Audited)
	for _, a := range report.Attempts {
		fmt.Printf("round %d attempt %d: %s, sum %d of %v\n", a.Round, a.Attempt, a.Outcome, a.Aggregate, a.Set)
	}
	// Output:
	// 2 rounds, audited: true
	// round 1 attempt 1: void, sum [] of []
	// round 1 attempt 2: accepted, sum [-299 398] of [ann cleo]
	// round 2 attempt 1: accepted, sum [-289 418] of [ann ben cleo]
}
