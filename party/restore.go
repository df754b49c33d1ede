package party

import (
	"encoding/binary"
	"fmt"

	"choir/protocol"
)

// restore sets the party's state from its store.
func (p *Party) restore() error {
	p.eff = &protocol.Effects{}
	defer func() { p.eff = nil }()
	steps := []func() error{
		p.restoreLinks, p.restoreLedger, p.restoreSettled, p.restoreContribution, p.restoreResults,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("party: stored state: %w", err)
		}
	}
	p.ended = p.view.Get("done") != nil
	return nil
}

func (p *Party) restoreLinks() error {
	for _, key := range p.view.Keys("link/") {
		i, err := protocol.KeyNumber(key)
		if err != nil {
			return err
		}
		if p.links[i], err = unmarshalLink(p.view.Get(key)); err != nil {
			return err
		}
	}
	for _, key := range p.view.Keys("needs/") {
		i, err := protocol.KeyNumber(key)
		if err != nil {
			return err
		}
		if b := p.view.Get(key); len(b) == 4 {
			p.needs[i] = binary.BigEndian.Uint32(b)
		}
	}
	p.group = p.view.Get("group")
	var err error
	p.keys, err = protocol.RestoreKeyring(p.view)
	return err
}

func (p *Party) restoreLedger() error {
	for _, key := range p.view.Keys("ledger/") {
		if err := p.cfg.Ledger.Append(p.view.Get(key)); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func (p *Party) restoreSettled() (err error) {
	defer p.setModelDigest()
	b := p.view.Get("settled")
	if b == nil {
		return nil
	}
	if len(b) != 4 {
		return fmt.Errorf("settled has %d bytes", len(b))
	}
	p.settled = binary.BigEndian.Uint32(b)
	model, ok := protocol.UnpackInts(p.view.Get("model"))
	if !ok || len(model) != len(p.model) {
		return fmt.Errorf("the model has %d numbers, not %d", len(model), len(p.model))
	}
	p.model = model
	p.state = append([]byte(nil), p.view.Get("state")...)
	copy(p.lastResult[:], p.view.Get("last"))
	if p.cfg.KeepSums {
		p.opened, err = protocol.OpenedSums(p.view, p.cfg.App)
	}
	return err
}

// restoreContribution restores the latest attempt, its contribution if that is not settled,
// and the open attempt.
func (p *Party) restoreContribution() error {
	if at := p.view.Get("attempt"); len(at) == 8 {
		p.latest = pair{binary.BigEndian.Uint32(at), binary.BigEndian.Uint32(at[4:])}
	}
	if err := p.restoreOpen(); err != nil {
		return err
	}
	memo := p.view.Get("memo")
	if memo == nil {
		return nil
	}
	p.own = &contribution{pair: p.latest, memo: memo, receipts: map[uint32]bool{}}
	p.own.final = p.view.Get("outbox") == nil
	if err := p.restoreManifest(); err != nil {
		return err
	}
	for _, key := range p.view.Keys(fmt.Sprintf("receipt/%d/%d/", p.latest.round, p.latest.attempt)) {
		node, err := protocol.KeyNumber(key)
		if err != nil {
			return err
		}
		p.own.receipts[node] = true
	}
	return nil
}

// restoreManifest restores the manifest, if it was made before the restart.
func (p *Party) restoreManifest() (err error) {
	manifest := p.view.Get("head")
	if manifest == nil {
		return nil
	}
	_, m, err := p.bound.Receive(manifest)
	if err != nil {
		return err
	}
	c, ok := m.(*protocol.Contribution)
	if !ok || (pair{c.Round, c.Attempt}) != p.latest {
		return fmt.Errorf("head is a %T of another attempt", m)
	}
	p.own.manifest = manifest
	p.own.bundle, err = c.BundleDigest(p.bound, p.self)
	return err
}

// restoreOpen restores the open attempt.
func (p *Party) restoreOpen() error {
	b := p.view.Get("want")
	if b == nil {
		return nil
	}
	_, m, err := p.bound.Receive(b)
	if err != nil {
		return err
	}
	round, ok := m.(*protocol.Round)
	if !ok {
		return fmt.Errorf("want is a %T", m)
	}
	p.open = round
	return nil
}

func (p *Party) restoreResults() error {
	for _, prefix := range []string{"confirm/", "result/"} {
		for _, key := range p.view.Keys(prefix) {
			p.deliver(p.view.Get(key))
		}
	}
	return nil
}
