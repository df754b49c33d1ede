package terms_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/terms"
)

const shuffledSchema = `missing = "refuse"
[target]
died = ["no", "yes"]
[columns]
ward = ["icu", "er", "gen"]
age = [0, 110]
smoker = [0, 1]
`

// shuffled returns the plan of a file with the terms, among two parties and two nodes.
func shuffled(t *testing.T, dir, text string, now time.Time) (*protocol.Plan, error) {
	t.Helper()
	rig.WriteFile(t, dir, "shuffled-schema.toml", shuffledSchema)
	head := "lifetime = \"24h\"\nparties = [\"party-a.card\", \"party-b.card\"]\ncomputes = " +
		"[\"node-a.card\", \"node-b.card\"]\naggregator = \"agg.card\"\n"
	return terms.NewPlan(rig.WriteFile(t, dir, "shuffled.toml", head+text), now)
}

const wardsOf60 = "[shuffle]\nschema_file = \"shuffled-schema.toml\"\ncolumns = [\"ward\"]\nrecords = 60\n"

// TestShufflePlans: gamma follows from the budget and nearly uses it up, or the claim from gamma or eps0.
func TestShufflePlans(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, _ := site.Deploy(t, now)
	budget := "[privacy]\nepsilon = 0.7\ndelta = 1e-6\n"
	for name, c := range map[string]struct {
		text    string
		columns int
		check   func(p *protocol.Plan, gamma, spent float64) bool
	}{
		"budget": {budget + wardsOf60, 1, func(p *protocol.Plan, gamma, spent float64) bool {
			return p.Epsilon == 0.7 && spent <= 0.7 && spent > 0.69
		}},
		"budget of rounds": {"rounds = 2\nspare_attempts = 1\n" + budget + wardsOf60, 1,
			func(p *protocol.Plan, gamma, spent float64) bool { return spent <= 0.7 && spent > 0.69 }},
		"small budget": {"[privacy]\nepsilon = 0.001\n" + wardsOf60, 1,
			func(p *protocol.Plan, gamma, spent float64) bool { return spent <= 0.001 && gamma > 0.99 }},
		"large budget": {"[privacy]\nepsilon = 12.0\n" + wardsOf60, 1,
			func(p *protocol.Plan, gamma, spent float64) bool { return spent <= 12 && spent > 11.9 }},
		"gamma": {wardsOf60 + "gamma = 0.25\n", 1, func(p *protocol.Plan, gamma, spent float64) bool {
			return gamma == 0.25 && p.Delta == 1e-6 && p.Epsilon >= spent && p.Epsilon < 1.02*spent
		}},
		"eps0": {wardsOf60 + "eps0 = 1.0\n", 1, func(p *protocol.Plan, gamma, spent float64) bool {
			return math.Abs(gamma-3/(math.E+2)) < 1e-9 && spent < 1
		}},
		"columns": {strings.Replace(budget+wardsOf60, `["ward"]`, `["ward", "smoker", "died"]`, 1), 3,
			func(p *protocol.Plan, gamma, spent float64) bool {
				return p.Reports.Columns == 3 && p.Reports.Categories == 3 && p.Dim == 7
			}},
		"mean": {strings.Replace(budget+wardsOf60, `["ward"]`, `["age"]`+"\nestimate = \"mean\"", 1), 1,
			func(p *protocol.Plan, gamma, spent float64) bool { return p.Dim == 4 }},
		"mix-net": {"rounds = 2\nspare_attempts = 3\n" + budget + wardsOf60 + "backend = \"mix\"\n", 1,
			func(p *protocol.Plan, gamma, spent float64) bool { // spare attempts cost nothing
				return spent <= 0.7 && spent > 0.69 && p.Releases() == 2 && p.Dim == 1 && p.Reports.MixRecords == 8192
			}},
		"laplace": {strings.Replace(budget+wardsOf60, `["ward"]`,
			`["age"]`+"\nestimate = \"mean\"\nrandomiser = \"laplace\"\nbackend = \"mix\"", 1), 1,
			func(p *protocol.Plan, gamma, spent float64) bool {
				return spent <= 0.7 && spent > 0.69 && p.Reports.Categories == 64 && gamma == 0
			}},
		"laplace of eps0": {strings.Replace(wardsOf60, `["ward"]`,
			`["age"]`+"\nestimate = \"quantile\"\nrandomiser = \"laplace\"\neps0 = 1.0", 1), 1,
			func(p *protocol.Plan, _, spent float64) bool {
				eps0 := privacy.Shuffled{Reports: 1, Categories: 4, Keep: p.Reports.Keep}.Local()
				return p.Reports.Categories == 4 && eps0 <= 1 && eps0 > 1-1e-6 && spent < 0.6
			}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := shuffled(t, dir, c.text, now)
			if err != nil {
				t.Fatal(err)
			}
			b, _, err := p.Spends(p.Releases())
			if err != nil {
				t.Fatal(err)
			}
			if p.Application != app.NameShuffle || !c.check(p, float64(p.Reports.Gamma)/(1<<32), b.Epsilon) {
				t.Errorf("spends %v of %v at %v: %+v", b.Epsilon, p.Epsilon, p.Delta, p.Reports)
			}
			if err := terms.CheckPlan(p); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestShuffledGuarantees: the table has the shuffled guarantee, by how many reports are left, and that of a
// site's own reports against all nodes, which is no more than the local one.
func TestShuffledGuarantees(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, _ := site.Deploy(t, now)
	for _, backend := range []string{"sum", "mix"} {
		t.Run(backend, func(t *testing.T) {
			p, err := shuffled(t, dir, wardsOf60+"gamma = 0.25\nbackend = \""+backend+"\"\n", now)
			if err != nil {
				t.Fatal(err)
			}
			checkShuffled(t, p)
		})
	}
}

func checkShuffled(t *testing.T, p *protocol.Plan) {
	t.Helper()
	g, err := terms.GuaranteesOf(p)
	if err != nil {
		t.Fatal(err)
	}
	local := math.Log(10) // (1 - 2/3 gamma)/(gamma/3)
	if g.Reports == nil || math.Abs(g.Reports.Local-local) > 1e-9 || g.Reports.Honest != 60 {
		t.Fatalf("reports %+v, want a local epsilon of %v", g.Reports, local)
	}
	seen := 0
	for _, l := range g.Layers {
		if l.Silent > 0 { // the victim, which then has no guarantee
			continue
		}
		reports, tolerated := uint32(120-60*l.Parties), true
		if l.Computes == 2 {
			reports, tolerated = 60, false
		}
		if l.HiddenParts != reports || l.Tolerated != tolerated || l.Sample == nil || *l.Sample > local {
			t.Errorf("%+v", l)
		}
		if tolerated && *l.Sample > g.Budget {
			t.Errorf("%s: epsilon %v is beyond the claim %v", l.Adversary, *l.Sample, g.Budget)
		}
		seen++
	}
	if seen < 6 {
		t.Errorf("%d adversaries", seen)
	}
}

// TestShufflePlanErrors: terms that a plan of reports can't have are refused by name.
func TestShufflePlanErrors(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, _ := site.Deploy(t, now)
	budget := "[privacy]\nepsilon = 0.7\ndelta = 1e-6\n"
	for want, text := range map[string]string{
		"[shuffle] gamma is missing":     wardsOf60,
		"[shuffle] eps0, gamma: one":     wardsOf60 + "eps0 = 1.0\ngamma = 0.5\n",
		"[shuffle] eps0: 21":             wardsOf60 + "eps0 = 21.0\n",
		"[shuffle] gamma: 1 ":            wardsOf60 + "gamma = 1.0\n",
		"[shuffle] randomiser: \"dice\"": wardsOf60 + "gamma = 0.5\nrandomiser = \"dice\"\n",
		"[shuffle] gamma: it is the":     wardsOf60 + "gamma = 0.5\nrandomiser = \"laplace\"\n",
		"[shuffle] estimate: reports":    wardsOf60 + "eps0 = 0.5\nrandomiser = \"laplace\"\n",
		"goes beyond 65536 levels": strings.Replace(wardsOf60, `["ward"]`,
			`["age"]`+"\nestimate = \"mean\"\nrandomiser = \"laplace\"\neps0 = 0.001", 1),
		"[shuffle] backend: \"box\"":          wardsOf60 + "gamma = 0.5\nbackend = \"box\"\n",
		"more than 16384 reports":             wardsOf60 + "gamma = 0.5\nbackend = \"mix\"\nmax_records = 9000\n",
		"a plan with audit":                   "audit = true\n" + wardsOf60 + "gamma = 0.5\nbackend = \"mix\"\n",
		"[shuffle] columns is missing":        budget + "[shuffle]\nschema_file = \"shuffled-schema.toml\"\n",
		"column \"bed\" is not in the schema": strings.Replace(budget+wardsOf60, "ward", "bed", 1),
		"[privacy] noise_per_clip":            "[privacy]\nepsilon = 0.7\nnoise_per_clip = 1.0\n" + wardsOf60,
		"can't be placed with party":          "[privacy]\nepsilon = 0.7\nnoise = \"party\"\n" + wardsOf60,
		"noise is placed with none":           "[privacy]\nnoise = \"none\"\n" + wardsOf60 + "gamma = 0.5\n",
		"colluders, dropouts: N_min - T - 1":  "colluders = 1\n" + budget + wardsOf60,
		"epsilon: 1 attempts spend":           "[privacy]\nepsilon = 0.01\n" + wardsOf60 + "gamma = 0.25\n",
		"epsilon: -1":                         "[privacy]\nepsilon = -1.0\n" + wardsOf60,
		"delta 2 is not":                      "[privacy]\ndelta = 2.0\n" + wardsOf60 + "gamma = 0.5\n",
		"estimate is \"mode\"":                wardsOf60 + "gamma = 0.5\nestimate = \"mode\"\n",
		"records is 60":                       wardsOf60 + "gamma = 0.5\nmax_records = 59\n",
	} {
		t.Run(want, func(t *testing.T) {
			_, err := shuffled(t, dir, text, now)
			if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
		})
	}
}
