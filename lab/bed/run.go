package bed

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"choir/crypto/identity"
	"choir/lab/study"
	"choir/learn/bayes"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
)

// Run is one learning by several parties.
type Run struct {
	Name     string // with Seed it determines all randomness
	Seed     uint64
	App      app.Spec
	Parts    []bayes.Data // by party
	Computes int          // 0: 3
	Rounds   int
	Epsilon  float64 // 0: no noise
	Delta    float64
	// Of is how many runs like this one, on the same records, Epsilon and Delta pay for
	// together: the noise is for Of times Rounds releases; 0: 1. See Together.
	Of int
	// Colluders is the number T of colluding parties that the noise allows for, in
	// addition to one curious party.
	Colluders int

	// Trusted has the noise of only as many parties added as the plan counts as hidden,
	// in the clear: together what one trusted aggregator would add.
	Trusted bool

	Transport study.Transport // empty: Clear
	Dir       string          // with NATS: an existing folder; what is left there is removed

	// Join replaces App.Join, for parties that differ in what is theirs alone; nil: none do.
	Join func(s app.PartyConfig) (app.Party, error)
	// Watch is shown the posterior after rounds, all of the first twenty and then ever
	// fewer, and always the last.
	Watch    func(round int, p *bayes.Posterior) error
	WatchAll bool // every round
	// States, if not nil, is shown the public state after every round.
	States func(p *protocol.Plan, round int, state []int64) error
}

// Clear in the place of a transport sums in the clear, with the very noise that a session's
// parties draw, and no keys, shares and messages: on the integers it is the
// session, as TestClearIsTheSession shows. It is for thousands of rounds times many seeds.
const Clear study.Transport = "clear"

// Outcome is what a run leaves.
type Outcome struct {
	Plan  *protocol.Plan
	State []int64 // the public state after the last round
	Last  *bayes.Posterior
	Trace []app.Revealed // what the rounds revealed
	Spent study.Spent    // zero without noise
}

// Do runs it to its end.
func (r Run) Do(ctx context.Context) (*Outcome, error) {
	if r.Computes == 0 {
		r.Computes = 3
	}
	s, err := r.sign()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	o := &Outcome{Plan: s.plan}
	if r.Transport == Clear || r.Transport == "" || r.Trusted {
		o.State, err = s.clear(ctx)
	} else {
		o.State, err = s.session(ctx)
	}
	o.Trace = s.trace
	if err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", r.Name, r.Seed, err)
	}
	if o.Last, err = r.App.Posterior(s.plan, o.State); err != nil {
		return nil, fmt.Errorf("%s, seed %d: %w", r.Name, r.Seed, err)
	}
	if r.Epsilon > 0 {
		o.Spent, err = spent(r.Name, s.plan)
	}
	return o, err
}

// signed is a run with everything that its members must have agreed on.
type signed struct {
	Run
	plan  *protocol.Plan
	s     protocol.BoundPlan
	keys  []*identity.PrivateKey
	model protocol.Model
	seat  func(party int) (app.Party, error)
	trace []app.Revealed
	// opened are the sums of the trace, as parties know them.
	opened []protocol.Opened
}

// reveal keeps what a round revealed, by as many parties as add noise.
func (s *signed) reveal(round uint32, state, sum []int64) {
	counted := len(s.Parts)
	if s.Trusted {
		counted = min(counted, int(s.plan.HiddenParts()))
	}
	s.trace = append(s.trace, app.Revealed{Round: round, Counted: counted, Before: state, Sum: sum})
	s.opened = append(s.opened, protocol.Opened{Round: round, Counted: counted, Before: state, Sum: sum})
}

// sign has every member sign the plan to learn.
func (r Run) sign() (*signed, error) {
	t, roster, err := r.terms()
	if err != nil {
		return nil, err
	}
	s := &signed{Run: r}
	s.seat = s.learner
	if s.plan, err = t.Plan(r.App); err != nil {
		return nil, err
	}
	s.model = r.App.Model(s.plan)
	return s, s.signAll(roster)
}

// terms makes the roster with its identities, and the other terms of a plan.
func (r Run) terms() (terms.Terms, *run.Roster, error) {
	from := r.stream("identities")
	// The plan's identity, from which chains draw their proposals, must not depend on the day.
	t := terms.Terms{Name: "study", Created: time.Unix(0, 0), Lifetime: 200 * 365 * 24 * time.Hour,
		Deadline: time.Hour, Grace: time.Second, SpareAttempts: r.Rounds * (max(1, r.Of) - 1),
		Rounds: r.Rounds, Colluders: r.Colluders, Noise: protocol.NoiseNone, Epsilon: r.Epsilon,
		Delta: r.Delta}
	if r.Epsilon > 0 {
		m, err := r.App.Mechanism()
		if err != nil {
			return t, nil, err
		}
		t.Noise = protocol.NoiseParty
		if m.Local {
			t.Noise = protocol.NoiseLocal
		}
	}
	// Without noise a plan of one party is refused: its sum is that party's contribution. The
	// second one has no records and adds zeros.
	parties := len(r.Parts)
	if r.Epsilon == 0 {
		parties = max(2, parties)
	}
	roster, err := run.NewRoster(from, parties, r.Computes)
	if err != nil {
		return t, nil, err
	}
	t.Members = roster.Members
	return t, roster, nil
}

func (s *signed) signAll(roster *run.Roster) (err error) {
	s.s = protocol.Bind(s.plan)
	if s.keys, err = roster.KeysIn(s.plan); err != nil {
		return err
	}
	plan, err := roster.Sign(s.plan)
	if err != nil {
		return err
	}
	return plan.Complete(time.Now())
}

// stream is randomness for a purpose.
func (r Run) stream(purpose string) io.Reader {
	return Stream(fmt.Sprintf("%s seed %d %s", r.Name, r.Seed, purpose))
}

// learner is a party's side.
func (s *signed) learner(party int) (app.Party, error) {
	join := s.App.Join
	if s.Join != nil {
		join = s.Join
	}
	l, err := join(app.PartyConfig{Plan: s.plan, Party: uint32(party), Data: s.Parts[party],
		Rand: s.stream(fmt.Sprintf("seat %d", party))})
	if err != nil {
		return nil, fmt.Errorf("party %d: %w", party, err)
	}
	return l, nil
}

// without is the side of a party that has no records.
type without struct {
	protocol.Model
	dim uint32
}

func (without) InitialState() []byte { return nil }

func (w without) Propose(context.Context, protocol.Work) (update []int64, memo []byte, err error) {
	return make([]int64, w.dim), nil, nil
}

func (without) Settle(uint32, []byte, []byte) ([]byte, error) { return nil, nil }

// see passes a state to the callbacks.
func (s *signed) see(round int, state []int64) error {
	if s.States != nil {
		if err := s.States(s.plan, round, state); err != nil {
			return err
		}
	}
	if s.Watch == nil || !(s.WatchAll || marked(round) || round == s.Rounds) {
		return nil
	}
	p, err := s.App.Posterior(s.plan, state)
	if err != nil {
		return err
	}
	return s.Watch(round, p)
}

// marked thins long runs out: 1, 2, 3, ..., 20, 22, ... by a tenth at a time.
func marked(round int) bool {
	for at := 1; at <= round; at += max(1, at/10) {
		if at == round {
			return true
		}
	}
	return false
}

// spent is what a plan's rounds cost by the plan's own accountant.
func spent(method string, p *protocol.Plan) (study.Spent, error) {
	b, ok, err := p.Spends(int(p.Rounds))
	if err != nil || !ok {
		return study.Spent{}, fmt.Errorf("lab: the plan of %s has no account: %w", method, err)
	}
	sd := math.Sqrt(float64(p.Variance)) / float64(p.Clip)
	text := joint(sd, p)
	if p.Noise == protocol.NoiseLocal {
		text = fmt.Sprintf("standard deviation %.4g C at every party by itself", sd)
	}
	text += fmt.Sprintf("; %d releases", int(p.Rounds)*int(max(1, p.LocalSteps)))
	if p.Sampling != 0 {
		text += fmt.Sprintf(", sampling %v at rate %g", privacy.Sampling(p.Sampling), p.SampleRate)
	}
	return study.Spent{Method: method, Epsilon: b.Epsilon, Delta: p.Delta, Accountant: b.Method,
		Relation: privacy.Relation(p.Relation).String(), Noise: text}, nil
}

// joint describes noise that all parties add a part of, in clips.
func joint(sd float64, p *protocol.Plan) string {
	return fmt.Sprintf("standard deviation %.4g C from each of %d parties, of which %d count as hidden", sd,
		p.Parties(), p.HiddenParts())
}
