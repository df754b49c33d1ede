package privacy

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func planTerms() LayerTerms {
	const clip = 1 << 20
	n, err := Calibrate(Target{Epsilon: 1, Delta: 1e-5, Sensitivity: 2 * clip, Dim: 218, Releases: 15, Parts: 5})
	if err != nil {
		panic(err)
	}
	return LayerTerms{
		Parties: 10, MinParties: 8, Computes: 3, Colluders: 2, PartVariance: n.PartVariance,
		SampleSensitivity: 2 * clip, PartySensitivity: 2 * 200 * clip, Dim: 218, Releases: 15, Delta: 1e-5,
	}
}

// world models a round of the plan: which member adds which noise, and what each coalition knows. It
// counts the noises in the aggregate, or in the update of the victim if that is exposed, that the
// coalition does not know. It shares no code with Layers.
type world struct{ attendance, computes, colluders, silent, nodes int }

func (w world) unknownNoises(computeNoise bool) int {
	type noise struct{ known bool }
	var inSum []noise
	if computeNoise {
		for node := range w.computes {
			inSum = append(inSum, noise{known: node < w.nodes})
		}
	}
	// Party 0 is the victim; colluders are taken from the other end, silent ones next to them.
	for party := range w.attendance {
		colludes := party >= w.attendance-w.colluders
		silent := !colludes && party >= w.attendance-w.colluders-w.silent
		if computeNoise || silent {
			continue
		}
		if w.nodes == w.computes && party != 0 {
			continue // the victim's update is seen by itself
		}
		inSum = append(inSum, noise{known: colludes})
	}
	unknown := 0
	for _, n := range inSum {
		if !n.known {
			unknown++
		}
	}
	return unknown
}

// The table of a plan with N = 10, M = 3, T = 2 against an independent calculation: the
// noises counted in a world played out, and the closed form of the Gaussian curve, which
// on this grid the integers meet to better than a millionth.
func TestLayersOfAPlan(t *testing.T) {
	for _, computeNoise := range []bool{false, true} {
		terms := planTerms()
		terms.ComputeNoise = computeNoise
		layers, err := Layers(terms)
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{false: 2*(3+1+3) + 10 + 8 + 9 + 7, true: 2*(3+1+3) + 10 + 8}[computeNoise]
		if len(layers) != want {
			t.Fatalf("%d layers, not %d", len(layers), want)
		}
		for _, l := range layers {
			w := world{int(l.Attendance), 3, int(l.Parties), int(l.Silent), int(l.Computes)}
			parts := w.unknownNoises(computeNoise)
			if int(l.HiddenParts) != parts {
				t.Errorf("%s at %d: %d parts hidden, world says %d", l.Adversary, l.Attendance, l.HiddenParts, parts)
			}
			checkEpsilon(t, l.Adversary, l.Sample, float64(terms.SampleSensitivity), parts, terms)
			checkEpsilon(t, l.Adversary, l.Party, float64(terms.PartySensitivity), parts, terms)
			if !computeNoise && l.Tolerated && l.Sample > 1 {
				t.Errorf("%s is tolerated, yet spends %v", l.Adversary, l.Sample)
			}
		}
	}
}

func checkEpsilon(t *testing.T, who string, got, sensitivity float64, parts int, terms LayerTerms) {
	t.Helper()
	if parts == 0 {
		if !math.IsInf(got, 1) {
			t.Errorf("%s: %v without noise", who, got)
		}
		return
	}
	mu := sensitivity * math.Sqrt(float64(terms.Releases)/(float64(parts)*float64(terms.PartVariance)))
	if want := GaussianEpsilon(mu, terms.Delta); relativeError(got, want) > 1e-6 || got < want {
		t.Errorf("%s: %v, want %v", who, got, want)
	}
}

// TestLayersOfSummedReleases: under local noise whose sums alone speak, a row counts the noise of all honest
// parties, and the victim's own where all nodes or all others collude.
func TestLayersOfSummedReleases(t *testing.T) {
	terms := planTerms()
	terms.LocalNoise, terms.Summed = true, true
	layers, err := Layers(terms)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		w := world{int(l.Attendance), 3, int(l.Parties), int(l.Silent), int(l.Computes)}
		if parts := max(1, w.unknownNoises(false)); int(l.HiddenParts) != parts || !l.Tolerated {
			t.Errorf("%s at %d: %d parts hidden, world says %d", l.Adversary, l.Attendance, l.HiddenParts, parts)
		}
		checkEpsilon(t, l.Adversary, l.Sample, float64(terms.SampleSensitivity), int(l.HiddenParts), terms)
	}
	terms.LocalNoise = false
	if _, err := Layers(terms); err == nil {
		t.Error("summed releases without local noise")
	}
}

// The strongest adversary that the plan tolerates spends the budget, all of it.
func TestToleratedAdversaryMeetsTheBudget(t *testing.T) {
	layers, err := Layers(planTerms())
	if err != nil {
		t.Fatal(err)
	}
	worst, beyond := 0.0, math.Inf(1)
	for _, l := range layers {
		if l.Tolerated {
			worst = math.Max(worst, l.Sample)
		} else if l.Attendance == 8 && l.Computes < 3 {
			beyond = math.Min(beyond, l.Sample)
		}
	}
	if worst > 1 || worst < 1-1e-6 {
		t.Errorf("the worst tolerated adversary spends %v of 1", worst)
	}
	if beyond <= 1 {
		t.Errorf("one more colluder spends %v", beyond)
	}
}

func TestLayersNameWhatIsExposed(t *testing.T) {
	terms := planTerms()
	terms.PartySensitivity = 0
	for _, computeNoise := range []bool{false, true} {
		terms.ComputeNoise = computeNoise
		layers, err := Layers(terms)
		if err != nil {
			t.Fatal(err)
		}
		exposed := 0
		for _, l := range layers {
			if !math.IsNaN(l.Party) {
				t.Errorf("%s: a party level of %v where there is none", l.Adversary, l.Party)
			}
			if l.Computes == terms.Computes {
				exposed++
				if l.Tolerated || !strings.Contains(l.Seen, "own") {
					t.Errorf("all compute nodes: %+v", l)
				}
			}
		}
		if exposed != 2 {
			t.Errorf("%d rows with all compute nodes", exposed)
		}
	}
}

func TestLayersOfManyParties(t *testing.T) {
	terms := planTerms()
	terms.Parties, terms.MinParties, terms.Colluders = 1000, 900, 100
	layers, err := Layers(terms)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]bool{}
	for _, l := range layers {
		if l.Attendance == 900 && l.Silent == 0 && l.Computes == 0 {
			seen[l.Parties] = true
		}
	}
	for _, c := range []uint32{0, 1, 16, 100, 101, 899} {
		if !seen[c] {
			t.Errorf("no row for %d colluders", c)
		}
	}
	if len(layers) > 150 {
		t.Errorf("%d rows are no table", len(layers))
	}
}

func TestLayerRejections(t *testing.T) {
	for name, spoil := range map[string]func(*LayerTerms){
		"min_parties": func(t *LayerTerms) { t.MinParties = 11 },
		"colluders":   func(t *LayerTerms) { t.Colluders = 10 },
		"computes":    func(t *LayerTerms) { t.Computes = 0 },
		"releases":    func(t *LayerTerms) { t.Releases = 0 },
		"delta":       func(t *LayerTerms) { t.Delta = 0 },
		"variance":    func(t *LayerTerms) { t.PartVariance = 0 },
		"sensitivity": func(t *LayerTerms) { t.SampleSensitivity = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			terms := planTerms()
			spoil(&terms)
			if _, err := Layers(terms); !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
}

// [DCA], Figure 1(b): with T = 0 and full attendance the factor is sqrt(N / (N-1)).
func TestNoiseOverhead(t *testing.T) {
	o := NoiseOverhead(10, 10, 0, 3)
	if relativeError(o.Distributed, math.Sqrt(10.0/9)) > 1e-15 ||
		relativeError(o.Local, math.Sqrt(10)) > 1e-15 || relativeError(o.Computed, math.Sqrt(3)) > 1e-15 {
		t.Errorf("%+v", o)
	}
	if !math.IsInf(NoiseOverhead(3, 3, 2, 3).Distributed, 1) {
		t.Error("no honest noise, yet a finite factor")
	}
}

// Local noise hides the victim from every adversary in the same way, for all coalitions and silent
// parties.
func TestLocalNoiseLayers(t *testing.T) {
	terms := LayerTerms{Parties: 6, MinParties: 4, Computes: 3, Colluders: 1, LocalNoise: true,
		PartVariance:      1 << 30,
		SampleSensitivity: 1 << 12, Dim: 9, Releases: 20, Delta: 1e-6, Sampling: SamplingPoisson, Rate: 0.1}
	rows, err := Layers(terms)
	if err != nil || len(rows) < 10 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	step := SampledStep{Mu: math.Exp2(12 - 15), Sampling: SamplingPoisson, Rate: 0.1, Count: 20}
	want, err := SampledEpsilon([]SampledStep{step}, ReplaceOne, 1e-6, PlanPrecision())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range rows {
		if l.HiddenParts != 1 || !l.Tolerated || l.Sample < want.Lower || l.Sample > want.Upper*1.001 ||
			!math.IsNaN(l.Party) {
			t.Errorf("%+v, want %+v", l, want)
		}
	}
	terms.ComputeNoise = true
	if _, err := Layers(terms); !errors.Is(err, ErrInput) {
		t.Errorf("two placements at once: %v", err)
	}
}
