package terms_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/session/terms"
)

// planTOML is a plan's file up to the table that says what it is for.
func planTOML(t *testing.T) (dir, head string) {
	t.Helper()
	dir = t.TempDir()
	pass := rig.WriteFile(t, dir, "pass", "words\n")
	for _, name := range []string{"party-a", "party-b", "party-c", "node-a", "node-b", "agg"} {
		if _, _, _, err := member.NewIdentity(dir, name, pass, site.Costs, time.Now(), 48*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	rig.WriteFile(t, dir, "classes.json", string(rig.SchemaOf(t, 3, true)))
	rig.WriteFile(t, dir, "lines.json", string(rig.SchemaOf(t, 3, false)))
	return dir, "name = \"t\"\nlifetime = \"24h\"\nparties = [\"party-a.card\", \"party-b.card\", " +
		"\"party-c.card\"]\ncomputes = [\"node-a.card\", \"node-b.card\"]\n" +
		"aggregator = \"agg.card\"\nrounds = 4\n[privacy]\nepsilon = 1.0\ndelta = 1e-5\n"
}

func TestPlanSections(t *testing.T) {
	dir, head := planTOML(t)
	virtual := "[learning]\nschema_file = \"classes.json\"\nmodel = \"logistic\"\nstrategy = " +
		"\"virtual\"\nshards = 5\nclip = 0.1\ndamping = 0.2\nsteps = 3\nlearning_rate = 0.05\n"
	optimisation := "[learning]\nschema_file = \"classes.json\"\nmodel = \"logistic\"\nstrategy = " +
		"\"optimisation\"\nclip = 2.0\ndamping = 0.2\nsteps = 3\nlearning_rate = 0.05\nsampling = " +
		"\"poisson\"\nsample_rate = 0.1\n"
	global := "[global]\nschema_file = \"classes.json\"\nrecords = 1000\nsample_rate = 0.02\n"
	statistics := "[statistics]\nschema_file = \"lines.json\"\nrecords = 1000\nradius = 2.0\nmoment_rounds = 1\n"
	mcmc := "[mcmc]\nschema_file = \"classes.json\"\nrecords = 1000\nmethod = \"penalty\"\n"
	for name, c := range map[string]struct {
		text, app string
		noise     protocol.Placement
		steps     uint32
		rate      float64
	}{
		"virtual": {virtual, app.NamePVI, protocol.NoiseParty, 0, 0},
		"local":   {"noise = \"local\"\n" + virtual, app.NamePVI, protocol.NoiseLocal, 1, 0},
		"perturbation": {strings.NewReplacer("virtual", "perturbation", "shards = 5\n", "").Replace(virtual),
			app.NamePVI, protocol.NoiseLocal, 1, 0},
		"one perturbation": {strings.NewReplacer("virtual", "perturbation", "shards = 5\n", "").Replace(virtual),
			app.NamePVI, protocol.NoiseLocal, 1, 0},
		"cut": {"noise = \"local\"\n" + virtual + "update_clip = 10.0\n",
			app.NamePVI, protocol.NoiseLocal, 1, 0},
		"optimisation": {optimisation, app.NamePVI, protocol.NoiseLocal, 3, 0.1},
		"global":       {global, app.NameGlobal, protocol.NoiseParty, 0, 0.02},
		"compute":      {"noise = \"compute\"\n" + global, app.NameGlobal, protocol.NoiseCompute, 0, 0.02},
		"mcmc":         {mcmc, app.NameMCMC, protocol.NoiseParty, 0, 0},
		"mcmc, sampled": {strings.Replace(mcmc, "penalty", "barker", 1) +
			"sample_rate = 0.5\nsampling_variance = 0.1\nkeep = 2\n",
			app.NameMCMC, protocol.NoiseParty, 0, 0.5},
		"statistics": {statistics, app.NameStatistics, protocol.NoiseParty, 0, 0},
	} {
		text := head + c.text
		if strings.HasPrefix(name, "one ") {
			text = strings.Replace(text, "rounds = 4", "rounds = 1", 1)
		}
		p, err := terms.NewPlan(rig.WriteFile(t, dir, name+".toml", text), time.Now())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := terms.CheckPlan(p); err != nil {
			t.Errorf("%s: its plan doesn't hold: %v", name, err)
		}
		if p.Application != c.app || p.Noise != c.noise || p.LocalSteps != c.steps || p.SampleRate != c.rate ||
			p.Sensitivity == 0 {
			t.Errorf("%s: %s, placed %v, %d steps, rate %v", name, p.Application, p.Noise, p.LocalSteps, p.SampleRate)
		}
		if app.Summed(p) != (name == "local" || name == "one perturbation") {
			t.Errorf("%s: sums hide the noise of all honest parties: %t", name, app.Summed(p))
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"mcmc, stages":  {strings.Replace(mcmc, "penalty", "trace", 1), "rounds is"},
		"mcmc, numbers": {strings.Replace(mcmc, "classes", "lines", 1), "[statistics]"},
		"two tables":    {virtual + global, "exactly one of"},
		"no table":      {"", "exactly one of"},
		"placement":     {"noise = \"party\"\n" + optimisation, "can't be placed"},
		"joint only":    {"noise = \"local\"\n" + global, "can't be placed"},
		"no schema":     {strings.Replace(global, "classes", "missing", 1), "schema"},
		"records":       {strings.Replace(global, "records = 1000\n", "records = -1\n", 1), "records"},
		"typo":          {global + "learning_rte = 1.0\n", "learning_rte"},
		"noise":         {"noise = \"loud\"\n" + global, "loud"},
		"no records":    {strings.Replace(global, "records = 1000", "records = 0", 1), "records is 0, want 1"},
		"strategy of lines": {strings.Replace(virtual, "virtual", "hybrid", 1),
			"[learning] strategy: hybrid is for linear regression"},
		"no curvature": {strings.Replace(optimisation, `"optimisation"`, `"bcm-same"`, 1) +
			"curvature_rounds = 1\n", "curvature_rounds is 1, want none"},
		"all rounds": {strings.Replace(statistics, "moment_rounds = 1", "moment_rounds = 4", 1),
			"moment_rounds"},
	} {
		_, err := terms.NewPlan(rig.WriteFile(t, dir, filepath.Base(name)+".toml", head+c.text), time.Now())
		if err == nil || !strings.Contains(err.Error(), c.want) || protocol.ClassOf(err) != protocol.ClassInput {
			t.Errorf("%s: %v, want a refusal that names %q", name, err, c.want)
		}
	}
	// What follows from the optimiser, which nobody named, isn't told.
	text := head + "[learning]\nschema_file = \"lines.json\"\nstrategy = \"hybrid\"\noptimiser = \"newton\"\n"
	_, err := terms.NewPlan(rig.WriteFile(t, dir, "one cause.toml", text), time.Now())
	if err == nil || strings.Contains(err.Error(), ";") ||
		!strings.Contains(err.Error(), "optimiser is newton") {
		t.Errorf("one cause: %v", err)
	}
}

// TestSumGridFits checks that a sum without frac_bits is on a grid that keeps fractions, for small
// and for large bounds.
func TestSumGridFits(t *testing.T) {
	dir, head := planTOML(t)
	head = strings.Split(strings.Replace(head, "rounds = 4\n", "", 1), "[privacy]")[0]
	for bound, least := range map[string]uint8{"10.0": 40, "1e6": 30, "1e15": 8} {
		text := head + "[sum]\ncolumns = 3\nbound = " + bound + "\n"
		p, err := terms.NewPlan(rig.WriteFile(t, dir, "sum.toml", text), time.Now())
		if err != nil || p.FracBits < least {
			t.Errorf("bound %s: %+v, %v", bound, p, err)
		}
	}
	text := head + "[sum]\ncolumns = 3\nbound = 10.0\nfrac_bits = 0\n"
	p, err := terms.NewPlan(rig.WriteFile(t, dir, "whole.toml", text), time.Now())
	if err != nil || p.FracBits != 0 {
		t.Errorf("whole numbers: %+v, %v", p, err)
	}
}

// TestGlobalGrid: a small budget for many rounds of three parties takes more noise than a plan allows
// on the finest grid, and is planned on a coarser one, whose steps are below a ten-thousandth of the
// noise. Others keep the finest.
func TestGlobalGrid(t *testing.T) {
	dir, head := planTOML(t)
	finest := terms.GridFor(30) + 3
	for _, c := range []struct {
		epsilon string
		coarser bool
	}{{"4.0", false}, {"0.1", true}, {"0.03", true}} {
		many := strings.NewReplacer("epsilon = 1.0", "epsilon = "+c.epsilon, "rounds = 4", "rounds = 200")
		text := many.Replace(head) +
			"[global]\nschema_file = \"classes.json\"\nrecords = 1000\nclip = 30.0\n"
		p, err := terms.NewPlan(rig.WriteFile(t, dir, "grid.toml", text), time.Now())
		if err != nil {
			t.Errorf("epsilon %s: %v", c.epsilon, err)
			continue
		}
		if err := terms.CheckPlan(p); err != nil {
			t.Errorf("epsilon %s: its plan doesn't hold: %v", c.epsilon, err)
		}
		if p.FracBits > finest || (p.FracBits < finest) != c.coarser {
			t.Errorf("epsilon %s: %d bits, the finest grid has %d", c.epsilon, p.FracBits, finest)
		}
		if sd := math.Sqrt(float64(p.Variance)); sd < 1e4 {
			t.Errorf("epsilon %s: the noise is %v units of the grid", c.epsilon, sd)
		}
	}
}
