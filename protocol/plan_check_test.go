package protocol

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/identity"
	"choir/privacy"
)

func TestGoodPlans(t *testing.T) {
	for name, alter := range map[string]func(p *Plan){
		"plain":           func(*Plan) {},
		"private":         func(p *Plan) { private(p) },
		"hybrid":          func(p *Plan) { p.Suite = channel.SuiteHybrid },
		"audit":           func(p *Plan) { p.Audit = true },
		"compute noise":   func(p *Plan) { private(p).Noise = NoiseCompute },
		"noise, no claim": func(p *Plan) { p.Noise, p.Variance = NoiseParty, 5 },
		"all needed":      func(p *Plan) { p.MinParties, p.UnsafeDifferences = 3, false },
		"colluders":       func(p *Plan) { p.Colluders, p.UnsafeDifferences = 1, false },
		"one round":       func(p *Plan) { p.MinParties, p.Rounds, p.UnsafeDifferences = 2, 1, false },
		"no grace":        func(p *Plan) { p.GraceMS = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			p := testPlan()
			p.MinParties = 3
			alter(p)
			if err := p.Validate(); err != nil {
				t.Error(err)
			}
			if err := p.CheckPrivacy(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPlanRejections: each row breaks one field of a valid plan, and the error names it.
func TestPlanRejections(t *testing.T) {
	for i, row := range []struct {
		want  string
		alter func(p *Plan)
	}{
		{want: "plan name", alter: func(p *Plan) { p.Name = strings.Repeat("x", 65) }},
		{want: "plan name", alter: func(p *Plan) { p.Name = "a\tb" }},
		{want: "not_after", alter: func(p *Plan) { p.NotAfter = p.Created }},
		{want: "suite", alter: func(p *Plan) { p.Suite = 0 }},
		{want: "suite", alter: func(p *Plan) { p.Suite = 9 }},
		{want: "no party", alter: func(p *Plan) { p.Members = p.Members[3:] }},
		{want: "compute nodes", alter: func(p *Plan) { p.Members = append(p.Members[:4], p.Members[5]) }},
		{want: "aggregators", alter: func(p *Plan) { p.Members = p.Members[:5] }},
		{want: "aggregators", alter: func(p *Plan) {
			p.Members = append(p.Members, Member{Name: "sum-2", Role: RoleAggregator, Key: testKey(9).Public(),
				NotAfter: p.NotAfter})
		}},
		{want: "members[1]: name", alter: func(p *Plan) { p.Members[1].Name = "Bob" }},
		{want: "members[1]: name", alter: func(p *Plan) { p.Members[1].Name = "" }},
		{want: "members[1]: name", alter: func(p *Plan) { p.Members[1].Name = "b.ob" }},
		{want: "members[1]: name", alter: func(p *Plan) { p.Members[1].Name = "b" + strings.Repeat("o", 32) }},
		{want: "is used twice", alter: func(p *Plan) { p.Members[4].Name = "node-1" }},
		{want: "is used twice", alter: func(p *Plan) { p.Members[3].Name = "alice" }},
		{want: "key is used twice", alter: func(p *Plan) { p.Members[1].Key = p.Members[4].Key }},
		{want: "no such role", alter: func(p *Plan) { p.Members[5].Role = 4 }},
		{want: "no such role", alter: func(p *Plan) { p.Members[0].Role = 0 }},
		{want: "order", alter: func(p *Plan) { p.Members[0], p.Members[1] = p.Members[1], p.Members[0] }},
		{want: "order", alter: func(p *Plan) { p.Members[0].Role = RoleCompute }},
		{want: "expires", alter: func(p *Plan) { p.Members[2].NotAfter = p.NotAfter - 1 }},
		{want: "dim", alter: func(p *Plan) { p.Dim = 0 }},
		{want: "dim", alter: func(p *Plan) { p.Dim = maxDim + 1 }},
		{want: "frac_bits", alter: func(p *Plan) { p.FracBits = 53 }},
		{want: "rounds", alter: func(p *Plan) { p.Rounds = 0 }},
		{want: "rounds", alter: func(p *Plan) { p.Rounds = MaxRounds + 1 }},
		{want: "spare_attempts", alter: func(p *Plan) { p.SpareAttempts = MaxRounds + 1 }},
		{want: "min_parties", alter: func(p *Plan) { p.MinParties = 0 }},
		{want: "min_parties", alter: func(p *Plan) { p.MinParties = 4 }},
		{want: "min_parties", alter: func(p *Plan) { p.MinParties = 1 }},
		{want: "min_parties", alter: func(p *Plan) { p.Colluders = 1 }},
		{want: "rounds", alter: func(p *Plan) { p.UnsafeDifferences = false }},
		{want: "colluders", alter: func(p *Plan) { p.Colluders = 3 }},
		{want: "deadline_ms", alter: func(p *Plan) { p.DeadlineMS, p.GraceMS = 0, 0 }},
		{want: "grace_ms", alter: func(p *Plan) { p.GraceMS = p.DeadlineMS + 1 }},
		{want: "per_party", alter: func(p *Plan) { p.PerParty = p.Clip - 1 }},
		{want: "frac_bits", alter: func(p *Plan) { p.PerParty = 1 << 62 }},
		{want: "frac_bits", alter: func(p *Plan) { p.PerParty = math.MaxUint64 }},
		{want: "noise", alter: func(p *Plan) { p.Noise = 4; p.Variance = 1 }},
		{want: "noise", alter: func(p *Plan) { p.LocalSteps = 1 }},
		{want: "noise", alter: func(p *Plan) { p.Sampling = 1 }},
		{want: "noise", alter: func(p *Plan) { p.SampleRate = 0.5 }},
		{want: "local_steps", alter: func(p *Plan) { private(p).LocalSteps = 1 }},
		{want: "local_steps", alter: func(p *Plan) { local(p).LocalSteps = 0 }},
		{want: "local_steps", alter: func(p *Plan) { local(p).LocalSteps = maxLocalSteps + 1 }},
		{want: "local_steps", alter: func(p *Plan) { local(p).LocalSteps = maxLocalSteps; p.Rounds = MaxRounds }},
		{want: "sensitivity", alter: func(p *Plan) { local(p).Sensitivity, p.Epsilon, p.Delta = 0, 0, 0 }},
		{want: "sampling", alter: func(p *Plan) { private(p).Sampling = 3; p.SampleRate = 0.5 }},
		{want: "sample_rate", alter: func(p *Plan) { private(p).SampleRate = 0.5 }},
		{want: "sample_rate", alter: func(p *Plan) { private(p).Sampling = 1 }},
		{want: "sample_rate", alter: func(p *Plan) { private(p).Sampling = 1; p.SampleRate = 1.5 }},
		{want: "sample_rate", alter: func(p *Plan) { private(p).Sampling = 1; p.SampleRate = math.NaN() }},
		{want: "replace-one", alter: func(p *Plan) {
			private(p).Sampling, p.SampleRate, p.Relation = 2, 0.5, uint8(privacy.AddRemove)
		}},
		{want: "sampling", alter: func(p *Plan) {
			p.Noise = NoiseCompute
			p.Variance = 1
			p.Sampling = 1
			p.SampleRate = 0.5
		}},
		{want: "noise", alter: func(p *Plan) { p.Variance = 1 }},
		{want: "noise", alter: func(p *Plan) { p.Epsilon = 1 }},
		{want: "noise", alter: func(p *Plan) { p.Epsilon = math.NaN() }},
		{want: "noise", alter: func(p *Plan) { p.Delta = 1e-5 }},
		{want: "noise", alter: func(p *Plan) { p.Sensitivity = 1 }},
		{want: "N_min - T - 1", alter: func(p *Plan) { private(p).Colluders = 1 }},
		{want: "N_min - T - 1", alter: func(p *Plan) { private(p).Colluders = 2 }},
		{want: "variance", alter: func(p *Plan) { private(p).Variance = 0 }},
		{want: "variance", alter: func(p *Plan) { private(p).Variance = 1<<62 + 1 }},
		{want: "frac_bits", alter: func(p *Plan) { private(p).PerParty = 3 << 60; p.Variance = 1 << 62 }},
		{want: "clip", alter: func(p *Plan) { private(p).Clip = 0 }},
		{want: "sensitivity", alter: func(p *Plan) { private(p).Sensitivity = p.Clip - 1 }},
		{want: "epsilon", alter: func(p *Plan) { private(p).Epsilon = 0 }},
		{want: "epsilon", alter: func(p *Plan) { private(p).Epsilon = -1 }},
		{want: "epsilon", alter: func(p *Plan) { private(p).Epsilon = math.Inf(1) }},
		{want: "epsilon", alter: func(p *Plan) { private(p).Epsilon = math.NaN() }},
		{want: "delta", alter: func(p *Plan) { private(p).Delta = 0 }},
		{want: "delta", alter: func(p *Plan) { private(p).Delta = 1 }},
		{want: "delta", alter: func(p *Plan) { private(p).Delta = math.NaN() }},
		{want: "epsilon", alter: func(p *Plan) { p.Epsilon = math.Copysign(0, -1) }},
		{want: "accountant", alter: func(p *Plan) { p.Accountant = strings.Repeat("x", 65) }},
		{want: "application", alter: func(p *Plan) { p.Application = strings.Repeat("x", 33) }},
		{want: "parameters", alter: func(p *Plan) { p.Parameters = make([]byte, maxBlob+1) }},
		{want: "encoding", alter: func(p *Plan) { p.Parameters = make([]byte, maxBlob) }},
		{want: "audit", alter: func(p *Plan) { private(p).Noise = NoiseCompute; p.Audit = true }},
		{want: "audit", alter: func(p *Plan) { p.Audit = true; p.Dim = commit.MaxDimension + 1 }},
		{want: "audit", alter: func(p *Plan) { p.Audit = true; computes(p, commit.MaxShares+1) }},
	} {
		t.Run(fmt.Sprintf("%d/%s", i, row.want), func(t *testing.T) {
			p := testPlan()
			row.alter(p)
			err := p.Validate()
			if err == nil || ClassOf(err) != ClassInput || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want an error about %s", err, row.want)
			}
		})
	}
}

// computes sets the number of the plan's compute nodes.
func computes(p *Plan, m int) {
	p.Members = slices.Concat(p.Members[:3], make([]Member, m), p.Members[5:])
	for i := range m {
		key := identity.PublicKey{1: byte(i), 2: byte(i >> 8), 3: 1}
		p.Members[3+i] = Member{Name: fmt.Sprintf("node-%05d", i), Role: RoleCompute, Key: key,
			NotAfter: p.NotAfter}
	}
}

// local makes a plan private by local noise in three steps a round.
func local(p *Plan) *Plan {
	private(p).Noise, p.LocalSteps = NoiseLocal, 3
	return p
}

// TestLocalNoiseIsNotInTheSum: the bound on sums of a plan with local noise has no tail of noise,
// for the smallest set too, and each step is charged.
func TestLocalNoiseIsNotInTheSum(t *testing.T) {
	p := local(testPlan())
	p.MinParties, p.Variance = 1, 1<<61
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if limit, err := p.MaxSum(); err != nil || limit.Coordinate != p.PerParty*uint64(p.Parties()) ||
		limit.Norm != limit.Coordinate {
		t.Errorf("%d: %v", limit, err)
	}
	if c, ok := p.Charge(4); !ok || c.Count != 12 || c.Parts != 1 {
		t.Errorf("%+v, %t", c, ok)
	}
}

// TestSampledClaim: the same noise gives a smaller epsilon with sampling, as computed by the
// accountant for it, which the plan must name.
func TestSampledClaim(t *testing.T) {
	p := private(testPlan())
	whole, _, err := p.Spends(5)
	if err != nil {
		t.Fatal(err)
	}
	p.Sampling, p.SampleRate = uint8(privacy.SamplingPoisson), 0.05
	sampled, _, err := p.Spends(5)
	if err != nil || !(sampled.Epsilon < whole.Epsilon/3) || sampled.Method != privacy.MethodPLD {
		t.Fatalf("%+v after %+v: %v", sampled, whole, err)
	}
	if err := p.CheckPrivacy(); err == nil || !strings.Contains(err.Error(), "accountant") {
		t.Errorf("the whole sums' accountant: %v", err)
	}
	p.Accountant, p.Epsilon = AccountantSampled, sampled.Epsilon*2
	p.Rounds, p.SpareAttempts = 5, 0
	if err := p.CheckPrivacy(); err != nil {
		t.Error(err)
	}
	p.Epsilon = sampled.Epsilon * 0.99
	if err := p.CheckPrivacy(); err == nil || !strings.Contains(err.Error(), "epsilon") {
		t.Errorf("a claim below the cost: %v", err)
	}
}

// roster returns a valid plan of n parties and m compute nodes.
func roster(n, m int) *Plan {
	p := testPlan()
	p.Members, p.MinParties = nil, uint32(n)
	for i := range n + m + 1 {
		k := Member{Role: RoleParty, NotAfter: p.NotAfter, Key: [32]byte{byte(i), byte(i >> 8), byte(i >> 16), 1}}
		switch {
		case i < n:
			k.Name = fmt.Sprintf("p%06d", i)
		case i < n+m:
			k.Role, k.Name = RoleCompute, fmt.Sprintf("c%06d", i)
		default:
			k.Role, k.Name = RoleAggregator, "a"
		}
		p.Members = append(p.Members, k)
	}
	return p
}

// TestLargestRoster: the messages under a plan that Validate accepts can be encoded.
func TestLargestRoster(t *testing.T) {
	n, m := MaxMembers-4, 3
	p := roster(n, m)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	set := make([]Entry, n)
	for i := range set {
		set[i].Party = uint32(i)
	}
	s := Bind(p)
	for _, msg := range []Message{&Hold{Round: 1, Attempt: 1, Entries: set},
		&Result{Round: 1, Attempt: 1, Outcome: OutcomeAccepted, Set: set, Partials: make([]Digest, m),
			Chunks: make([]Digest, s.Chunks())}} {
		b, err := s.Sign(testKey(0), 0, msg)
		if err != nil || len(b) > maxMessage {
			t.Errorf("%T of %d bytes: %v", msg, len(b), err)
		}
	}
	for _, p := range []*Plan{roster(3, 8_500), roster(MaxMembers, 2)} {
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "members: ") {
			t.Errorf("%d members: %v", len(p.Members), err)
		}
	}
}

func TestCheckPrivacy(t *testing.T) {
	p := testPlan()
	p.MinParties = 3
	private(p)
	spent, ok, err := p.Spends(p.Releases())
	if err != nil || !ok || !(spent.Epsilon > 0) {
		t.Fatal(spent, ok, err)
	}
	p.Epsilon = spent.Epsilon
	if err := p.CheckPrivacy(); err != nil {
		t.Errorf("a claim of exactly the cost: %v", err)
	}
	for name, alter := range map[string]func(p *Plan){
		"epsilon":     func(p *Plan) { p.Epsilon = math.Nextafter(p.Epsilon, 0) },
		"delta":       func(p *Plan) { p.Delta /= 10 },
		"rounds":      func(p *Plan) { p.Rounds++ },
		"spares":      func(p *Plan) { p.SpareAttempts++ },
		"variance":    func(p *Plan) { p.Variance /= 2 },
		"sensitivity": func(p *Plan) { p.Sensitivity *= 2 },
		"N_min":       func(p *Plan) { p.MinParties-- },
		"colluders":   func(p *Plan) { p.Colluders++ },
		"relation":    func(p *Plan) { p.Relation = 3 },
		"no relation": func(p *Plan) { p.Relation = 0 },
		"accountant":  func(p *Plan) { p.Accountant = "moments" },
	} {
		t.Run(name, func(t *testing.T) {
			q := *p
			alter(&q)
			if err := q.CheckPrivacy(); ClassOf(err) != ClassInput || err == nil {
				t.Error(err)
			}
		})
	}
}

func TestHiddenParts(t *testing.T) {
	for _, row := range []struct {
		noise  Placement
		min, t uint32
		want   uint64
	}{
		{noise: NoiseNone, min: 9, t: 0, want: 0},
		{noise: NoiseParty, min: 9, t: 2, want: 6},
		{noise: NoiseParty, min: 2, t: 0, want: 1},
		{noise: NoiseParty, min: 1, t: 0, want: 0},
		{noise: NoiseParty, min: 2, t: 5, want: 0},
		{noise: NoiseCompute, min: 1, t: 0, want: 1},
	} {
		t.Run(fmt.Sprintf("%v/min=%d/t=%d", row.noise, row.min, row.t), func(t *testing.T) {
			p := &Plan{Noise: row.noise, MinParties: row.min, Colluders: row.t}
			if got := p.HiddenParts(); got != row.want {
				t.Errorf("%d, want %d", got, row.want)
			}
		})
	}
}

func TestMaxSumOfABrokenPlan(t *testing.T) {
	noHeadroom := testPlan()
	noHeadroom.PerParty = math.MaxUint64
	for name, p := range map[string]*Plan{"no party": {Dim: 1, Rounds: 1}, "no headroom": noHeadroom} {
		t.Run(name, func(t *testing.T) {
			if _, err := p.MaxSum(); ClassOf(err) != ClassInput || err == nil {
				t.Error(err)
			}
		})
	}
}
