package terms

import (
	"crypto/rand"
	"fmt"
	"math"
	"regexp"
	"time"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/noise"
	"choir/crypto/xof"
	"choir/privacy"
	"choir/protocol"
	"choir/protocol/mix"
	"choir/session/app"
)

// Guarantees is the report that people read before they sign a plan: its privacy by
// adversary, and its cost.
type Guarantees struct {
	SchemaVersion int      `json:"schema_version"`
	Plan          string   `json:"plan"`
	Delta         float64  `json:"delta"`
	Budget        float64  `json:"epsilon_budget"`
	Layers        []Layer  `json:"layers"`
	Cost          PlanCost `json:"cost"`
	Reach         Reach    `json:"reach"`
	Noise         NoiseUse `json:"noise"`
	// Reports has what a plan of shuffled reports promises of them, which have no noise.
	Reports     *ReportUse `json:"reports,omitempty"`
	Assumptions []string   `json:"assumptions"`
	Warnings    []string   `json:"warnings"` // see Warnings
}

// Layer is one adversary's row; see privacy.Layer. A nil epsilon has no bound,
// or (Party) no meaning under the plan.
type Layer struct {
	Adversary   string   `json:"adversary"`
	Seen        string   `json:"seen"`
	Attendance  uint32   `json:"attendance"`
	Parties     uint32   `json:"colluding_parties"`
	Silent      uint32   `json:"silent_parties"`
	Computes    uint32   `json:"colluding_compute_nodes"`
	HiddenParts uint32   `json:"hidden_noise_parts"`
	Sample      *float64 `json:"epsilon_sample"`
	Party       *float64 `json:"epsilon_party"`
	Tolerated   bool     `json:"tolerated"`
}

// PlanCost is the cost of a round.
type PlanCost struct {
	UploadPerParty     int `json:"upload_bytes_per_party_per_round"`
	DownloadPerParty   int `json:"download_bytes_per_party_per_round"`
	DownloadPerCompute int `json:"download_bytes_per_compute_node_per_round"`
	Rounds             int `json:"rounds"`
	// Seconds for keystream, sharing, sealing and noise, measured on a part of a
	// vector on this machine and scaled. Learning and waiting are not included.
	SecondsPerParty   float64 `json:"seconds_per_party_per_round"`
	SecondsPerCompute float64 `json:"seconds_per_compute_node_per_round"`
}

// Reach is how far one dishonest party can move a sum that is accepted: an L2 norm, in multiples of the
// largest update that an honest party may send. Nobody sees a single update, so a false one within
// that bound is not noticed at all.
type Reach struct {
	Unchecked float64 `json:"unchecked"` // if only each coordinate of the sum were checked
	Checked   float64 `json:"checked"`   // with the check of the sum's norm
}

func reachOf(p *protocol.Plan) Reach {
	if p.Mixes() { // it sends as many reports as an honest one may, of its choice
		return Reach{1, 1}
	}
	unchecked, checked, _ := p.Reach() // a valid plan has one
	return Reach{unchecked, checked}
}

// NoiseUse compares the noise on a sum, per coordinate at full attendance, with
// the clip and with other placements of the same guarantee ([DCA], Figure 1b).
type NoiseUse struct {
	Std         float64  `json:"std"`               // of a sum, in the inputs' unit
	PerClip     float64  `json:"std_per_clip"`      // over one term's clip
	Trusted     float64  `json:"ratio_to_trusted"`  // over a trusted aggregator's
	Local       float64  `json:"ratio_to_local"`    // over that of parties that each add all of it
	ComputeSide *float64 `json:"ratio_if_computes"` // over a trusted aggregator's, if nodes added it
}

// maxRounding bounds the rounding to the grid, as a share of the noise's standard
// deviation.
const maxRounding = 1e-3

// CheckGrid refuses grids whose rounding is not small against the hidden noise: the
// error is at most half a unit in every term, at worst uniform. Local noise is on a
// grid of the application, which checks it.
func CheckGrid(p *protocol.Plan) error {
	r, ok := p.Release()
	if !ok || p.Noise == protocol.NoiseLocal {
		return nil
	}
	variance, _ := r.HiddenVariance().Float64()
	terms := float64(p.Parties()) * math.Max(1, float64(p.PerParty)/float64(p.Clip))
	if rounding := math.Sqrt(terms / 12); rounding > maxRounding*math.Sqrt(variance) {
		return protocol.Fail(protocol.ClassInput,
			"plan: frac_bits: rounding to the grid 2^-%d is %.2g of the noise, more than %g: take a finer grid, or "+
				"a smaller epsilon", p.FracBits, rounding/math.Sqrt(variance), maxRounding)
	}
	return nil
}

// GuaranteesOf computes a plan's report. A plan without a claim has no layers.
func GuaranteesOf(p *protocol.Plan) (*Guarantees, error) {
	warnings, err := Warnings(p)
	if err != nil {
		return nil, err
	}
	g := &Guarantees{SchemaVersion: 1, Plan: p.ID().String(), Delta: p.Delta, Budget: p.Epsilon,
		Layers: []Layer{}, Cost: costOf(p), Reach: reachOf(p), Assumptions: assumptions(p),
		Warnings: warnings}
	if !p.Claims() {
		return g, nil
	}
	t := layerTerms(p)
	for a := p.After; a != nil; a = a.Plan.After {
		before := layerTerms(a.Plan)
		before.Releases = a.Attempts * max(1, a.Plan.LocalSteps)
		before.Summed = before.Summed && t.Summed
		t.Before = append(t.Before, before)
	}
	layers, err := privacy.Layers(t)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan: %w", err)
	}
	for _, l := range layers {
		g.Layers = append(g.Layers, Layer{l.Adversary, l.Seen, l.Attendance, l.Parties, l.Silent, l.Computes,
			l.HiddenParts, finite(l.Sample), finite(l.Party), l.Tolerated})
	}
	if g.Reports = reportUse(p); g.Reports == nil {
		g.Noise = noiseUse(p)
	}
	return g, nil
}

// digits are what the adversaries of one kind differ in.
var digits = regexp.MustCompile(`\d+`)

// Promised returns the adversaries that the plan protects against, and after them the first stronger
// one of each kind.
func (g *Guarantees) Promised() (kept []Layer) {
	broken := map[string]bool{}
	for _, l := range g.Layers {
		kind := fmt.Sprint(l.Attendance, digits.ReplaceAllString(l.Adversary, "N"))
		if l.Tolerated || !broken[kind] {
			kept = append(kept, l)
		}
		broken[kind] = broken[kind] || !l.Tolerated
	}
	return kept
}

func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

func layerTerms(p *protocol.Plan) privacy.LayerTerms {
	t := privacy.LayerTerms{Parties: uint32(p.Parties()), MinParties: p.MinParties,
		Computes: uint32(p.Computes()), Colluders: p.Colluders,
		ComputeNoise: p.Noise == protocol.NoiseCompute, LocalNoise: p.Noise == protocol.NoiseLocal,
		Summed: app.Summed(p), Exposed: app.Exposed(p), PartVariance: p.Variance, SampleSensitivity: p.Sensitivity,
		Dim: p.Dim, Releases: uint32(p.Releases()) * max(1, p.LocalSteps), Delta: p.Delta,
		Sampling: privacy.Sampling(p.Sampling), Rate: p.SampleRate, Relation: privacy.Relation(p.Relation)}
	if r := p.Reports; p.Noise == protocol.NoiseShuffle {
		t.Mixed = p.Mixes()
		t.Shuffled = privacy.Shuffled{Reports: uint64(r.Records), Categories: r.Categories, Gamma: r.Gamma,
			Keep: r.Keep}
		t.Releases = uint32(p.Releases()) * r.Columns
	}
	t.PartySensitivity = app.PartySensitivity(p)
	return t
}

// costOf counts payload bytes on the bus: vectors, tags, headers.
func costOf(p *protocol.Plan) PlanCost {
	if p.Mixes() {
		return mixCost(p)
	}
	n, m, d := p.Parties(), p.Computes(), p.Elements()
	chunks := xof.Chunks(d)
	vector := 8*d + chunks*(channel.Overhead+64)
	head := 105 + 32*3 + 16 + 16*m
	c := PlanCost{UploadPerParty: vector + head, DownloadPerParty: vector + 105 + 36*n + 32*m + m*(105+44) +
		m*(105+44),
		DownloadPerCompute: n*head + (n+m-1)/m*vector + m*(105+36*n) + m*(105+44), Rounds: int(p.Rounds)}
	perElement, perNoise := measure(p.Variance)
	c.SecondsPerParty = float64(d)*float64(m)*perElement + float64(p.Dim)*perNoise
	c.SecondsPerCompute = float64(n) * float64(d) * perElement
	return c
}

// mixCost is costOf with a mix-net, where all is in the layers: a party seals two for each node and report,
// and a node opens two of each report.
func mixCost(p *protocol.Plan) (c PlanCost) {
	c.Rounds = int(p.Rounds)
	c.UploadPerParty, c.DownloadPerParty, c.DownloadPerCompute = mix.Traffic(p)
	key, err := channel.GenerateKey(p.Suite, rand.Reader)
	if err != nil {
		return c
	}
	began := time.Now()
	enc, _, err := channel.Initiate(p.Suite, key.Public(), nil)
	seal := time.Since(began).Seconds()
	if err != nil {
		return c
	}
	began = time.Now()
	if _, err := channel.Accept(key, enc, nil); err != nil {
		return c
	}
	open := time.Since(began).Seconds()
	least, _ := p.MixEntries()
	c.SecondsPerParty = seal * float64(2*p.Computes()*least)
	c.SecondsPerCompute = open * float64(2*p.Parties()*least)
	return c
}

// measure returns the seconds for an element of keystream, sharing or sealing, which
// are about equal, and for a sample of noise.
func measure(variance uint64) (perElement, perNoise float64) {
	const piece = 1 << 14
	stream, err := xof.New(xof.Key{1})
	if err != nil {
		return 0, 0
	}
	v, began := make(field.Vector, piece), time.Now()
	stream.AddTo(v, 0)
	perElement = time.Since(began).Seconds() / piece
	g, err := noise.NewGaussian(variance)
	if err != nil {
		return perElement, 0 // a plan without noise
	}
	x, began := make([]int64, piece/16), time.Now()
	if err := g.Fill(x, rand.Reader); err != nil {
		return perElement, 0
	}
	return perElement, time.Since(began).Seconds() / float64(len(x))
}

func noiseUse(p *protocol.Plan) NoiseUse {
	parts := p.Parties()
	switch p.Noise {
	case protocol.NoiseCompute:
		parts = p.Computes()
	case protocol.NoiseLocal:
		parts = 1 // of one step; the noise on the sum depends on the application
	}
	std := math.Sqrt(float64(parts) * float64(p.Variance))
	u := NoiseUse{Std: math.Ldexp(std, -int(p.FracBits)), PerClip: std / float64(p.Clip)}
	o := privacy.NoiseOverhead(uint32(p.Parties()), p.MinParties, p.Colluders, uint32(p.Computes()))
	u.Trusted = o.Distributed
	switch p.Noise {
	case protocol.NoiseCompute:
		u.Trusted = o.Computed
	case protocol.NoiseLocal:
		u.Trusted = o.Local
	}
	u.Local = u.Trusted / o.Local
	u.ComputeSide = finite(o.Computed)
	return u
}

func assumptions(p *protocol.Plan) []string {
	a := []string{"at least one of the compute nodes follows the protocol"}
	switch p.Noise {
	case protocol.NoiseParty:
		a = append(a, fmt.Sprintf("of every revealed set (at least %d parties) at most %d besides one curious "+
			"party pool what they know or leave out their noise", p.MinParties, p.Colluders))
	case protocol.NoiseCompute:
		a = append(a, "the honest compute node adds its noise")
	case protocol.NoiseLocal:
		a = []string{"each party noises its own steps; it needs to trust nobody else for its own claim"}
		if app.Summed(p) {
			a = append(a, fmt.Sprintf("rows with fewer than all compute nodes count the noise of all honest parties "+
				"of the set (at least %d), which a sum has and a single contribution hasn't", p.MinParties))
		}
	case protocol.NoiseShuffle:
		a = append(a, reportAssumptions(p)...)
	case protocol.NoiseNone:
		return append(a, "no privacy is claimed for the sum itself")
	}
	if !p.Claims() {
		return append(a, "the noise claims no epsilon: what one row may change isn't stated")
	}
	switch privacy.Sampling(p.Sampling) {
	case privacy.SamplingPoisson:
		a = append(a, fmt.Sprintf("each record enters each release by a fresh secret draw of rate %g that "+
			"nobody else learns", p.SampleRate))
	case privacy.SamplingFixed:
		a = append(a,
			fmt.Sprintf("each release uses a fresh secret subset of fixed size, a share %g of the records",
				p.SampleRate))
	}
	if p.After != nil {
		a = append(a, fmt.Sprintf("at most as many parties of each of the %d plans before; a party that is in "+
			"several took part in all of their attempts", chainLength(p)))
	}
	if whole := app.PartySensitivity(p); whole > 0 && whole <= p.Sensitivity {
		a = append(a, "neighbours differ in all records of one party (replace-one)",
			"a person's records are at one party: for one with records at k parties epsilon is up to k times as "+
				"large, and delta grows more")
	} else {
		a = append(a, "neighbours differ in one record of one party (replace-one); the numbers of records are "+
			"public",
			"a person has one record in the files of all parties: for one with k records epsilon is up to k times "+
				"as large, and delta grows more")
	}
	return append(a, "the choice of the plan's own parameters was not made on the private data")
}

// reportAssumptions are those of a plan of shuffled reports.
func reportAssumptions(p *protocol.Plan) []string {
	u := reportUse(p)
	fresh := "attempt"
	if p.Mixes() {
		fresh = "round"
	}
	return []string{
		fmt.Sprintf("of every revealed set (at least %d parties) at most %d besides one curious party pool what "+
			"they know or don't randomise their reports: at least %d reports of others and of its own site hide one",
			p.MinParties, p.Colluders, u.Honest),
		fmt.Sprintf("every party has at least %d records, all of which it reports, with new randomness in every "+
			"%s; a site sees its own records", u.Records, fresh),
		fmt.Sprintf("against all others and all compute nodes together a report has its own randomness: epsilon "+
			"%.4g at delta 0, and %.4g for all reports of a record", u.Local, u.LocalAll),
	}
}

// chainLength is the number of a plan's predecessors.
func chainLength(p *protocol.Plan) (n int) {
	for a := p.After; a != nil; a = a.Plan.After {
		n++
	}
	return n
}
