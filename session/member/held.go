package member

import (
	"encoding/binary"
	"fmt"
	"os"

	"choir/host"
	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
	"choir/session/result"
	"choir/session/run"
)

// Keys of a member's store, in the scope of a plan, for plans that go on from others.
const (
	successorKey = "successor" // 64 hexadecimal digits of the plan that this member goes on with
	originKey    = "origin"    // the model that a successor plan begins with
	factorKey    = "factor"    // a party's state that it begins with; none at a party that joins
	beforeKey    = "before/"   // the aggregator's copy of the predecessors' records
)

// scopeOf is the part of a store that belongs to a plan.
func scopeOf(store host.Store, p *protocol.Plan) *host.Scoped {
	return host.Scope(store, "plan/"+p.ID().String()+"/", ledgerPrefix)
}

// held is what a party's or the aggregator's store has of a plan.
type held struct {
	round  uint32 // the last settled one; 0: none
	origin *protocol.Origin
	state  []byte // a party's
}

// heldOf reads what a store has of a plan after its last settled round; nil if it has nothing of it.
func heldOf(view protocol.View, p *protocol.Plan) (*held, error) {
	owner := string(view.Get(ownerKey))
	if owner == "" {
		return nil, nil
	}
	s := protocol.Bind(p)
	h := &held{round: settled(s, view), state: view.Get("state")}
	if h.round == 0 {
		h.state = view.Get(factorKey)
		if b := view.Get(originKey); b != nil {
			o, err := p.OpenOrigin(b)
			h.origin = o
			return h, err
		}
		return h, nil
	}
	model, err := storedModel(view, p)
	if err != nil {
		return nil, err
	}
	key, ok, err := modelKey(view, h.round)
	if err != nil {
		return nil, err
	}
	if ok {
		h.origin = &protocol.Origin{Key: key, Model: model}
	}
	return h, nil
}

// storedModel is the model after the last settled round. A store has none before a sum is accepted.
func storedModel(view protocol.View, p *protocol.Plan) ([]int64, error) {
	b := view.Get("model")
	if b == nil && p.After != nil {
		o, err := p.OpenOrigin(view.Get(originKey))
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		return o.Model, nil
	}
	if b == nil {
		m, err := app.NewModel(p)
		if err != nil {
			return nil, err
		}
		return m.Initial(), nil
	}
	model, ok := protocol.UnpackInts(b)
	if !ok {
		return nil, fmt.Errorf("store: the model of plan %s is damaged", p.ID().Short())
	}
	return model, nil
}

// modelKey returns the key of the digest of the model after a round, from a member's secrets, from what
// a party keeps of them at the end, or from the aggregator's transcript.
func modelKey(view protocol.View, round uint32) (key protocol.DigestKey, ok bool, err error) {
	if b := view.Get("model-key"); len(b) == len(key) {
		return protocol.DigestKey(b), true, nil
	}
	keys, err := protocol.RestoreKeyring(view)
	if err != nil {
		return key, false, fmt.Errorf("store: %w", err)
	}
	if secret := keys.Secret(protocol.Digests, round+1); secret != nil {
		return protocol.KeyOfDigests(secret), true, nil
	}
	secret, ok := secretOf(run.Transcript(view))
	return secret.Key(round), ok, nil
}

// secretOf is the secret of the digests in a transcript.
func secretOf(entries [][]byte) (s protocol.DigestSecret, ok bool) {
	for _, entry := range entries[:min(2, len(entries))] {
		if s, ok = protocol.ParseTranscriptSecret(entry); ok {
			return s, true
		}
	}
	return s, false
}

// given is what the file or folder has that the setting "origin" names.
type given struct {
	origin  *protocol.Origin
	records []result.Record // of a folder, the predecessor's first
	report  *verify.Report  // of a folder
}

// reportOf is the report of one of a plan's predecessors; nil if its record is not here.
func (g *given) reportOf(p *protocol.Plan, a *protocol.Predecessor) *verify.Report {
	r := g.report
	for x := p.After; x != a && r != nil; x = x.Plan.After {
		r = r.Before
	}
	return r
}

// readGiven reads what a successor plan begins with from a file that plan new wrote, or from the
// folder of the predecessor's results, whose transcript it verifies.
func readGiven(path string, p *protocol.Plan) (*given, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "origin: %w", err)
	}
	if !info.IsDir() {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "origin: %w", err)
		}
		o, err := openOrigin(b, p)
		if err != nil {
			return nil, protocol.Fail(protocol.ClassIntegrity, "origin: %s: %w", path, err)
		}
		return &given{origin: o}, nil
	}
	g, _, err := readFolder(path)
	if err != nil {
		return nil, err
	}
	if g.report.Plan != p.After.Plan.ID() {
		return nil, protocol.Fail(protocol.ClassInput, "origin: %s has plan %s, the plan goes on from %s", path,
			g.report.Plan.Short(), p.After.Plan.ID().Short())
	}
	if err := p.CheckOrigin(g.origin); err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "origin: %s: %w", path, err)
	}
	return g, nil
}

// openOrigin decodes the model that a plan begins with, if it has the length of the plan's models.
func openOrigin(b []byte, p *protocol.Plan) (*protocol.Origin, error) {
	m, err := app.NewModel(p)
	if err != nil {
		return nil, err
	}
	if n, want := protocol.OriginLen(b), len(m.Initial()); n != want {
		return nil, fmt.Errorf("%w: a model of %d numbers, the plan's has %d", protocol.ErrMismatch, n, want)
	}
	return p.OpenOrigin(b)
}

// readFolder verifies the transcript in a folder and returns its last model.
func readFolder(path string) (*given, *protocol.SignedPlan, error) {
	records, err := result.ReadRecords(path)
	if err != nil {
		return nil, nil, err
	}
	signed, r, err := result.VerifyRecords(records)
	if err != nil {
		return nil, nil, err
	}
	entries, err := protocol.UnmarshalTranscript(records[0].Transcript)
	if err != nil {
		return nil, nil, err
	}
	secret, _ := secretOf(entries) // verified
	o := &protocol.Origin{Key: secret.Key(uint32(r.Rounds())), Model: r.Model()}
	return &given{o, records, r}, signed, nil
}

// lastReveal is the last round in which a compute node's store has a reveal.
func lastReveal(view protocol.View) (last uint32) {
	for _, key := range view.Keys("reveal/") {
		if r, err := protocol.KeyNumber(key); err == nil {
			last = max(last, r)
		}
	}
	return last
}

// attemptsOf is how many attempts any party was charged at most under a plan that stopped, by what a
// member's store shows. The aggregator knows which attempts it opened; a party does not know of those
// that it missed.
func attemptsOf(view protocol.View, s protocol.BoundPlan, round uint32) uint32 {
	p := s.Plan
	most := round + p.SpareAttempts
	if round < p.Rounds {
		most++ // an attempt may be open
	}
	if b := view.Get("round"); b != nil {
		if _, m, err := s.Receive(b); err == nil {
			if r, ok := m.(*protocol.Round); ok {
				spares := uint32(0)
				if b := view.Get("attempts"); len(b) == 4 {
					spares = binary.BigEndian.Uint32(b)
				}
				return min(most, r.Round+spares)
			}
		}
	}
	return most
}
