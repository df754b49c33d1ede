package privacy

import (
	"fmt"
	"math"
)

// LayerTerms are the terms of a plan that determine its guarantees against each adversary. All
// variances and sensitivities are in grid units.
type LayerTerms struct {
	Parties    uint32 // N
	MinParties uint32 // N_min, the size of the smallest set that is revealed
	Computes   uint32 // M
	Colluders  uint32 // T, the colluders that the plan tolerates in addition to one curious party

	ComputeNoise bool // every compute node adds all of the noise; otherwise every party adds a part
	LocalNoise   bool // the noise of every party suffices alone; excludes ComputeNoise
	// Summed reports, with LocalNoise, that a contribution is one noised release, made of public values
	// and the party's data, so that a sum hides the noise of all honest parties in it.
	Summed bool
	// Exposed reports, with LocalNoise, that for some data of the other parties a sum has the victim's noise
	// alone, so that no smaller epsilon than that of its own noise holds (docs/methods.md, section 5).
	Exposed      bool
	PartVariance uint64 // sigma^2 of the noise of one party, or of one compute node
	// Shuffled, if not zero, describes the reports of one party, which are summed in the place of noise;
	// excludes the two above. Its Reports is the least number that a party has.
	Shuffled Shuffled
	Mixed    bool // a mix-net carries the reports, not a sum

	SampleSensitivity uint64 // of a sum if one record (the term of one shard) changes
	PartySensitivity  uint64 // of a sum if all data of a party changes; 0 if that is not defined
	Dim               uint32
	Releases          uint32 // rounds and spare attempts, times the local steps of each
	Delta             float64

	// Sampling of the records for each release. It improves the guarantee for one record, but
	// not that for a party, which takes part in every release.
	Sampling Sampling
	Rate     float64  // in (0, 1]; 0 with SamplingNone
	Relation Relation // for the bound with sampling; 0 means ReplaceOne

	// Before are the terms of plans that this one goes on from, with the releases that they made. A
	// coalition of so many parties and nodes is one of as many in each of them.
	Before []LayerTerms

	known map[string]float64 // caches the epsilons of releases
}

// Layer is the guarantee against one adversary.
type Layer struct {
	Adversary string // a description for people
	Seen      string // a description of what it sees
	// The coalition and its circumstances.
	Attendance uint32 // parties in every revealed set, |U|
	Parties    uint32 // parties of the set in the coalition, the adversary included if it is a party
	Silent     uint32 // other parties of the set that secretly added no noise
	Computes   uint32 // compute nodes in the coalition
	// HiddenParts is the number of independent noise terms that the adversary cannot subtract, or of
	// reports that it does not know.
	HiddenParts uint32
	// Sample and Party are upper bounds on epsilon at the delta of the terms over all
	// releases: for one record and for all data of a party. They are +Inf if no noise is hidden;
	// Party is NaN if it is not defined.
	Sample, Party float64
	// Tolerated reports whether the plan guarantees its budget against this adversary.
	Tolerated bool
}

// validate returns an error with the name of an invalid field.
func (t LayerTerms) validate() error {
	switch {
	case t.MinParties < 1 || t.MinParties > t.Parties:
		return reject("min_parties: N_min = %d is not in 1..N = %d", t.MinParties, t.Parties)
	case t.Colluders >= t.Parties:
		return reject("colluders: T = %d is not below N = %d", t.Colluders, t.Parties)
	case t.Computes < 1:
		return reject("computes: no compute node")
	case t.Releases < 1:
		return reject("releases 0: nothing to hide")
	}
	if err := validateDelta(t.Delta); err != nil {
		return err
	}
	if t.ComputeNoise && t.LocalNoise {
		return reject("noise is placed with the compute nodes and locally")
	}
	if t.shuffled() && (t.ComputeNoise || t.LocalNoise) {
		return reject("shuffled reports have no noise")
	}
	if t.Summed && !t.LocalNoise {
		return reject("summed: only local noise has releases of single parties")
	}
	return t.release(t.SampleSensitivity, 1).validate()
}

// Layers returns the guarantees against every adversary of the threat model, at full attendance and
// for the smallest set that may be revealed. The victim is an honest party in every revealed set. The
// noise of the parties in the set, including the victim, that neither collude nor were silent is
// hidden from the adversary (docs/privacy.md, section 7).
func Layers(t LayerTerms) ([]Layer, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	t.known = map[string]float64{}
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
	notTight        = "; its epsilon, of the victim's own noise alone, is not known to be tight"
	seesNothingElse = "; shares of fewer than all compute nodes are uniformly random"

	seesTotal   = "the counts of all rounds' reports: no smaller epsilon is proven for it"
	seesCounts  = "every round's counts of reports"
	seesReports = "every round's reports, in a random order"
)

func (t LayerTerms) shuffled() bool { return t.Shuffled != (Shuffled{}) }

// sees returns what adversaries see of the sums, of every round's model and of the final one.
func (t LayerTerms) sees() (sums, models, final string) {
	switch {
	case t.Mixed:
		return seesReports, seesCounts, seesTotal
	case t.shuffled():
		return seesCounts, seesCounts, seesTotal
	}
	return seesSums, seesModels, seesFinal
}

// outside returns the adversaries without a party or a compute node.
func (t LayerTerms) outside(u uint32) []Layer {
	sums, models, final := t.sees()
	return []Layer{
		t.layer("outsider with the final model", final, u, 0, 0, 0),
		t.layer("outsider with every round's model", models, u, 0, 0, 0),
		t.layer("aggregator", sums, u, 0, 0, 0),
	}
}

// coalitions returns curious parties, alone and with the aggregator. The victim is not in the
// coalition, so that at most u - 1 parties of the set collude.
func (t LayerTerms) coalitions(u uint32) []Layer {
	if u < 2 {
		return nil
	}
	sums, models, _ := t.sees()
	own, theirs := sums+", and its own noise", sums+", and the colluders' noise"
	if t.shuffled() {
		own, theirs = models+", and its own reports", sums+", and the colluders' reports"
	}
	out := []Layer{t.layer("one curious party", own, u, 1, 0, 0)}
	for _, c := range t.counts(u-1, t.Colluders, t.Colluders+1) {
		who := fmt.Sprintf("aggregator and %d colluding parties", c)
		out = append(out, t.layer(who, theirs, u, c, 0, 0))
	}
	return out
}

// silent returns one curious party that sees sets in which some parties secretly added no noise.
func (t LayerTerms) silent(u uint32) []Layer {
	if t.ComputeNoise || t.LocalNoise && !t.Summed || u < 2 {
		return nil
	}
	less := seesSums + ", with less noise than planned"
	if t.shuffled() {
		less = seesCounts + ", of which the silent parties' are not random"
	}
	var out []Layer
	for _, s := range t.counts(u-1, t.Colluders) {
		if s > 0 {
			who := fmt.Sprintf("one curious party, %d others silent", s)
			out = append(out, t.layer(who, less, u, 1, s, 0))
		}
	}
	return out
}

// nodes returns the aggregator with k compute nodes.
func (t LayerTerms) nodes(u uint32) []Layer {
	var out []Layer
	sums, _, _ := t.sees()
	for _, k := range t.counts(t.Computes, t.Computes-1) {
		if k == 0 {
			continue
		}
		seen := sums + seesNothingElse
		switch {
		case t.Mixed && k < t.Computes:
			seen = sums + "; layers of fewer than all compute nodes are ciphertexts"
		case k == t.Computes && t.shuffled():
			seen = "every party's own counts of its reports"
		case k == t.Computes && t.ComputeNoise:
			seen = "every party's own update, bare"
		case k == t.Computes:
			seen = "every party's own noised update" // with LocalNoise as well
		case t.ComputeNoise:
			seen = seesSums + ", and these nodes' noise" + seesNothingElse
		}
		who := fmt.Sprintf("aggregator and %d of %d compute nodes", k, t.Computes)
		out = append(out, t.layer(who, seen, u, 0, 0, k))
	}
	return out
}

// counts returns 0 to 16, half of most, most, and the named numbers, all at most most. Bounds for reports
// take longer, so that there are fewer for them.
func (t LayerTerms) counts(most uint32, named ...uint32) []uint32 {
	last := uint32(16)
	if t.shuffled() {
		last = 1
	}
	var out []uint32
	for c := uint32(0); c <= most; c++ {
		keep := c <= last || c == most || !t.shuffled() && c == most/2
		for _, n := range named {
			keep = keep || c == n
		}
		if keep {
			out = append(out, c)
		}
	}
	return out
}

// hidden returns the number of independent noise terms that stay hidden, or of parties whose reports do.
func (t LayerTerms) hidden(u, parties, silent, computes uint32) uint32 {
	if t.LocalNoise && (!t.Summed || computes == t.Computes) {
		return 1 // that of the victim
	}
	if t.ComputeNoise {
		return t.Computes - computes
	}
	if computes == t.Computes {
		return 1 // the nodes know every update, which only its party's own noise or reports hide
	}
	rest := u - min(u, parties+silent)
	if t.LocalNoise {
		return max(1, rest)
	}
	return rest
}

func (t LayerTerms) layer(who, seen string, u, parties, silent, computes uint32) Layer {
	l := Layer{
		Adversary: who, Seen: seen,
		Attendance: u, Parties: parties, Silent: silent, Computes: computes,
	}
	l.HiddenParts = t.hidden(u, parties, silent, computes)
	if t.LocalNoise && !t.Summed && !t.Exposed && computes < t.Computes && u > parties+silent+1 {
		l.Seen += notTight
	}
	of := func(t LayerTerms, parts uint32) SampledRelease { return t.release(t.SampleSensitivity, parts) }
	l.Sample = t.epsilon(t.all(l, of))
	l.Party = math.NaN()
	if t.PartySensitivity > 0 {
		l.Party = t.epsilon(t.all(l, func(t LayerTerms, parts uint32) SampledRelease {
			r := t.release(t.PartySensitivity, parts)
			r.Sampling, r.Rate = SamplingNone, 0
			return r
		}))
	}
	l.Tolerated = t.LocalNoise || computes < t.Computes && parties+silent <= t.Colluders+1
	if t.shuffled() {
		l.HiddenParts = uint32(min(uint64(l.HiddenParts)*t.Shuffled.Reports, math.MaxUint32))
	}
	return l
}

// all are the releases that an adversary sees, those of earlier plans first: at full attendance or in
// the smallest sets of every plan, with all compute nodes of every plan or all but one at most.
func (t LayerTerms) all(l Layer, of func(LayerTerms, uint32) SampledRelease) []SampledRelease {
	var all []SampledRelease
	for _, b := range t.Before {
		attendance, computes := b.MinParties, min(l.Computes, b.Computes-1)
		if l.Attendance > t.MinParties {
			attendance = b.Parties
		}
		if l.Computes == t.Computes {
			computes = b.Computes
		}
		all = append(all, of(b, b.hidden(attendance, l.Parties, l.Silent, computes)))
	}
	return append(all, of(t, l.HiddenParts))
}

// release describes all releases with the given number of hidden parts.
func (t LayerTerms) release(sensitivity uint64, parts uint32) SampledRelease {
	if t.shuffled() {
		s := t.Shuffled
		s.Reports *= uint64(parts)
		return SampledRelease{Shuffled: s, Count: int(t.Releases)}
	}
	r := Release{Sensitivity: sensitivity, PartVariance: t.PartVariance, Parts: parts, Dim: t.Dim}
	return SampledRelease{Release: r, Sampling: t.Sampling, Rate: t.Rate, Count: int(t.Releases)}
}

// summedSlack is the part of delta, 2^-summedSlack, that Summed leaves for the bound on what a party sends,
// which cuts the noise with a probability far below (docs/methods.md, Theorem M2s).
const summedSlack = 30

func (t LayerTerms) epsilon(all []SampledRelease) float64 {
	for _, r := range all {
		if r.Parts == 0 && r.Shuffled.Reports == 0 {
			return math.Inf(1)
		}
	}
	key := fmt.Sprint(all)
	if e, ok := t.known[key]; ok {
		return e
	}
	relation := t.Relation
	if relation == 0 {
		relation = ReplaceOne
	}
	delta := t.Delta
	if t.Summed {
		delta -= math.Ldexp(delta, -summedSlack)
	}
	b, err := Spent(all, relation, delta, PlanPrecision())
	if err != nil { // no bound is proven; Validate has checked the terms
		b.Epsilon = math.Inf(1)
	}
	t.known[key] = b.Epsilon
	return b.Epsilon
}

// Overhead is the standard deviation of the total noise at full attendance, as a multiple of that
// of a trusted aggregator for the same guarantee ([DCA], Figure 1b).
type Overhead struct {
	Distributed float64 // sqrt(N / (N_min - T - 1)): parties share the noise
	Computed    float64 // sqrt(M): every compute node adds all of it
	Local       float64 // sqrt(N): every party adds all of it, and no secure sum is needed
}

// NoiseOverhead returns the overhead of each noise placement. Distributed is +Inf if N_min - T - 1 < 1.
func NoiseOverhead(parties, minParties, colluders, computes uint32) Overhead {
	o := Overhead{
		Distributed: math.Inf(1),
		Computed:    math.Sqrt(float64(computes)),
		Local:       math.Sqrt(float64(parties)),
	}
	if k, err := HiddenParts(minParties, colluders); err == nil {
		o.Distributed = math.Sqrt(float64(parties) / float64(k))
	}
	return o
}
