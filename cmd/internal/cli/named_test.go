package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

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

// TestBadValue: arguments that can't be read are told what the flag takes, without a parser's words.
func TestBadValue(t *testing.T) {
	for args, want := range map[string]string{
		"--epsilon abc":                     "\"--epsilon\" flag: it takes a number",
		"--rounds 1.5":                      "\"--rounds\" flag: it takes a whole number",
		"--rounds 99999999999999999999":     "\"--rounds\" flag: it takes a smaller number",
		"--records 1,x":                     "\"--records\" flag: it takes whole numbers, separated by commas",
		"--unknown":                         "unknown flag",
		"--epsilon 1 --rounds 2 --no-thing": "unknown flag",
	} {
		cmd := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return nil },
			SilenceErrors: true, SilenceUsage: true}
		cmd.SetFlagErrorFunc(badFlag)
		cmd.Flags().Float64("epsilon", 1, "")
		cmd.Flags().Int("rounds", 1, "")
		cmd.Flags().IntSlice("records", nil, "")
		cmd.SetArgs(strings.Fields(args))
		err := cmd.Execute()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "strconv") {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
