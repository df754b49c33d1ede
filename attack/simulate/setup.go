package simulate

import (
	"fmt"
	"strconv"
	"strings"

	"choir/crypto/channel"
	"choir/protocol"
)

// Setup is the plan of a simulated session in a few numbers.
type Setup struct {
	Seed       uint64 // of the members' random numbers, not of a script's faults
	Parties    int
	Computes   int
	Dim        int
	Rounds     int
	Spares     int
	MinParties int
	Noise      protocol.Placement
	Reject     bool  // the application refuses some sums
	Audit      bool  // parties commit to their noised updates
	Paired     bool  // two coordinates share an element
	Until      int64 // virtual ms: no fault later than this
}

// Times of a simulated plan, virtual milliseconds.
const (
	epoch      = 1_700_000_000_000
	deadlineMS = 400
	graceMS    = 100
	resendMS   = 300
	// patience is the time that a session has for a round after the last fault.
	patience = 5_000
)

// scale are the numbers of the toy application. Updates are digits in base
// 2^digit, one for each party, so that every double count and omission shows in
// the sum.
type scale struct {
	digit    int // bits
	perParty uint64
	variance uint64
}

// scale is the largest scale that fits the plan. Two equal draws of noise are no
// coincidence: sigma is 2^28, or 2^25 in each of at least two coordinates.
func (s Setup) scale() scale {
	if s.Paired {
		return scale{4, 1 << 25, 1 << 50}
	}
	return scale{6, 1 << 40, 1 << 56}
}

// draw makes a session's setup from the seed.
func draw(seed uint64, p Profile) Setup {
	n := func(what string, k int) int { return int(mix(seed, "setup", what) % uint64(k)) }
	s := Setup{Seed: seed, Parties: 3 + n("parties", 4), Computes: 2 + n("computes", 2), Dim: 1 + n("dim", 8),
		Rounds: 1 + n("rounds", 3), Spares: n("spares", 3), Noise: protocol.NoiseParty, Reject: n("reject",
			4) == 0, Until: p.FaultMS}
	s.MinParties = max(2, s.Parties-n("slack", 3))
	switch n("noise", 8) {
	case 0:
		s.Noise = protocol.NoiseNone
	case 1:
		s.Noise = protocol.NoiseCompute
	}
	s.Audit = s.Noise != protocol.NoiseCompute && n("audit", 50) == 0
	if p.Tight && n("tight", 2) == 0 {
		s.MinParties = s.Parties
	}
	if s.Paired = n("paired", 4) == 0; s.Paired {
		s.Dim = max(s.Dim, 2)
	}
	if p.Wide {
		s.Dim, s.Rounds, s.Parties, s.MinParties, s.Audit = 1<<16+1+n("dim", 3), 1, 3, 2, false
		if s.Paired {
			s.Dim += 1 << 16 // two chunks again
		}
	}
	p.Shape.apply(&s)
	return s
}

// places is how many parties have a digit in one coordinate.
const places = 6

// digits is how many coordinates the parties' digits take.
func (s Setup) digits() int { return (s.Parties + places - 1) / places }

// String is the setup as a script states it.
func (s Setup) String() string {
	return fmt.Sprintf("seed=%d parties=%d computes=%d dim=%d rounds=%d spares=%d min=%d noise=%s reject=%d "+
		"audit=%d paired=%d until=%d",
		s.Seed, s.Parties, s.Computes, s.Dim, s.Rounds, s.Spares, s.MinParties, s.Noise, bit(s.Reject),
		bit(s.Audit), bit(s.Paired), s.Until)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// parseSetup reads what String writes, fields in any order, none missing.
func parseSetup(fields []string) (s Setup, err error) {
	seen := map[string]bool{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if err := s.set(name, value); err != nil {
			return s, fmt.Errorf("setup: %s: %w", f, err)
		}
		seen[name] = true
	}
	if len(seen) != 12 {
		return s, fmt.Errorf("setup: %d fields, want 12, each once", len(seen))
	}
	return s, nil
}

func (s *Setup) set(name, value string) (err error) {
	numbers := map[string]*int{"parties": &s.Parties, "computes": &s.Computes, "dim": &s.Dim,
		"rounds": &s.Rounds, "spares": &s.Spares, "min": &s.MinParties}
	switch {
	case numbers[name] != nil:
		*numbers[name], err = strconv.Atoi(value)
	case name == "seed":
		s.Seed, err = strconv.ParseUint(value, 10, 64)
	case name == "until":
		s.Until, err = strconv.ParseInt(value, 10, 64)
	case name == "reject":
		s.Reject, err = strconv.ParseBool(value)
	case name == "audit":
		s.Audit, err = strconv.ParseBool(value)
	case name == "paired":
		s.Paired, err = strconv.ParseBool(value)
	case name == "noise":
		for _, p := range []protocol.Placement{protocol.NoiseNone, protocol.NoiseParty, protocol.NoiseCompute} {
			if p.String() == value {
				s.Noise = p
				return nil
			}
		}
		err = fmt.Errorf("no such placement")
	default:
		err = fmt.Errorf("no such field")
	}
	return err
}

// memberName is a member's name: p0 to p9 and on with pa10, c0.., agg.
func (s Setup) memberName(i int) string {
	switch {
	case i < s.Parties:
		return "p" + inOrder(i)
	case i < s.Parties+s.Computes:
		return "c" + inOrder(i-s.Parties)
	}
	return "agg"
}

// inOrder is a number as text that sorts as the number does: 9, a10, a99, aa100.
func inOrder(n int) string {
	digits := strconv.Itoa(n)
	return strings.Repeat("a", len(digits)-1) + digits
}

// session is the plan and its members' keys.
func (s Setup) session() (protocol.BoundPlan, []*signer, error) {
	p := &protocol.Plan{
		Name:              "simulation",
		Application:       "simulation",
		Created:           epoch/1000 - 1000,
		NotAfter:          epoch/1000 + 1_000_000,
		Suite:             channel.SuiteX25519,
		Dim:               uint32(s.Dim),
		Paired:            s.Paired,
		FracBits:          16,
		Rounds:            uint32(s.Rounds),
		SpareAttempts:     uint32(s.Spares),
		MinParties:        uint32(s.MinParties),
		UnsafeDifferences: true,
		DeadlineMS:        deadlineMS,
		GraceMS:           graceMS,
		Clip:              1,
		PerParty:          s.scale().perParty,
		Noise:             s.Noise,
		Audit:             s.Audit,
	}
	if s.Noise != protocol.NoiseNone {
		p.Variance = s.scale().variance
	}
	keys, known := make([]*signer, s.Parties+s.Computes+1), verifier{}
	for i := range keys {
		keys[i] = newSigner(s.Seed, uint32(i))
		known[keys[i].public] = keys[i]
		role := protocol.RoleParty
		if i >= s.Parties {
			role = protocol.RoleCompute
		}
		if i == len(keys)-1 {
			role = protocol.RoleAggregator
		}
		p.Members = append(p.Members,
			protocol.Member{Name: s.memberName(i), Role: role, Key: keys[i].public, NotAfter: p.NotAfter})
	}
	if err := p.Validate(); err != nil {
		return protocol.BoundPlan{}, nil, err
	}
	session := protocol.Bind(p)
	session.Verifier = known
	return session, keys, nil
}

// giveUp is the time without progress after which the aggregator ends the session, 0: it never does.
func (w *world) giveUp() int64 {
	if w.chaos.counts["lie"] > 0 {
		return 3000
	}
	return w.seams.giveUp
}
