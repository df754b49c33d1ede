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

// PlanVersion is the version of the plan's layout and of every message under it.
const PlanVersion = 5

// Role is what a member does in a plan.
type Role uint8

const (
	RoleParty      Role = 1 // holds data, contributes noised updates
	RoleCompute    Role = 2 // adds shares, reveals one partial sum per round
	RoleAggregator Role = 3 // opens rounds, adds the partial sums, publishes results
)

// String is the role's name on the command line and in logs.
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

// Placement says who adds the noise that makes a release private.
type Placement uint8

const (
	// NoiseNone adds none: a bare secure sum. It protects the terms from
	// everybody but claims no differential privacy for the sum.
	NoiseNone Placement = 0
	// NoiseParty is the DCA's distributed noise: every party adds its part
	// (Paper I, Theorem 1).
	NoiseParty Placement = 1
	// NoiseCompute lets every compute node add the whole noise to its partial
	// sum. It costs a factor M in variance and survives parties that add none.
	NoiseCompute Placement = 2
	// NoiseLocal says that what a party contributes is private by itself, before it is
	// shared: the application noised the steps that led to it, and the sum adds
	// nothing. It protects each party from all others together, at the price of a noise
	// that doesn't shrink with their number.
	NoiseLocal Placement = 3
)

// String is the placement's name in plan files.
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
	}
	return fmt.Sprintf("placement(%d)", uint8(p))
}

// Member is one enrolled participant. Its index in Plan.Members is how messages
// name it.
type Member struct {
	Name     string // 1-32 of [a-z0-9-], starts with a letter; a token of bus subjects
	Role     Role
	Key      identity.PublicKey
	NotAfter int64 // unix seconds; the identity's signatures count until then
}

// PlanID is the SHA-256 of the plan's canonical form under its own label. It
// is bound into every signature, key derivation and associated data.
type PlanID [32]byte

// String is the whole id in hexadecimal.
func (id PlanID) String() string { return hex.EncodeToString(id[:]) }

// Short is the part of the id that names the plan in bus subjects (64 bits: a
// label, never a security check).
func (id PlanID) Short() string { return hex.EncodeToString(id[:8]) }

// Plan is the one document that every member signs before anything happens.
// Nobody can be told another N, T, clip, noise or model than the others: it
// closes the attack in which an aggregator lies about the number of parties
// (thesis, section 3.2.2).
//
// Layout (big endian; "n*" is a 32-bit count and that many entries; "text" and
// "bytes" are a 32-bit length and the bytes):
//
//	u16 version | text name | i64 created | i64 not_after | u8 suite
//	n* members: text name | u8 role | 32 key | i64 not_after
//	u32 dim | u8 paired | u8 frac_bits | u32 rounds | u32 spare_attempts
//	u32 min_parties | u32 colluders | u32 deadline_ms | u32 grace_ms
//	u64 clip | u64 per_party
//	u8 placement | u64 variance
//	u8 sampling | u64 sample rate bits | u32 local steps
//	u8 relation | u64 sensitivity | u64 epsilon bits | u64 delta bits | text accountant
//	u8 audit | text application | bytes parameters
type Plan struct {
	Name     string
	Created  int64 // unix seconds
	NotAfter int64 // unix seconds; no role starts a round under the plan later
	Suite    channel.Suite
	Members  []Member // parties, then compute nodes, then the aggregator; each by name

	Dim           uint32 // coordinates of an update
	Paired        bool   // two coordinates share a field element (fixedpoint.Pair)
	FracBits      uint8  // the grid's resolution is 2^-FracBits
	Rounds        uint32
	SpareAttempts uint32 // further attempts in total that the budget pays for
	MinParties    uint32 // N_min: the smallest set that may be revealed
	Colluders     uint32 // T: parties that may pool what they know
	DeadlineMS    uint32 // a round takes in contributions for at least this long unless all came
	GraceMS       uint32 // wait for parties that missed the last round, once all others came

	Clip     uint64 // L2 bound of one record's (one shard's) term, grid units
	PerParty uint64 // bound on the L2 norm, so on every coordinate, of one party's summed terms, grid units

	Noise    Placement
	Variance uint64 // sigma^2 of one contributor's discrete Gaussian, grid units squared; with NoiseLocal, of one local step's

	Sampling   uint8   // how records enter a release, privacy.Sampling's number
	SampleRate float64 // in (0, 1]; 0 without sampling
	LocalSteps uint32  // noisy steps inside one contribution, with NoiseLocal alone; else 0

	Relation    uint8   // neighbouring relation, privacy.Relation's number
	Sensitivity uint64  // L2 distance of neighbouring sums, grid units
	Epsilon     float64 // budget over all rounds and spare attempts; 0 with NoiseNone
	Delta       float64
	Accountant  string

	Audit       bool
	Application string // what folds the sums: "sum", "dp-pvi"
	Parameters  []byte // the application's canonical parameters
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
		w.fail("plan version %d isn't %d", version, PlanVersion)
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
	w.u8("sampling", &p.Sampling)
	w.float("sample rate", &p.SampleRate)
	w.u32("local steps", &p.LocalSteps)
	w.u8("relation", &p.Relation)
	w.u64("sensitivity", &p.Sensitivity)
	w.float("epsilon", &p.Epsilon)
	w.float("delta", &p.Delta)
	w.text("accountant", &p.Accountant, 64)
}

// float is the IEEE 754 pattern of a finite number that isn't minus zero.
func (w *wire) float(name string, v *float64) {
	u := math.Float64bits(*v)
	w.u64(name, &u)
	f := math.Float64frombits(u)
	if math.IsNaN(f) || math.IsInf(f, 0) || (f == 0 && u != 0) {
		w.fail("%s isn't a finite number", name)
		return
	}
	if w.reading() {
		*v = f
	}
}

// Marshal is the plan's canonical form; it fails for a plan that no reader
// would accept.
func (p *Plan) Marshal() ([]byte, error) { return marshal(p) }

// UnmarshalPlan reads a canonical plan and nothing else. It checks the form
// alone; call Validate for the content.
func UnmarshalPlan(b []byte) (*Plan, error) {
	p := new(Plan)
	if err := unmarshal("plan", b, p); err != nil {
		return nil, err
	}
	return p, nil
}

// ID hashes the canonical form. The plan must marshal; a valid one does.
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

// SortMembers puts the members in the order that Validate asks for.
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

// Parties is N, the number of enrolled parties; their indices are 0..N-1.
func (p *Plan) Parties() int { return p.countRole(RoleParty) }

// Computes is M, the number of compute nodes; their indices are N..N+M-1.
func (p *Plan) Computes() int { return p.countRole(RoleCompute) }

// Aggregator is the aggregator's index, the last member's.
func (p *Plan) Aggregator() uint32 { return uint32(len(p.Members) - 1) }

// Compute is the member index of the k-th compute node, 0 <= k < M.
func (p *Plan) Compute(k int) uint32 { return uint32(p.Parties() + k) }

// countRole finds where a role's members begin and end: the roster is in order of role,
// which checkRoster demands before it asks. Rosters are long and this is asked often.
func (p *Plan) countRole(r Role) int {
	from := func(r Role) int {
		return sort.Search(len(p.Members), func(i int) bool { return p.Members[i].Role >= r })
	}
	return from(r+1) - from(r)
}

// Index finds the member that holds an identity key.
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

// HiddenParts is how many independent noise terms stay hidden from T colluding
// parties that see a revealed sum over the smallest allowed set, when one of
// the honest parties looks as well: N_min - T - 1 (Paper I, Theorem 1), or the
// one honest compute node's under NoiseCompute, or the party's own under NoiseLocal.
// Zero without noise.
func (p *Plan) HiddenParts() uint64 {
	switch p.Noise {
	case NoiseParty:
		if p.MinParties > p.Colluders+1 {
			return uint64(p.MinParties - p.Colluders - 1)
		}
	case NoiseCompute, NoiseLocal:
		return 1
	}
	return 0
}

// Releases is how many attempts the budget must pay for.
func (p *Plan) Releases() int { return int(p.Rounds) + int(p.SpareAttempts) }
