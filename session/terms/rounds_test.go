package terms_test

import (
	"math"
	"strings"
	"testing"

	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/terms"
)

// Ten parties, T = 2, one drop-out: 9 - 2 - 1 = 6 hidden parts. A noise of c clips over
// all ten hides c sqrt(6/10), and R rounds of sensitivity 2 clips have the Gaussian
// parameter 2 sqrt(R) / (c sqrt(6/10)), which must be at most mu: so R is the last
// number below (mu c sqrt(6/10) / 2)^2.
func TestRoundsAreSolved(t *testing.T) {
	list, _ := rig.Members(t, 10, 3)
	build := func(rounds int) (*protocol.Plan, error) { return layeredTerms(t, rig.Terms(list), rounds) }
	const mu = 0.26805112 // at (1, 1e-5), by bisection on Balle and Wang's profile
	for _, perClip := range []float64{20, 40.5, 100} {
		p, err := terms.SolveRounds(perClip, build)
		if err != nil {
			t.Fatal(err)
		}
		want := math.Pow(mu*perClip*math.Sqrt(0.6)/2, 2)
		if got := float64(p.Rounds); got != math.Floor(want) {
			t.Errorf("noise of %g clips: %v rounds, want the last below %.3f", perClip, got, want)
		}
	}
	for perClip, want := range map[float64]string{0: "isn't positive", math.NaN(): "isn't positive",
		0.5: "a single round needs"} {
		if _, err := terms.SolveRounds(perClip, build); err == nil || !strings.Contains(err.Error(), want) ||
			protocol.ClassOf(err) != protocol.ClassInput {
			t.Errorf("%v: %v", perClip, err)
		}
	}
}
