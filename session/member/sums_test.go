package member_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/session/internal/rig"
	"choir/session/member"
	"choir/session/result"
)

// TestPartiesKnowTheExportedPosterior: under an evaluation, and with residual rounds, every party has what
// the exported posterior is computed from, over a restart in the middle and a change of parties.
func TestPartiesKnowTheExportedPosterior(t *testing.T) {
	const noisy = "rounds = 8\n[privacy]\nepsilon = 8.0\ndelta = 1e-5\n[learning]\nschema_file = "
	const numbers = `{"version":1,"source":"a test","target":{"name":"age","numeric":{"lo":0,"hi":110,` +
		`"center":50,"scale":25}},"columns":[{"name":"died","categories":["no","yes"]}],"missing":"refuse",` +
		`"unseen":"refuse"}`
	for name, tc := range map[string]struct {
		body string
		good func(m *result.ModelFile) bool
	}{
		"evaluation": {noisy + "\"schema.json\"\n[evaluation]\nevery = 2\n",
			func(m *result.ModelFile) bool { return len(m.Evaluation) >= 2 }},
		"residuals": {noisy + "\"numbers.json\"\nstrategy = \"virtual\"\nresidual_rounds = 1\n",
			func(m *result.ModelFile) bool {
				p := m.Predictive
				return p.NoiseSDFrom == result.FromResiduals && p.Measured != nil && p.Measured.Assumed != p.NoiseSD
			}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChain(t)
			rig.WriteFile(t, c.dir, "numbers.json", numbers)
			partiesKnow(t, c, tc.body, tc.good)
		})
	}
}

func partiesKnow(t *testing.T, c *chain, body string, good func(m *result.ModelFile) bool) {
	members := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	c.run(c.first(body, members...), 3, members...)
	others := []string{"party-b", "party-c", "node-b", "node-c", "agg"}
	byFile, _ := c.next("plan2", "[privacy]\nepsilon = 9.0\n", "agg.db", nil, others...)
	origin := c.origin
	c.origin = c.path("plan1.choir.out")
	c.run(byFile, 1, others...)
	c.run(byFile, 0, others...)
	want, err := os.ReadFile(byFile + ".out/model.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"party-b", "party-c"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := member.Export(c.path(name+".db"), "", dir); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "model.json")); err != nil || !bytes.Equal(got, want) {
				t.Errorf("another model than the aggregator's: %v\n%s\n%s", err, got, want)
			}
		})
	}
	if m, err := result.ReadModel(byFile + ".out/model.json"); err != nil || !m.NoiseIncluded || !good(m) {
		t.Errorf("%v, %+v", err, m)
	}
	c.stores = map[string]string{"party-c": c.path("party-c-new.db")}
	alone := c.open(byFile, "party-c", func(config *member.Config) { config.Origin = origin })
	if err := alone.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "name the folder") {
		t.Errorf("without what the predecessor's rounds revealed: %v", err)
	}
}
