package terms

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/privacy"
	"choir/protocol"
)

// SignPlan checks a plan file and adds the member's signature. A plan whose claim is
// wrong, or that has expired, is not signed.
func SignPlan(planFile string, key *identity.PrivateKey, now time.Time) (*protocol.SignedPlan, error) {
	sp, err := ReadPlan(planFile)
	if err != nil {
		return nil, err
	}
	if err := CheckPlan(sp.Plan); err != nil {
		return nil, err
	}
	if now.Unix() > sp.Plan.NotAfter {
		return nil, protocol.Fail(protocol.ClassIntegrity, "%w", protocol.ErrExpired)
	}
	return sp, sp.Sign(key)
}

// MergePlans collects the signatures of several copies of one plan.
func MergePlans(files []string) (*protocol.SignedPlan, error) {
	var all *protocol.SignedPlan
	for _, f := range files {
		sp, err := ReadPlan(f)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = sp
		} else if err := all.Merge(sp); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Summary is a plan in readable form.
type Summary struct {
	SchemaVersion int             `json:"schema_version"`
	Plan          string          `json:"plan"`
	Name          string          `json:"name"`
	Created       time.Time       `json:"created"`
	NotAfter      time.Time       `json:"not_after"`
	Suite         string          `json:"suite"`
	Application   string          `json:"application"`
	Dim           uint32          `json:"dim"`
	FracBits      uint8           `json:"frac_bits"`
	Rounds        uint32          `json:"rounds"`
	SpareAttempts uint32          `json:"spare_attempts"`
	Parties       int             `json:"parties"`
	Computes      int             `json:"compute_nodes"`
	MinParties    uint32          `json:"min_parties"`
	Colluders     uint32          `json:"colluders"`
	DeadlineMS    uint32          `json:"deadline_ms"`
	GraceMS       uint32          `json:"grace_ms"`
	Paired        bool            `json:"paired"` // two coordinates share a field element
	Audit         bool            `json:"audit"`  // every sum is opened against the parties' commitments
	Noise         string          `json:"noise"`
	NoiseStd      float64         `json:"noise_std"` // of one contributor, in the unit of the application
	Epsilon       float64         `json:"epsilon"`
	Delta         float64         `json:"delta"`
	Releases      uint32          `json:"releases"` // most noisy vectors: rounds, spare attempts, steps
	Spends        float64         `json:"spends"`   // epsilon of all releases
	Relation      string          `json:"relation"`
	Clip          float64         `json:"clip"`
	Sensitivity   float64         `json:"sensitivity"`
	Parameters    json.RawMessage `json:"parameters,omitempty"`
	Settings      []Parameter     `json:"settings,omitempty"` // of the learning, with where they come from
	Warnings      []string        `json:"warnings"`           // about what the plan can expect
	Members       []SummaryMember `json:"members"`
	Complete      bool            `json:"complete"` // every member has signed
	Cost          PlanCost        `json:"cost"`
	Reach         Reach           `json:"reach"`
	NoiseUse      *NoiseUse       `json:"noise_use"` // null for a plan without a claim, or of reports
	Reports       *ReportUse      `json:"reports,omitempty"`
	After         *SummaryAfter   `json:"after,omitempty"`
}

// SummaryAfter is where a successor plan goes on from, and who is new or gone.
type SummaryAfter struct {
	Plan     string   `json:"plan"`
	Name     string   `json:"name"`
	Round    uint32   `json:"round"`
	Rounds   uint32   `json:"rounds_before"` // of all predecessors
	Attempts uint32   `json:"attempts"`      // that a party was charged at most
	Spent    float64  `json:"spent"`         // epsilon of all predecessors; 0 without a claim
	Joined   []string `json:"joined"`        // members by key
	Left     []string `json:"left"`
	// Less is what the predecessor promised and this plan does not.
	Less []string `json:"less"`
}

// afterOf summarises a plan's predecessor; nil if there is none.
func afterOf(p *protocol.Plan) (*SummaryAfter, error) {
	a := p.After
	if a == nil {
		return nil, nil
	}
	spent, _, err := p.Spends(0)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan: epsilon: %w", err)
	}
	return &SummaryAfter{Plan: a.Plan.ID().String(), Name: a.Plan.Name, Round: a.Round,
		Rounds: p.RoundsBefore(), Attempts: a.Attempts, Spent: spent.Epsilon,
		Joined: notIn(a.Plan, p), Left: notIn(p, a.Plan), Less: less(a.Plan, p)}, nil
}

// less names the protections of q that p, which goes on from it, does not have.
func less(q, p *protocol.Plan) []string {
	lost := []string{}
	if q.Audit && !p.Audit {
		lost = append(lost, "no audit: the sums are not opened")
	}
	if p.Colluders < q.Colluders {
		lost = append(lost, fmt.Sprintf("up to %d parties may collude, before it was %d", p.Colluders, q.Colluders))
	}
	return lost
}

// notIn names the members of q that p does not have.
func notIn(p, q *protocol.Plan) []string {
	names := []string{}
	for _, m := range q.Members {
		if _, ok := p.Index(m.Key); !ok {
			names = append(names, m.Name)
		}
	}
	return names
}

// SummaryMember is an entry of the roster.
type SummaryMember struct {
	Name        string    `json:"name"`
	Role        string    `json:"role"`
	Key         string    `json:"key"`
	Fingerprint string    `json:"fingerprint"`
	NotAfter    time.Time `json:"not_after"`
	Signed      bool      `json:"signed"`
}

// Summarise returns the summary of a plan. It recomputes what the plan spends, which
// may fail.
func Summarise(sp *protocol.SignedPlan) (*Summary, error) {
	p := sp.Plan
	unit := func(v float64) float64 { return math.Ldexp(v, -int(p.FracBits)) }
	s := &Summary{SchemaVersion: 1, Plan: p.ID().String(), Name: p.Name, Created: utc(p.Created),
		NotAfter: utc(p.NotAfter), Suite: suiteName(p.Suite),
		Application: p.Application, Dim: p.Dim, FracBits: p.FracBits, Rounds: p.Rounds,
		SpareAttempts: p.SpareAttempts,
		Parties:       p.Parties(), Computes: p.Computes(), MinParties: p.MinParties, Colluders: p.Colluders,
		DeadlineMS: p.DeadlineMS, GraceMS: p.GraceMS, Paired: p.Paired, Audit: p.Audit,
		Noise: p.Noise.String(), NoiseStd: unit(math.Sqrt(float64(p.Variance))), Epsilon: p.Epsilon, Delta: p.Delta,
		Clip: unit(float64(p.Clip)), Sensitivity: unit(float64(p.Sensitivity)), Complete: len(sp.Missing()) == 0,
		Cost: costOf(p), Reach: reachOf(p)}
	if json.Valid(p.Parameters) {
		s.Parameters = p.Parameters
	}
	if err := s.describe(p); err != nil {
		return nil, err
	}
	var err error
	if s.After, err = afterOf(p); err != nil {
		return nil, err
	}
	b, ok, err := p.Spends(p.Releases())
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan: epsilon: %w", err)
	}
	if ok {
		s.Releases = uint32(p.Releases()) * max(1, p.LocalSteps, p.Reports.Columns)
		s.Spends, s.Relation = b.Epsilon, privacy.Relation(p.Relation).String()
		if s.Reports = reportUse(p); s.Reports == nil {
			u := noiseUse(p)
			s.NoiseUse = &u
		}
	}
	signed := map[uint32]bool{}
	for _, e := range sp.Accepts {
		signed[e.From] = true
	}
	for i, m := range p.Members {
		s.Members = append(s.Members, SummaryMember{m.Name, m.Role.String(), m.Key.String(), m.Key.Fingerprint(),
			utc(m.NotAfter), signed[uint32(i)]})
	}
	return s, nil
}

// describe enters the settings of the learning and what they promise.
func (s *Summary) describe(p *protocol.Plan) (err error) {
	if s.Settings, err = Parameters(p); err != nil {
		return err
	}
	s.Warnings, err = Warnings(p)
	return err
}

func utc(unix int64) time.Time { return time.Unix(unix, 0).UTC() }

func suiteName(s channel.Suite) string {
	if s == channel.SuiteX25519 {
		return "x25519"
	}
	return "hybrid"
}
