package collude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"choir/learn/dataset"
	"choir/privacy"
	"choir/protocol"
	"choir/session/run"
)

// again is a member's randomness: every read starts with the same bytes. Noise is expanded from a
// seed that is read once a round, so this is for sessions of one round.
type again [32]byte

// Read implements io.Reader.
func (a again) Read(p []byte) (int, error) { return mathrand.NewChaCha8(a).Read(p) }

func fixed(seed byte) Lab {
	return Lab{Rand: func(member uint32) io.Reader { return again{seed, byte(member)} }}
}

func target(t *testing.T, x Target) Target {
	t.Helper()
	x, err := NewTarget(x)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestParseCoalition(t *testing.T) {
	for _, c := range []struct {
		text string
		want Coalition
		back string
	}{
		{"", Coalition{}, "outsider"},
		{"parties=3,nodes=2,aggregator", Coalition{Parties: 3, Nodes: 2, Aggregator: true}, ""},
		{"broker, nodes=1", Coalition{Nodes: 1, Broker: true}, "nodes=1,broker"},
	} {
		got, err := ParseCoalition(c.text)
		if err != nil || got != c.want {
			t.Errorf("%q: %+v, %v", c.text, got, err)
		}
		if c.back == "" {
			c.back = c.text
		}
		if got.String() != c.back {
			t.Errorf("%q: written as %q", c.text, got)
		}
	}
	for _, text := range []string{"parties", "parties=-1", "nodes=x", "aggregator=1", "kings",
		"nodes=1,nodes=2"} {
		if _, err := ParseCoalition(text); protocol.ClassOf(err) != protocol.ClassInput {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestExecute runs the catalogue on small sessions of every placement of noise: promises hold and
// controls break, also if the run has spent its time from the start.
func TestExecute(t *testing.T) {
	for i, x := range []Target{
		{Parties: 5, Nodes: 3, MinParties: 5, Colluders: 1, Noise: protocol.NoiseParty},
		{Parties: 3, Nodes: 2, MinParties: 3, Colluders: 0, Noise: protocol.NoiseCompute},
	} {
		t.Run(x.Noise.String(), func(t *testing.T) {
			t.Parallel()
			x.Rounds, x.Epsilon, x.Delta = 1, 1, 1e-5
			dir := t.TempDir()
			o := Options{Target: target(t, x), Runs: 1 << 12, Seed: 3, Lab: fixed(byte(i)), Out: dir,
				Scenarios: [][]string{catalogue(testing.Short()), {"rank", "epsilon", "membership"}}[i],
				Coalition: Coalition{Parties: x.Colluders + 1, Nodes: x.Nodes - 1, Aggregator: true, Broker: true}}
			if err := o.Check(); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				o.Time, o.used = time.Hour, hourly()
			}
			r, err := o.Execute(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			broke, undecided := r.Failed()
			if broke > 0 || undecided > 0 || len(r.Verdicts) != 2*len(o.Scenarios) {
				b, _ := json.MarshalIndent(r.Verdicts, "", " ")
				t.Errorf("%d broke, %d undecided: %s", broke, undecided, b)
			}
			checkFiles(t, dir, o)
		})
	}
}

// catalogue is every attack's id but that of the long one, which TestPastFindings runs. In short, and with
// the race detector, it lacks those that take longest; a script of the program runs them as well.
func catalogue(short bool) (ids []string) {
	for _, a := range Catalogue() {
		id := a.Info().ID
		long := id == "faults" || id == "reconstruction" || id == "lies" && short
		if id != "noisy-factors" && id != "reports" && (!long || full && !short) {
			ids = append(ids, id)
		}
	}
	return ids
}

func checkFiles(t *testing.T, dir string, o Options) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, arraysFile))
	if err != nil {
		t.Fatal(err)
	}
	arrays, err := dataset.ReadNPZ(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range map[string]int{"sum": 1, "residual": 1, "share_low": o.Coalition.Nodes} {
		t.Run(name, func(t *testing.T) {
			if a := arrays[name]; a == nil || len(a.Data) != rows*o.Runs {
				t.Errorf("array %s: %+v", name, a)
			}
		})
	}
	var v viewJSON
	raw, err = os.ReadFile(filepath.Join(dir, viewFile))
	if err != nil || json.Unmarshal(raw, &v) != nil || len(v.Messages) < 10 ||
		len(v.Stored) != o.Coalition.Parties+o.Coalition.Nodes+1 || v.Rounds[0].Rank != 1 {
		t.Errorf("%v: %.500s", err, raw)
	}
}

// TestEveryAdversary measures every row of a plan's table of adversaries: the lower bound is below
// the claim, and above 0.7 of it for one sum and for ten. Under local noise a sum hides the noise of all
// honest parties, unless a party's later steps or rounds may show its earlier noise: then the claim counts
// the party's own alone, and the lab's victim shows it, or the row says why it measures less. Where noise
// is drawn anew the bounds are 8 deviations above this share.
func TestEveryAdversary(t *testing.T) {
	t.Parallel()
	type plan struct {
		noise                   protocol.Placement
		parties, nodes, missing int
		rounds, runs            int
		epsilon, share          float64
		rows                    int // at least
		steps                   int
		summed, exposed         bool
	}
	plans := []plan{
		{protocol.NoiseParty, 6, 3, 0, 1, 1 << 14, 2, 0.7, 12, 1, false, false},
		{protocol.NoiseLocal, 7, 3, 2, 3, 1 << 14, 1, 0.7, 12, 1, true, false},
		{protocol.NoiseParty, 9, 2, 2, 10, 1 << 14, 0.3, 0.7, 12, 1, false, false},
		{protocol.NoiseCompute, 4, 2, 0, 1, 1 << 14, 1, 0.7, 8, 1, false, false},
		{protocol.NoiseLocal, 9, 3, 2, 2, 1 << 14, 1, 0.7, 8, 1, false, false},
		{protocol.NoiseLocal, 9, 3, 2, 2, 1 << 14, 1, 0.7, 8, 4, false, true},
	}
	if testing.Short() || !full {
		plans = plans[:2]
	}
	for _, c := range plans {
		name := fmt.Sprintf("%s, rounds=%d, steps=%d, summed=%t, exposed=%t", c.noise, c.rounds, c.steps,
			c.summed, c.exposed)
		t.Run(name, func(t *testing.T) {
			x := target(t, Target{Parties: c.parties, Nodes: c.nodes, MinParties: c.parties - c.missing, Colluders: 1,
				Rounds: c.rounds, Noise: c.noise, Epsilon: c.epsilon, Delta: 1e-5})
			x.Summed, x.Exposed = c.summed, c.exposed
			x.Steps, x.Variance = c.steps, x.Variance*uint64(c.steps)
			run := &Run{Options: Options{Target: x, Runs: c.runs, Seed: 5}, sessions: map[string]*record{}}
			if c.rounds == 1 {
				run.Lab = fixed(9)
			}
			layers, err := privacy.Layers(privacy.LayerTerms{Parties: uint32(x.Parties), MinParties: uint32(x.Parties),
				Computes: uint32(x.Nodes), Colluders: 1, ComputeNoise: c.noise == protocol.NoiseCompute,
				LocalNoise: c.noise == protocol.NoiseLocal, Summed: c.summed, PartVariance: x.Variance,
				SampleSensitivity: x.Sensitivity, Dim: 1, Releases: uint32(c.rounds * c.steps), Delta: x.Delta})
			if err != nil || len(layers) < c.rows {
				t.Fatalf("%d rows: %v", len(layers), err)
			}
			for _, l := range layers {
				if !math.IsInf(l.Sample, 1) {
					checkRow(t, run, l, c.share)
				}
			}
		})
	}
}

// checkRow measures a row of the table.
func checkRow(t *testing.T, run *Run, l privacy.Layer, share float64) {
	t.Helper()
	coalition := Coalition{Parties: int(l.Parties + l.Silent), Nodes: int(l.Computes), Aggregator: true}
	out, err := measureSums(t.Context(), run, coalition, thinned{}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: claimed %.3f, at least %.3f", l.Adversary, l.Sample, *out.Measured)
	if math.Abs(*out.Claimed-l.Sample) > 1e-9 {
		t.Errorf("%s: claimed %v, the plan's table says %v", l.Adversary, *out.Claimed, l.Sample)
	}
	if *out.Measured > l.Sample || *out.Measured < share*l.Sample && out.Reason == "" {
		t.Errorf("%s: measured %v of %v", l.Adversary, *out.Measured, l.Sample)
	}
	others := run.Target.Noise == protocol.NoiseLocal && coalition.Nodes < run.Target.Nodes &&
		!run.Target.Summed && !run.Target.Exposed &&
		coalition.Parties < run.Target.Parties-1 // whose noise the claim doesn't count
	if (out.Reason != "") != others {
		t.Errorf("%s: the reason is %q", l.Adversary, out.Reason)
	}
	if want := map[bool]Verdict{true: Held, false: NotPromised}[l.Tolerated]; out.Verdict != want {
		t.Errorf("%s: %s, want %s", l.Adversary, out.Verdict, want)
	}
}

// TestSampledClaim: with the record drawn at the plan's rate the bound stays below the sampled
// claim, which is a fraction of the unsampled one, and above half of it.
func TestSampledClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		relation privacy.Relation
		sampling privacy.Sampling
		rate     float64
		rounds   int
	}{
		{privacy.ReplaceOne, privacy.SamplingPoisson, 0.5, 2},
		{privacy.AddRemove, privacy.SamplingPoisson, 0.1, 4},
		{privacy.ReplaceOne, privacy.SamplingFixed, 0.2, 2},
	} {
		t.Run(fmt.Sprintf("%v, %v, rate=%v", c.relation, c.sampling, c.rate), func(t *testing.T) {
			x := Target{Parties: 3, Nodes: 2, MinParties: 3, Rounds: c.rounds, Noise: protocol.NoiseParty, Epsilon: 1,
				Delta: 1e-5, Steps: 1, Dim: 1, Relation: c.relation, Sensitivity: sensitivity, Sampling: c.sampling,
				Rate: c.rate, Variance: 1 << 40}
			run := &Run{Options: Options{Target: x, Runs: 1 << 14, Seed: 5}, sessions: map[string]*record{}}
			out, err := measureSums(t.Context(), run, Coalition{Aggregator: true}, thinned{}, false)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("claimed %.3f, at least %.3f", *out.Claimed, *out.Measured)
			if *out.Measured > *out.Claimed || *out.Measured < *out.Claimed/2 {
				t.Errorf("measured %v of %v", *out.Measured, *out.Claimed)
			}
		})
	}
}

// TestThinned: with parties that the broker or a node keeps out the set is the smallest one, and so is the
// noise. A smaller one is not revealed.
func TestThinned(t *testing.T) {
	t.Parallel()
	x := target(t, Target{Parties: 5, Nodes: 2, MinParties: 3, Colluders: 0, Rounds: 1,
		Noise:   protocol.NoiseParty,
		Epsilon: 3, Delta: 1e-5})
	c := Coalition{Parties: 1, Nodes: 1, Aggregator: true}
	for _, by := range []way{withheld, unlisted, late} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			run := &Run{Options: Options{Target: x, Runs: 1 << 12, Seed: 5, Lab: fixed(4)},
				sessions: map[string]*record{}}
			out, err := isolation{by}.Run(t.Context(), run, c, false)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(*out.Claimed-3) > .01 || out.Verdict != Held || *out.Measured < 1 {
				t.Errorf("%+v, measured %v", out, *out.Measured)
			}
			p, _, err := run.prepare(t.Context(), c, thinned{by, 2}, false)
			if err != nil || len(p.view.set(1)) != 3 || !slices.Contains(p.view.set(1), 0) {
				t.Errorf("the set is %v, %v", p.view.set(1), err)
			}
			out, err = isolation{by}.Run(t.Context(), run, c, true)
			if err != nil || out.Verdict != Broke {
				t.Errorf("the control: %+v, %v", out, err)
			}
		})
	}
}

// TestUnclaimed: of plans that claim no epsilon a sum promises nothing about records, and hides what it hides
// of members.
func TestUnclaimed(t *testing.T) {
	t.Parallel()
	for _, noise := range []protocol.Placement{protocol.NoiseNone, protocol.NoiseParty} {
		t.Run(noise.String(), func(t *testing.T) {
			roster, err := run.NewRoster(nil, 4, 2)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Target{Parties: 4, Nodes: 2, MinParties: 4, Colluders: 1, Rounds: 1, Noise: noise,
				Variance: 1 << 40}.sessionPlan(roster, 2, staging{perParty: 1 << 21})
			if err != nil {
				t.Fatal(err)
			}
			x, err := TargetOf(p)
			if err != nil || !x.Unclaimed {
				t.Fatalf("%+v, %v", x, err)
			}
			o := Options{Target: x, Runs: 1 << 12, Seed: 3, Lab: fixed(5),
				Coalition: Coalition{Nodes: 1, Aggregator: true}}
			wants := map[string]Verdict{"rank": Held, "restored": Held, "retries": Held, "epsilon": NotPromised,
				"canaries": NotPromised, "membership": NotPromised}
			for id := range wants {
				o.Scenarios = append(o.Scenarios, id)
			}
			r, err := o.Execute(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range r.Verdicts {
				want := wants[v.Scenario]
				if v.Control {
					want = Broke
				}
				if v.Verdict != want || want == NotPromised && (v.Claimed != nil || *v.Measured < 1) {
					t.Errorf("%s, control %t: %+v", v.Scenario, v.Control, v)
				}
			}
		})
	}
}

// twin is an adversary of one's own. It expects that all parties have the noise of the coalition's
// first party.
type twin struct{}

func (twin) Name() string { return "twin" }

func (twin) Score(_ context.Context, v *View) ([]float64, error) {
	scores := make([]float64, v.Coordinates())
	own := v.session.Plan.Parties() - 1
	rest, _ := v.Residual(1)
	sent, ok := v.contribution(uint32(own), 1)
	if !ok {
		return scores, nil
	}
	for j, clear := range others(own, len(scores)) {
		scores[j] = float64(rest[j] - int64(own)*(sent[j]-clear))
	}
	return scores, nil
}

// TestOwnAdversary: noise that parties share, a planted bug, is found by who looks for it.
func TestOwnAdversary(t *testing.T) {
	t.Parallel()
	x := target(t, Target{Parties: 3, Nodes: 2, MinParties: 3, Colluders: 0, Rounds: 1,
		Noise:   protocol.NoiseParty,
		Epsilon: 2, Delta: 1e-5})
	for planted, want := range map[bool]Verdict{false: Held, true: Broke} {
		o := Options{Target: x, Runs: 1 << 12, Scenarios: []string{"twin"}, Own: []Attack{Scored(twin{})},
			Coalition: Coalition{Parties: 1}, Lab: fixed(7)}
		if planted {
			o.Lab.Rand = func(uint32) io.Reader { return again{1} }
		}
		r, err := o.Execute(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Verdicts[0].Verdict; got != want {
			t.Errorf("planted %t: %s, want %s: %+v", planted, got, want, r.Verdicts[0])
		}
	}
}

// TestOneRun against the closed form: all of r guesses right with delta 0 refutes e with
// (1 + exp(-e))^-r below the level.
func TestOneRun(t *testing.T) {
	want := -math.Log(math.Pow(canaryAlpha, -1.0/100) - 1)
	if got := oneRun(1000, 100, 100, 0); math.Abs(got-want) > 2e-3 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := oneRun(1000, 100, 50, 0); got != 0 {
		t.Errorf("half of the guesses right shows %v", got)
	}
	if a, b := oneRun(4096, 512, 500, 0), oneRun(4096, 512, 500, 1e-5); b >= a {
		t.Errorf("delta raises the bound from %v to %v", a, b)
	}
}
