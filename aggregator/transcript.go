package aggregator

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// recordAttempt puts on record what the members signed in the open attempt: the parties'
// manifests, the nodes' lists and agrees, in roster order, after the Confirms of the result before.
func (a *Aggregator) recordAttempt() {
	a.recordConfirms()
	view := protocol.StepView{View: a.view, Step: a.eff}
	var signed [][]byte // read before any is recorded: a read walks the step's records
	for i := range uint32(a.parties) {
		if _, ok := a.at.manifests[i]; ok {
			signed = append(signed, view.Get(a.key("commit", i)))
		}
	}
	for _, kind := range []string{"hold", "agree"} {
		for k := range a.nodes {
			if b := view.Get(a.key(kind, a.node(k))); b != nil {
				signed = append(signed, b)
			}
		}
	}
	for _, b := range signed {
		a.record(b)
	}
}

// recordPartials puts the partial sums on record: the heads, and the opened vectors, which a
// verifier can add. A vector that its node did not sign proves nothing and is left out.
func (a *Aggregator) recordPartials() {
	for k := range a.nodes {
		p := a.at.partials[a.node(k)]
		if p == nil || p.head == nil {
			continue
		}
		a.record(p.headMsg)
		if p.whole() && p.signed() {
			a.record(p.record)
		}
	}
}

// restore rebuilds the aggregator from its view.
func (a *Aggregator) restore() error {
	steps := []func() error{a.restoreKeys, a.restoreModel, a.restoreConfirms, a.restoreRound, a.restoreAttempt}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("aggregator: stored state: %w", err)
		}
	}
	a.recorded = len(a.view.Keys("transcript/"))
	a.ended = a.view.Get("done") != nil
	return nil
}

func (a *Aggregator) restoreKeys() error {
	if b := a.view.Get("plan-key"); b != nil {
		key, err := channel.NewPrivateKey(a.s.Plan.Suite, b)
		if err != nil {
			return err
		}
		if err := a.useKey(key); err != nil {
			return err
		}
	}
	var err error
	if b := a.view.Get("group"); b != nil {
		if err = a.useGroup(b); err != nil {
			return err
		}
	}
	for _, key := range a.view.Keys("channel/") {
		i, err := protocol.KeyNumber(key)
		if err != nil {
			return err
		}
		link, err := protocol.UnmarshalLink(a.view.Get(key))
		if err != nil {
			return err
		}
		a.keepLink(i, &protocol.Link{Secret: link.Secret})
	}
	return nil
}

func (a *Aggregator) restoreModel() error {
	for _, key := range a.view.Keys("spent/") {
		if a.cfg.Ledger == nil {
			return fmt.Errorf("%s: the plan has a ledger, and none was given", key)
		}
		if err := a.cfg.Ledger.Append(a.view.Get(key)); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if b := a.view.Get("model"); b != nil {
		v, ok := protocol.UnpackInts(b)
		if !ok || len(v) != len(a.model) {
			return fmt.Errorf("the model has %d bytes", len(b))
		}
		a.model = v
	}
	if b := a.view.Get("attempts"); len(b) == 4 {
		a.spares = binary.BigEndian.Uint32(b)
	}
	return a.restoreLast()
}

func (a *Aggregator) restoreRound() error {
	defer a.setModelDigest()
	b := a.view.Get("round")
	if b == nil {
		return nil
	}
	_, m, err := a.s.Receive(b)
	if err != nil {
		return err
	}
	r, ok := m.(*protocol.Round)
	if !ok {
		return fmt.Errorf("round record holds a %T", m)
	}
	if a.over {
		a.at = attempt{round: r.Round, number: r.Attempt}
		return nil
	}
	a.begin(r.Round, r.Attempt, b)
	return nil
}

// restoreAttempt reads the messages of the open attempt. They are durable: there are no
// effects.
func (a *Aggregator) restoreAttempt() error {
	if a.at.round == 0 || a.over || a.view.Get("done") != nil {
		return nil // nothing is open, or the session's keys are deleted
	}
	for _, kind := range []string{"commit", "hold", "agree", "psum"} {
		for _, key := range a.view.Keys(fmt.Sprintf("%s/%d/%d/", kind, a.at.round, a.at.number)) {
			if err := a.restoreMessage(a.view.Get(key)); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	return nil
}

func (a *Aggregator) restoreMessage(data []byte) error {
	if protocol.IsChunk(data) {
		c, err := protocol.ViewChunk(data)
		if err != nil {
			return err
		}
		return a.addChunk(c)
	}
	e, m, err := a.s.Receive(data)
	if err != nil {
		return err
	}
	switch m := m.(type) {
	case *protocol.Contribution:
		bundle, err := m.BundleDigest(a.s, e.From)
		if err != nil {
			return err
		}
		a.at.manifests[e.From] = manifest{bundle}
	case *protocol.Hold:
		a.at.holds[e.From] = m
	case *protocol.Agree:
		a.at.agrees[e.From] = m
	case *protocol.Partial:
		a.setPartial(e.From, m, data)
	}
	return nil
}
