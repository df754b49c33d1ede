package privacy

import (
	"fmt"
	"math"
)

// LayerTerms are the numbers of a plan on which its layered guarantees rest. All
// variances and sensitivities are in grid units.
type LayerTerms struct {
	Parties    uint32 // N
	MinParties uint32 // N_min, the smallest set that is ever revealed
	Computes   uint32 // M
	Colluders  uint32 // T, what the plan tolerates beside one curious party

	ComputeNoise bool   // compute nodes add the noise, each all of it; else every party its part
	LocalNoise   bool   // every party's contribution is private by itself; excludes ComputeNoise
	PartVariance uint64 // sigma^2 of one party's noise, or of one compute node's

	SampleSensitivity uint64 // of a sum, when one record (one shard's term) changes
	PartySensitivity  uint64 // when all of a party's data changes; 0 where that has no meaning
	Dim               uint32
	Releases          uint32 // rounds and spare attempts, times the local steps of each
	Delta             float64

	// Records enter each release by this sampling. It strengthens what is promised to one
	// record; a whole party is there or not in any sample, so its epsilon is the unsampled one.
	Sampling Sampling
	Rate     float64  // in (0, 1]; 0 with SamplingNone
	Relation Relation // for the sampling's bound; 0 is read as ReplaceOne

	known map[SampledRelease]float64 // epsilons that several rows have in common
}

// Layer is what one adversary gets.
type Layer struct {
	Adversary string // for people
	Seen      string // what it sees
	// Coalition and circumstances.
	Attendance uint32 // parties in every revealed set, |U|
	Parties    uint32 // of them, those that pool what they know, the adversary included if it is a party
	Silent     uint32 // of the others, those that added no noise without saying so
	Computes   uint32 // compute nodes in the coalition
	// HiddenParts counts the independent noises that the adversary can't subtract from what it sees.
	HiddenParts uint32
	// Sample and Party are upper bounds on epsilon at the terms' delta over all
	// releases; +Inf where no noise is left, NaN for Party where the level has no meaning.
	Sample, Party float64
	// Tolerated says that the plan promises its budget against this adversary.
	Tolerated bool
}

// Validate names the field that makes the terms meaningless.
func (t LayerTerms) Validate() error {
	switch {
	case t.MinParties < 1 || t.MinParties > t.Parties:
		return refuse("min_parties: N_min = %d isn't in 1..N = %d", t.MinParties, t.Parties)
	case t.Colluders >= t.Parties:
		return refuse("colluders: T = %d isn't below N = %d", t.Colluders, t.Parties)
	case t.Computes < 1:
		return refuse("computes: no compute node")
	case t.Releases < 1:
		return refuse("releases 0: nothing to hide")
	}
	if err := validateDelta(t.Delta); err != nil {
		return err
	}
	if t.ComputeNoise && t.LocalNoise {
		return refuse("noise is placed with the compute nodes and locally")
	}
	return t.release(t.SampleSensitivity, 1).Validate()
}

// Layers tables what every adversary of the threat model gets, at full attendance and
// at the smallest allowed set. The victim is an honest party in every revealed set; hidden
// from an adversary is the noise of the parties in the set, the victim included,
// that neither collude nor were silent (docs/privacy.md, section 7).
func Layers(t LayerTerms) ([]Layer, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	t.known = map[SampledRelease]float64{}
	var out []Layer
	for _, u := range t.attendances() {
		out = append(out, t.outside(u)...)
		out = append(out, t.coalitions(u)...)
		out = append(out, t.silent(u)...)
		out = append(out, t.nodes(u)...)
	}
	return out, nil
}

func (t LayerTerms) attendances() []uint32 {
	if t.MinParties == t.Parties {
		return []uint32{t.Parties}
	}
	return []uint32{t.Parties, t.MinParties}
}

const (
	seesFinal       = "the final model, which is computed from all sums: no smaller epsilon is proven for it"
	seesModels      = "the model after every round"
	seesSums        = "every round's noisy sum"
	seesNothingElse = "; shares of fewer than all compute nodes are uniformly random"
)

// outside lists those who bring no party and no compute node along.
func (t LayerTerms) outside(u uint32) []Layer {
	return []Layer{
		t.layer("outsider with the final model", seesFinal, u, 0, 0, 0),
		t.layer("outsider with every round's model", seesModels, u, 0, 0, 0),
		t.layer("aggregator", seesSums, u, 0, 0, 0),
	}
}

// coalitions lists curious parties, alone and with the aggregator. At least the
// victim is left out, so at most u - 1 of a set's parties collude.
func (t LayerTerms) coalitions(u uint32) []Layer {
	if u < 2 {
		return nil
	}
	out := []Layer{t.layer("one curious party", seesSums+", and its own noise", u, 1, 0, 0)}
	for _, c := range counts(u-1, t.Colluders, t.Colluders+1) {
		out = append(out, t.layer(fmt.Sprintf("aggregator and %d colluding parties", c), seesSums+", and the colluders' noise", u, c, 0, 0))
	}
	return out
}

// silent lists sets in which some parties added no noise and said nothing, seen by one
// curious party.
func (t LayerTerms) silent(u uint32) []Layer {
	if t.ComputeNoise || t.LocalNoise || u < 2 {
		return nil
	}
	var out []Layer
	for _, s := range counts(u-1, t.Colluders) {
		if s > 0 {
			out = append(out, t.layer(fmt.Sprintf("one curious party, %d others silent", s), seesSums+", thinner in noise than planned", u, 1, s, 0))
		}
	}
	return out
}

// nodes lists the aggregator with k compute nodes.
func (t LayerTerms) nodes(u uint32) []Layer {
	var out []Layer
	for _, k := range counts(t.Computes, t.Computes-1) {
		if k == 0 {
			continue
		}
		seen := seesSums + seesNothingElse
		switch {
		case k == t.Computes && t.ComputeNoise:
			seen = "every party's own update, bare"
		case k == t.Computes:
			seen = "every party's own noised update" // with LocalNoise as well
		case t.ComputeNoise:
			seen = seesSums + ", and these nodes' noise" + seesNothingElse
		}
		out = append(out, t.layer(fmt.Sprintf("aggregator and %d of %d compute nodes", k, t.Computes), seen, u, 0, 0, k))
	}
	return out
}

// counts are 0 to most, thinned out above 16 but for the ones named.
func counts(most uint32, named ...uint32) []uint32 {
	var out []uint32
	for c := uint32(0); c <= most; c++ {
		keep := c <= 16 || c == most || c == most/2
		for _, n := range named {
			keep = keep || c == n
		}
		if keep {
			out = append(out, c)
		}
	}
	return out
}

// hidden counts the noises that stay hidden.
func (t LayerTerms) hidden(u, parties, silent, computes uint32) uint32 {
	if t.LocalNoise {
		return 1 // the victim's own, whoever the others are
	}
	if t.ComputeNoise {
		return t.Computes - computes
	}
	if computes == t.Computes {
		return 1 // the sum falls apart: each update has its own party's noise alone
	}
	return u - min(u, parties+silent)
}

func (t LayerTerms) layer(who, seen string, u, parties, silent, computes uint32) Layer {
	l := Layer{Adversary: who, Seen: seen, Attendance: u, Parties: parties, Silent: silent, Computes: computes}
	l.HiddenParts = t.hidden(u, parties, silent, computes)
	l.Sample = t.epsilon(t.release(t.SampleSensitivity, l.HiddenParts))
	l.Party = math.NaN()
	if t.PartySensitivity > 0 {
		r := t.release(t.PartySensitivity, l.HiddenParts)
		r.Sampling, r.Rate = SamplingNone, 0
		l.Party = t.epsilon(r)
	}
	l.Tolerated = t.LocalNoise || computes < t.Computes && parties+silent <= t.Colluders+1
	return l
}

// release is all releases with the given noise left.
func (t LayerTerms) release(sensitivity uint64, parts uint32) SampledRelease {
	return SampledRelease{Release: Release{Sensitivity: sensitivity, PartVariance: t.PartVariance, Parts: parts, Dim: t.Dim},
		Sampling: t.Sampling, Rate: t.Rate, Count: int(t.Releases)}
}

func (t LayerTerms) epsilon(r SampledRelease) float64 {
	if r.Parts == 0 {
		return math.Inf(1)
	}
	if e, ok := t.known[r]; ok {
		return e
	}
	relation := t.Relation
	if relation == 0 {
		relation = ReplaceOne
	}
	b, err := Spent([]SampledRelease{r}, relation, t.Delta, PlanPrecision())
	if err != nil { // nothing is proven then; Validate took in all that is needed
		b.Epsilon = math.Inf(1)
	}
	t.known[r] = b.Epsilon
	return b.Epsilon
}

// Overhead is the total noise's standard deviation at full attendance as a multiple
// of a trusted aggregator's for the same guarantee (Paper I, Figure 1b).
type Overhead struct {
	Distributed float64 // sqrt(N / (N_min - T - 1)): parties share the noise
	Computed    float64 // sqrt(M): every compute node adds all of it
	Local       float64 // sqrt(N): every party adds all of it, no secure sum needed
}

// NoiseOverhead compares the placements; Distributed is +Inf where N_min - T - 1 < 1.
func NoiseOverhead(parties, minParties, colluders, computes uint32) Overhead {
	o := Overhead{Distributed: math.Inf(1), Computed: math.Sqrt(float64(computes)), Local: math.Sqrt(float64(parties))}
	if k, err := HiddenParts(minParties, colluders); err == nil {
		o.Distributed = math.Sqrt(float64(parties) / float64(k))
	}
	return o
}
