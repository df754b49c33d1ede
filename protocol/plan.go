package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"sort"

	"choir/crypto/channel"
	"choir/crypto/identity"
)

// PlanVersion is the version of the plan's layout and of all messages under it.
const PlanVersion = 1

// Role is what a member does in a plan.
type Role uint8

const (
	RoleParty      Role = 1 // holds data, contributes noised updates
	RoleCompute    Role = 2 // adds shares, reveals one partial sum per round
	RoleAggregator Role = 3 // opens rounds, adds the partial sums, publishes results
)

// String returns the role's name on the command line and in logs.
func (r Role) String() string {
	switch r {
	case RoleParty:
		return "party"
	case RoleCompute:
		return "compute"
	case RoleAggregator:
		return "aggregator"
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// Placement is who adds the noise.
type Placement uint8

const (
	// NoiseNone adds none: a plain secure sum. Each term is protected, but there is no
	// differential privacy for the sum.
	NoiseNone Placement = 0
	// NoiseParty is distributed noise: every party adds its part ([DCA], Theorem 1).
	NoiseParty Placement = 1
	// NoiseCompute has every compute node add the whole noise to its partial sum. The variance
	// is M times larger, and parties that add no noise do no harm.
	NoiseCompute Placement = 2
	// NoiseLocal has each party make its contribution private before sharing it, by noise in
	// the application's steps; the sum adds none. It protects a party from all others
	// together. Relative to the sum, the noise does not shrink with the number of parties.
	NoiseLocal Placement = 3
	// NoiseShuffle adds no noise: each party randomises the reports of its records (Reports) before
	// it shares the sum of their one-hot vectors, or seals each for a mix-net. Either shuffles the
	// reports of all honest parties; a single one protects its record from all others together.
	NoiseShuffle Placement = 4
)

// String returns the placement's name in plan files.
func (p Placement) String() string {
	switch p {
	case NoiseNone:
		return "none"
	case NoiseParty:
		return "party"
	case NoiseCompute:
		return "compute"
	case NoiseLocal:
		return "local"
	case NoiseShuffle:
		return "shuffle"
	}
	return fmt.Sprintf("placement(%d)", uint8(p))
}

// Member is an enrolled member. Messages name it by its index in Plan.Members.
type Member struct {
	Name     string // 1-32 of [a-z0-9-], starts with a letter; used in bus subjects
	Role     Role
	Key      identity.PublicKey
	NotAfter int64 // unix seconds; signatures of the identity are valid until then
}

// PlanID is the SHA-256 of the plan's canonical form with a label. It is part of every
// signature, key derivation and associated data.
type PlanID [32]byte

// String returns the id in hexadecimal.
func (id PlanID) String() string { return hex.EncodeToString(id[:]) }

// Short returns the first 8 bytes in hexadecimal, which name the plan in bus subjects. They are
// a label and are not used for any security check.
func (id PlanID) Short() string { return hex.EncodeToString(id[:8]) }

// Prefix returns the first 16 bytes, which chunks have.
func (id PlanID) Prefix() [16]byte { return [16]byte(id[:]) }

// Plan is the document that every member signs before the session. All members therefore have
// the same N, T, clip, noise and model, which prevents the attack in which an aggregator lies
// about the number of parties ([Thesis], section 3.2.2).
//
// Layout (big endian; "n*" is a 32-bit count and that many entries; "text" and
// "bytes" are a 32-bit length and the bytes):
//
//	u16 version | text name | i64 created | i64 not_after | u8 suite
//	n* members: text name | u8 role | 32 key | i64 not_after
//	u32 dim | u8 paired | u8 frac_bits | u32 rounds | u32 spare_attempts
//	u32 min_parties | u32 colluders | u32 deadline_ms | u32 grace_ms
//	u64 clip | u64 per_party
//	u8 placement | u64 variance | u8 unsafe differences
//	under placement 4: u32 records | u32 columns | u32 categories | u64 gamma | u64 keep | u32 mix records
//	u8 sampling | u64 sample rate bits | u32 local steps
//	u8 relation | u64 sensitivity | u64 epsilon bits | u64 delta bits | text accountant
//	u8 audit | text application | bytes parameters
//	nothing, or u8 1 and the predecessor: bytes plan | u32 round | u32 attempts | 32 model
type Plan struct {
	Name     string
	Created  int64 // unix seconds
	NotAfter int64 // unix seconds; no role opens or enters an attempt later
	Suite    channel.Suite
	Members  []Member // parties, then compute nodes, then the aggregator; each by name

	Dim           uint32 // coordinates of an update
	Paired        bool   // two coordinates share a field element (fixedpoint.Pair)
	FracBits      uint8  // the grid's resolution is 2^-FracBits
	Rounds        uint32
	SpareAttempts uint32 // further attempts in total within the budget
	MinParties    uint32 // N_min: the smallest set that may be revealed
	Colluders     uint32 // T: parties that may collude
	DeadlineMS    uint32 // an attempt waits this long for contributions that are missing
	GraceMS       uint32 // and this long for parties that missed the last round, once all others contributed

	Clip uint64 // L2 bound of one record's (one shard's) term, grid units
	// PerParty bounds the L2 norm, and so each coordinate, of the sum of one party's terms,
	// grid units.
	PerParty uint64

	Noise Placement
	// Variance is sigma^2 of the discrete Gaussian of one contributor, grid units squared; with
	// NoiseLocal it is that of one local step.
	Variance uint64
	// UnsafeDifferences allows several rounds without noise over sets that may differ. The
	// difference of two exact sums is the contribution of a party that only one of them counts.
	// With noise it has no effect.
	UnsafeDifferences bool
	Reports           Reports // under NoiseShuffle; otherwise zero

	Sampling   uint8   // how records enter a release: a privacy.Sampling
	SampleRate float64 // in (0, 1]; 0 without sampling
	LocalSteps uint32  // noisy steps in one contribution with NoiseLocal; otherwise 0

	Relation    uint8   // neighbouring relation: a privacy.Relation
	Sensitivity uint64  // L2 distance of neighbouring sums, grid units
	Epsilon     float64 // budget over all rounds and spare attempts; 0 with NoiseNone
	Delta       float64
	Accountant  string

	Audit       bool
	Application string // what folds the sums, such as "sum" or "dp-pvi"
	Parameters  []byte // the application's parameters in canonical form

	After *Predecessor // the plan that this one goes on from; nil: none
}

// Reports describes the randomised reports of a plan under NoiseShuffle. In an attempt every record of a
// party reports each of some columns by k-ary randomised response, or a level with discrete Laplace noise.
type Reports struct {
	Records    uint32 `json:"records"`    // least number of records of every party
	Columns    uint32 `json:"columns"`    // reports of a record in an attempt
	Categories uint32 `json:"categories"` // k, or the levels, of the column with the most
	Gamma      uint64 `json:"gamma"`      // probability of a uniform report, in units of 2^-32; 0 with noise
	Keep       uint64 `json:"keep"`       // with noise its privacy.Shuffled.Keep; otherwise 0
	// MixRecords is the largest number of records of a party if a mix-net carries each report by itself;
	// 0 if the secure sum adds them.
	MixRecords uint32 `json:"mix_records"`
}

func (r *Reports) fields(w *wire) {
	w.u32("records", &r.Records)
	w.u32("columns", &r.Columns)
	w.u32("categories", &r.Categories)
	w.u64("gamma", &r.Gamma)
	w.u64("keep", &r.Keep)
	w.u32("mix records", &r.MixRecords)
}

func (m *Member) fields(w *wire) {
	w.text("member name", &m.Name, 32)
	w.u8("member role", (*uint8)(&m.Role))
	w.fixed("member key", m.Key[:])
	w.i64("member expiry", &m.NotAfter)
}

func (p *Plan) fields(w *wire) {
	version := uint16(PlanVersion)
	w.u16("plan version", &version)
	if version != PlanVersion {
		w.fail("plan version %d is not %d", version, PlanVersion)
		return
	}
	w.text("plan name", &p.Name, 64)
	w.i64("created", &p.Created)
	w.i64("not after", &p.NotAfter)
	w.u8("suite", (*uint8)(&p.Suite))
	if n := w.count("members", len(p.Members), 4+1+32+8); w.reading() && w.err == nil {
		p.Members = make([]Member, n)
	}
	for i := range p.Members {
		p.Members[i].fields(w)
	}
	p.sumFields(w)
	p.privacyFields(w)
	w.flag("audit", &p.Audit)
	w.text("application", &p.Application, 32)
	w.blob("parameters", &p.Parameters, maxBlob)
	p.after(w)
}

func (p *Plan) sumFields(w *wire) {
	w.u32("dim", &p.Dim)
	w.flag("paired", &p.Paired)
	w.u8("frac bits", &p.FracBits)
	w.u32("rounds", &p.Rounds)
	w.u32("spare attempts", &p.SpareAttempts)
	w.u32("min parties", &p.MinParties)
	w.u32("colluders", &p.Colluders)
	w.u32("deadline", &p.DeadlineMS)
	w.u32("grace", &p.GraceMS)
	w.u64("clip", &p.Clip)
	w.u64("per party", &p.PerParty)
}

func (p *Plan) privacyFields(w *wire) {
	w.u8("placement", (*uint8)(&p.Noise))
	w.u64("variance", &p.Variance)
	w.flag("unsafe differences", &p.UnsafeDifferences)
	if p.Noise == NoiseShuffle {
		p.Reports.fields(w)
	}
	w.u8("sampling", &p.Sampling)
	w.float("sample rate", &p.SampleRate)
	w.u32("local steps", &p.LocalSteps)
	w.u8("relation", &p.Relation)
	w.u64("sensitivity", &p.Sensitivity)
	w.float("epsilon", &p.Epsilon)
	w.float("delta", &p.Delta)
	w.text("accountant", &p.Accountant, 64)
}

// float is the IEEE 754 pattern of a finite number other than minus zero.
func (w *wire) float(name string, v *float64) {
	u := math.Float64bits(*v)
	w.u64(name, &u)
	f := math.Float64frombits(u)
	if math.IsNaN(f) || math.IsInf(f, 0) || (f == 0 && u != 0) {
		w.fail("%s is not a finite number", name)
		return
	}
	if w.reading() {
		*v = f
	}
}

// Marshal returns the plan's canonical form. It fails for a plan that cannot be decoded.
func (p *Plan) Marshal() ([]byte, error) { return marshal(p) }

// ID returns the hash of the canonical form, or zero if the plan has none.
func (p *Plan) ID() PlanID {
	b, err := p.Marshal()
	if err != nil {
		return PlanID{}
	}
	h := sha256.New()
	h.Write([]byte("choir v1 plan\x00"))
	h.Write(b)
	return PlanID(h.Sum(nil))
}

// SortMembers sorts the members into the order that Validate requires.
func (p *Plan) SortMembers() {
	slices.SortFunc(p.Members, compareMembers)
}

func compareMembers(a, b Member) int {
	if a.Role != b.Role {
		return int(a.Role) - int(b.Role)
	}
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

// Parties returns N, the number of enrolled parties; their indices are 0..N-1.
func (p *Plan) Parties() int { return p.countRole(RoleParty) }

// Computes returns M, the number of compute nodes; their indices are N..N+M-1.
func (p *Plan) Computes() int { return p.countRole(RoleCompute) }

// Aggregator returns the aggregator's index, the last one.
func (p *Plan) Aggregator() uint32 { return uint32(len(p.Members) - 1) }

// Compute returns the member index of the k-th compute node, 0 <= k < M.
func (p *Plan) Compute(k int) uint32 { return uint32(p.Parties() + k) }

// countRole counts the members of a role by binary search: the roster is in order of role,
// which checkRoster checks first.
func (p *Plan) countRole(r Role) int {
	from := func(r Role) int {
		return sort.Search(len(p.Members), func(i int) bool { return p.Members[i].Role >= r })
	}
	return from(r+1) - from(r)
}

// Index finds the member with an identity key.
func (p *Plan) Index(key identity.PublicKey) (uint32, bool) {
	for i := range p.Members {
		if p.Members[i].Key == key {
			return uint32(i), true
		}
	}
	return 0, false
}

// Is reports whether member i exists and has the role.
func (p *Plan) Is(i uint32, r Role) bool {
	return uint64(i) < uint64(len(p.Members)) && p.Members[i].Role == r
}

// HiddenParts returns the number of independent noise terms of a revealed sum that the worst
// adversary does not know. Without noise it is 0. With NoiseParty it is N_min - T - 1 ([DCA],
// Theorem 1): the smallest allowed set has N_min terms, T colluding parties know theirs, and
// so does one honest but curious party that looks at the sum. With NoiseCompute it is 1, of
// the one honest compute node, and with NoiseLocal 1, the party's own. With NoiseShuffle it is the number of
// parties whose reports that adversary does not know, N_min - T - 1.
func (p *Plan) HiddenParts() uint64 {
	switch p.Noise {
	case NoiseParty, NoiseShuffle:
		if p.MinParties > p.Colluders+1 {
			return uint64(p.MinParties - p.Colluders - 1)
		}
	case NoiseCompute, NoiseLocal:
		return 1
	}
	return 0
}

// Expired reports whether the plan has expired at a time in unix milliseconds.
func (p *Plan) Expired(now int64) bool { return now/1000 > p.NotAfter }

// Times after the expiry, in milliseconds.
const (
	settleMS   = 60_000 // for what follows the deadline and the grace of the attempt that was open
	farewellMS = 60_000 // for the aggregator's last message to arrive
)

// Expiry returns the first unix millisecond at which the plan has expired. No attempt opens from then on.
func (p *Plan) Expiry() int64 { return 1000 * (min(p.NotAfter, math.MaxInt64/2000) + 1) }

// Settles returns until when, in unix milliseconds, the attempt that was open at the expiry may be
// settled, given the time of the last progress. Then the aggregator ends the session.
func (p *Plan) Settles(progress int64) int64 {
	return max(p.Expiry(), progress) + int64(p.DeadlineMS) + int64(p.GraceMS) + settleMS
}

// Leaves returns when, in unix milliseconds, another member ends that has heard no end of the session,
// given the time of the last progress.
func (p *Plan) Leaves(progress int64) int64 { return p.Settles(progress) + farewellMS }

// Attempts returns the largest number of attempts of all rounds together.
func (p *Plan) Attempts() int { return int(p.Rounds) + int(p.SpareAttempts) }

// Releases returns the number of attempts that the budget must allow. With a mix-net it is that of the
// rounds: all attempts of a round carry the same reports, and an honest node opens those of one.
func (p *Plan) Releases() int {
	if p.Mixes() {
		return int(p.Rounds)
	}
	return p.Attempts()
}

// Mixes reports whether a mix-net carries the plan's reports.
func (p *Plan) Mixes() bool { return p.Reports.MixRecords > 0 }
