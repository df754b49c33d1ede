package member

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"

	"choir/crypto/identity"
	"choir/host"
	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
	"choir/session/result"
	"choir/session/run"
)

// Succession is where a session stopped, for a plan that goes on from there.
type Succession struct {
	Signed *protocol.SignedPlan
	After  *protocol.Predecessor
	Origin *protocol.Origin
	// Unconfirmed reports that the record, of a folder or of the aggregator's store, lacks a node's signature on
	// the last sum. A party settles no such sum.
	Unconfirmed bool
}

// SuccessionOf reads where a session stopped from a folder with its transcript, which is verified, or
// from a party's or the aggregator's store. plan is the beginning of the plan's id; empty if the store
// has one plan that nothing follows. The member must not be running.
func SuccessionOf(path, plan string) (*Succession, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "after: %w", err)
	}
	if info.IsDir() {
		g, signed, err := readFolder(path)
		if err != nil {
			return nil, err
		}
		s, err := succession(signed, g.origin, uint32(g.report.Rounds()), uint32(len(g.report.Attempts)))
		if err == nil {
			s.Unconfirmed = g.report.Unconfirmed
		}
		return s, err
	}
	f, err := openExisting(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	signed, err := planIn(f, path, plan)
	if err != nil {
		return nil, err
	}
	view := scopeOf(f, signed.Plan)
	h, err := heldOf(view, signed.Plan)
	if err != nil {
		return nil, err
	}
	if h == nil || h.round == 0 || h.origin == nil {
		return nil, protocol.Fail(protocol.ClassInput, "after: %s: no round of plan %s is settled here; "+
			"a compute node never sees a model, so take a party's store, or the aggregator's", path,
			signed.Plan.ID().Short())
	}
	s, err := succession(signed, h.origin, h.round, attemptsOf(view, protocol.Bind(signed.Plan), h.round))
	if err == nil {
		s.Unconfirmed, err = unconfirmed(view, signed)
	}
	return s, err
}

// unconfirmed reports whether the record in an aggregator's store lacks a node's signature on the last sum.
func unconfirmed(view protocol.View, signed *protocol.SignedPlan) (bool, error) {
	entries := run.Transcript(view)
	if len(entries) == 0 { // a party's store
		return false, nil
	}
	m, err := app.NewModel(signed.Plan)
	if err != nil {
		return false, err
	}
	r, err := verify.Transcript(signed, entries, m)
	if err != nil {
		return false, fmt.Errorf("after: the aggregator's store: %w", err)
	}
	return r.Unconfirmed, nil
}

func succession(signed *protocol.SignedPlan, o *protocol.Origin, round, attempts uint32) (*Succession,
	error) {
	if round == 0 {
		return nil, protocol.Fail(protocol.ClassInput, "after: no round of plan %s is settled: make a new plan",
			signed.Plan.ID().Short())
	}
	return &Succession{Signed: signed, Origin: o, After: &protocol.Predecessor{Plan: signed.Plan, Round: round,
		Attempts: attempts, Model: protocol.IntDigest(o.Key, o.Model)}}, nil
}

// heir is a member that goes on under a successor plan, with its store.
type heir struct {
	plan *protocol.Plan
	key  identity.PublicKey
	role protocol.Role
	file host.Store // of all plans
}

// isParty reports whether the member was a party of a plan.
func (h *heir) isParty(p *protocol.Plan) bool {
	i, ok := p.Index(h.key)
	return ok && p.Is(i, protocol.RoleParty)
}

// link is the last of the predecessors in which the member was a party; nil if it was in none.
func (h *heir) link() *protocol.Predecessor {
	for a := h.plan.After; a != nil; a = a.Plan.After {
		if h.isParty(a.Plan) {
			return a
		}
	}
	return nil
}

// marks returns the records that bind this member to the chain of plans: under each predecessor, which
// plan goes on from it. A member that has gone on with another one refuses; replace lets it, if it has
// only signed that.
func (h *heir) marks(replace bool) (records []protocol.Record, err error) {
	for p := h.plan; p.After != nil; p = p.After.Plan {
		before := scopeOf(h.file, p.After.Plan)
		id := p.ID().String()
		switch have := string(before.Get(successorKey)); {
		case have == id:
			continue
		case have != "" && !(replace && h.onlySigned(have)):
			return nil, protocol.Fail(protocol.ClassIntegrity, "this member goes on from plan %s with plan %s, and "+
				"with no other one%s", p.After.Plan.ID().Short(), have[:min(16, len(have))], h.hint(have))
		}
		records = append(records, protocol.Record{
			Key: "plan/" + p.After.Plan.ID().String() + "/" + successorKey, Value: []byte(id)})
	}
	return records, nil
}

// onlySigned reports whether the member has not begun to run a plan: the store has nothing of it but who
// it is.
func (h *heir) onlySigned(id string) bool {
	prefix := "plan/" + id + "/"
	return !slices.ContainsFunc(h.file.Keys(prefix), func(key string) bool {
		return key != prefix+ownerKey && key != prefix+signedKey
	})
}

func (h *heir) hint(id string) string {
	if h.onlySigned(id) {
		return ": it has signed that one; to sign this one in its place give --replace"
	}
	return ""
}

// check compares a successor plan with what the store has: nothing in the store is newer, nothing more
// was charged, and the model is the one that the plan names.
func (h *heir) check() error {
	if err := h.checkCharges(); err != nil {
		return err
	}
	a := h.plan.After
	view := scopeOf(h.file, a.Plan)
	if last := lastReveal(view); last > a.Round+1 {
		return h.stale(last - 1)
	}
	have, err := heldOf(view, a.Plan)
	if err != nil || have == nil {
		return err
	}
	switch {
	case have.round > a.Round:
		return h.stale(have.round)
	case have.round == a.Round && have.origin != nil:
		if err := h.plan.CheckOrigin(have.origin); err != nil {
			return protocol.Fail(protocol.ClassIntegrity, "plan: %w, by this member's store", err)
		}
	}
	return nil
}

func (h *heir) stale(round uint32) error {
	return protocol.Fail(protocol.ClassIntegrity,
		"plan: it goes on from round %d of plan %s, of which round %d is "+
			"settled: make it anew, from a store or a transcript that has that round", h.plan.After.Round,
		h.plan.After.Plan.ID().Short(), round)
}

// checkCharges refuses a plan that counts fewer attempts of a predecessor than this party was charged.
func (h *heir) checkCharges() error {
	if h.role != protocol.RoleParty {
		return nil
	}
	l, err := readLedger(h.file)
	if err != nil {
		return err
	}
	for a := h.plan.After; a != nil; a = a.Plan.After {
		if n := l.Of(a.Plan.ID()); uint64(n) > uint64(a.Attempts) {
			return protocol.Fail(protocol.ClassIntegrity, "plan: this party was charged %d attempts of plan %s, "+
				"the plan counts %d: make it anew from this party's store", n, a.Plan.ID().Short(), a.Attempts)
		}
	}
	return nil
}

// errGoneOn is of a plan that this member has gone on from.
var errGoneOn = errors.New("this member goes on from this plan with")

// succeed begins a successor plan: what the member goes on with becomes durable together with the marks
// that keep it from any other. Under a plan that it has left the member does not run.
func (m *Member) succeed(store *host.Scoped) error {
	if next := store.Get(successorKey); next != nil {
		return protocol.Fail(protocol.ClassIntegrity, "%w plan %s, and never goes back", errGoneOn,
			next[:min(16, len(next))])
	}
	p := m.Session.Plan
	if p.After == nil {
		return nil
	}
	h := &heir{p, m.Key.Public(), p.Members[m.Index].Role, store.Store}
	records, err := h.marks(false)
	if err != nil {
		return err
	}
	if store.Get(originKey) == nil && h.role != protocol.RoleCompute || len(records) > 0 {
		if err := h.check(); err != nil {
			return err
		}
		more, err := m.inherit(h)
		if err != nil {
			return err
		}
		for _, r := range more {
			records = append(records, protocol.Record{Key: "plan/" + m.Session.ID.String() + "/" + r.Key,
				Value: r.Value})
		}
		if err := h.file.Apply(records); err != nil {
			return err
		}
	}
	return m.resume(store)
}

// inherit returns what a party or the aggregator goes on with, as records of the successor's scope.
func (m *Member) inherit(h *heir) ([]protocol.Record, error) {
	if h.role == protocol.RoleCompute {
		return nil, nil
	}
	view := scopeOf(h.file, h.plan.After.Plan)
	have, err := heldOf(view, h.plan.After.Plan)
	if err != nil {
		return nil, err
	}
	g := &given{}
	if m.Config.Origin != "" {
		if g, err = readGiven(m.Config.Origin, h.plan); err != nil {
			return nil, err
		}
	}
	if have != nil && have.round == h.plan.After.Round && have.origin != nil {
		g.origin = have.origin
	} else if g.report != nil && g.report.Unconfirmed {
		m.Log.Warn("predecessor", "event", "unconfirmed", "round", h.plan.After.Round, "detail",
			"its record lacks a node's signature on the last sum, which this member can't check either; "+
				"the aggregator and another node may have made it up, unless the plan has audit")
	}
	if g.origin == nil {
		return nil, protocol.Fail(protocol.ClassInput,
			"config: origin is missing: the store does not have the model "+
				"after round %d of plan %s; name the file that \"plan new --after\" wrote, or the folder of that plan's "+
				"results", h.plan.After.Round, h.plan.After.Plan.ID().Short())
	}
	records := []protocol.Record{{Key: originKey, Value: protocol.MarshalOrigin(g.origin)}}
	if h.role == protocol.RoleAggregator {
		return append(records, beforeRecords(view, g)...), nil
	}
	if app.KeepsSums(h.plan) { // a party that joins, or has missed a round, has them from the folder
		records = append(records, beforeRecords(view, g)...)
	}
	state, err := m.factor(h, g)
	if err == nil && state != nil {
		records = append(records, protocol.Record{Key: factorKey, Value: state})
	}
	return records, err
}

// beforeRecords are the predecessors' records, from the aggregator's own store or from a folder.
func beforeRecords(view protocol.View, g *given) (records []protocol.Record) {
	all := g.records
	if entries := run.Transcript(view); len(entries) > 0 {
		all = append([]result.Record{{Plan: view.Get(signedKey), Transcript: protocol.MarshalTranscript(entries)}},
			storedBefore(view)...)
	}
	for i, r := range all {
		records = append(records,
			protocol.Record{Key: fmt.Sprintf("%s%02d/plan", beforeKey, i), Value: r.Plan},
			protocol.Record{Key: fmt.Sprintf("%s%02d/transcript", beforeKey, i), Value: r.Transcript})
	}
	return records
}

// storedBefore are the predecessors' records in the aggregator's store.
func storedBefore(view protocol.View) (all []result.Record) {
	for i := range len(view.Keys(beforeKey)) / 2 {
		all = append(all, result.Record{Plan: view.Get(fmt.Sprintf("%s%02d/plan", beforeKey, i)),
			Transcript: view.Get(fmt.Sprintf("%s%02d/transcript", beforeKey, i))})
	}
	return all
}

// factor is the private state that a party goes on with; nil for one that joins.
func (m *Member) factor(h *heir, g *given) ([]byte, error) {
	a := h.link()
	if a == nil {
		return nil, nil
	}
	view := scopeOf(h.file, a.Plan)
	have, err := heldOf(view, a.Plan)
	if err != nil {
		return nil, err
	}
	id := a.Plan.ID().Short()
	switch {
	case have == nil:
		return nil, protocol.Fail(protocol.ClassInput,
			"store: it has nothing of plan %s, in which this member was a "+
				"party: its factor and its ledger are in the store that it had then, and it can't go on without them", id)
	case have.round > a.Round:
		return nil, protocol.Fail(protocol.ClassIntegrity,
			"plan: it goes on from round %d of plan %s, of which this "+
				"party has settled round %d", a.Round, id, have.round)
	case have.round == a.Round:
		return have.state, nil
	}
	report := g.reportOf(h.plan, a)
	if report == nil {
		return nil, protocol.Fail(protocol.ClassInput,
			"config: origin: this party has settled round %d of plan %s, "+
				"and the plan goes on from round %d: name the folder of that plan's results, with its transcript",
			have.round, id, a.Round)
	}
	return m.catchUp(view, have, a, report)
}

// catchUp settles the rounds that a party has missed by the predecessor's verified transcript.
func (m *Member) catchUp(view protocol.View, have *held, a *protocol.Predecessor, report *verify.Report) (
	[]byte, error) {
	state, at := have.state, view.Get("attempt")
	if state == nil {
		state = m.work.side.InitialState()
	}
	i, _ := a.Plan.Index(m.Key.Public())
	for _, t := range report.Attempts {
		if t.Round <= have.round || !t.Counts(a.Plan.Members[i].Name) {
			continue
		}
		own := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, t.Round), t.Attempt)
		memo := view.Get("memo")
		if memo == nil || string(own) != string(at) {
			return nil, protocol.Fail(protocol.ClassIntegrity,
				"round %d of the predecessor counts a contribution that "+
					"this party's store does not have: the store was rolled back", t.Round)
		}
		var err error
		if state, err = m.work.side.Settle(a.Plan.RoundsBefore()+t.Round, state, memo); err != nil {
			return nil, fmt.Errorf("round %d of the predecessor: %w", t.Round, err)
		}
	}
	return state, nil
}

// resume lets the application go on from what the store has of the predecessor.
func (m *Member) resume(store *host.Scoped) error {
	p := m.Session.Plan
	if p.Is(m.Index, protocol.RoleCompute) {
		return nil
	}
	entry := store.Get(originKey)
	o, err := p.OpenOrigin(entry)
	if err != nil {
		return protocol.Fail(protocol.ClassIntegrity, "store: %w", err)
	}
	if p.Is(m.Index, protocol.RoleAggregator) {
		m.work.origin = entry
		m.work.model, err = app.From(p, m.work.model, o.Model)
		return err
	}
	before, err := m.exportedBefore(store)
	if err != nil {
		return err
	}
	side, err := app.Resume(p, m.work.side, o.Model, store.Get(factorKey), before)
	if err != nil {
		return err
	}
	m.work.app = side
	m.work.proposer = side
	return nil
}
