package terms_test

import (
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/terms"
)

// TestPlanConfigLeavesNothingOut: terms that a plan can't carry are refused by name. A
// plan that was made without them would be signed by people who believe that they hold.
func TestPlanConfigLeavesNothingOut(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, _ := site.Deploy(t, now)
	head := "lifetime = \"24h\"\nparties = [\"party-a.card\", \"party-b.card\"]\ncomputes = " +
		"[\"node-a.card\", \"node-b.card\"]\naggregator = \"agg.card\"\n"
	sum := "[sum]\ncolumns = 1\nfrac_bits = 4\nbound = 10.0\n"
	for text, want := range map[string]string{
		"rounds = 1\n" + sum:                  "",
		sum:                                   "",
		"[privacy]\nnoise = \"none\"\n" + sum: "",
		"[privacy]\nnoise = \"party\"\n" + sum + "sigma = 2.0\n": "",
		sum + "sigma = 2.0\n":                                                    "",
		"\ufeffrounds = 1\n" + sum:                                               "",
		"rounds = 5\n" + sum:                                                     "rounds: 5",
		"rounds = -1\n" + sum:                                                    "rounds: -1",
		"spare_attempts = 2\n" + sum:                                             "spare_attempts: 2",
		"[privacy]\nepsilon = 1.0\n" + sum:                                       "[privacy] epsilon, delta",
		"[privacy]\nnoise = \"party\"\nepsilon = 1.0\n" + sum:                    "[privacy] epsilon, delta",
		"[privacy]\nnoise = \"none\"\ndelta = 1e-5\n" + sum:                      "[privacy] epsilon, delta",
		"[privacy]\nnoise_per_clip = 3.0\n" + sum:                                "noise_per_clip",
		"[privacy]\nnoise = \"party\"\n" + sum:                                   "[sum] sigma is missing",
		"[privacy]\nnoise = \"none\"\n" + sum + "sigma = 2.0\n":                  "[sum] sigma: 2",
		"[privacy]\nnoise = \"compute\"\n" + sum + "sigma = 2.0\n":               "[privacy] noise: compute",
		"[privacy]\nnoise = \"local\"\n" + sum + "sigma = 2.0\n":                 "[privacy] noise: local",
		"[privacy]\nnoise = \"none\"\nepsilon = 1.0\ndelta = 1e-5\n[learning]\n": "[privacy] epsilon, delta",
		"deadline = \"1200h\"\n" + sum:                                           "deadline, grace: 1200h0m0s",
		"deadline = \"1h\"\ngrace = \"1200h\"\n" +
			sum: "deadline, grace: 1h0m0s, 1200h0m0s",
		"[privacy]\nnoise = \"loud\"\n" + sum: "terms.toml: [privacy] noise: " +
			"\"loud\"",
		"deadline = 20\n" + sum: "\"20\" isn't a duration",
	} {
		mark := ""
		if text[0] == 0xef { // the mark stands before everything
			mark, text = "\ufeff", text[len("\ufeff"):]
		}
		p, err := terms.NewPlan(rig.WriteFile(t, dir, "terms.toml", mark+head+text), now)
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want == "" && p.Rounds != 1:
			t.Errorf("%q: %d rounds", text, p.Rounds)
		case want != "" && (protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
