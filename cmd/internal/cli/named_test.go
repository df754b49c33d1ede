package cli

import "testing"

func anyFlag(string) bool { return true }

// TestNamedByVerb: what a verb has no flag for keeps its own name.
func TestNamedByVerb(t *testing.T) {
	few := func(flag string) bool { return flag == "--data-file" || flag == "--clip" }
	for in, want := range map[string]string{
		"dropouts: 3 isn't in 0..2": "dropouts: 3 isn't in 0..2",
		"sigma: -1 isn't positive":  "sigma: -1 isn't positive",
		"plan: frac_bits: 99":       "plan: frac_bits: 99",
		"epsilon, clip: both":       "--clip: both",
		"plan: clip: bad":           "--clip: bad",
		"data: 2 rows":              "--data-file: 2 rows",
	} {
		if got := named(in, few); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// TestNamed: errors of the packages below name the flag in front.
func TestNamed(t *testing.T) {
	for in, want := range map[string]string{
		"plan: epsilon: too small":                     "--epsilon: too small",
		"data: target: no column":                      "--target: no column",
		"colluders, dropouts: none left":               "--colluders, --dropouts: none left",
		"plan: parameters: clip: bad":                  "--clip: bad",
		"plan: not signed by [a]":                      "plan: not signed by [a]",
		"party-01: something: else":                    "party-01: something: else",
		"round 3: epsilon: mentioned in passing":       "round 3: epsilon: mentioned in passing",
		"frac_bits: fixedpoint: no headroom: 3 > 2^62": "--frac-bits: fixedpoint: no headroom: 3 > 2^62",
	} {
		if got := named(in, anyFlag); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
