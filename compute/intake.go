package compute

import (
	"encoding/binary"
	"fmt"

	"choir/crypto/field"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/protocol"
)

// intake receives, checks and adds the contributions to an attempt. A Node has one for all
// parties, a Worker one for its parties.
type intake struct {
	s       protocol.BoundPlan
	self    uint32 // member index of the compute node
	k       int    // its number among the nodes, from 0
	parties int
	nodes   int
	view    protocol.View
	eff     *protocol.Effects // of the step under way
	now     int64
	// complete is called when a contribution is complete, and again (repeated) when its party
	// retransmits it.
	complete func(party uint32, repeated bool)

	keys   *protocol.Keyring // of the channels' secrets, and a node's other ones
	joined int               // number of parties with a channel
	again  bool              // a party may have set up its channel again

	round, attempt uint32 // 0 before the first round
	model          protocol.Digest
	lastResult     protocol.Digest // that the attempt follows
	open           bool            // contributions are accepted
	contributions  []contribution  // by party
	count          int             // of those complete
	sum            field.Vector    // of all shares received, less the pending ones
	pending        []*xof.Stream   // shares that are not added yet

	plain     []byte              // buffer for an opened chunk
	chunkHash *protocol.ChunkHash // for a chunk's digest
	adder     share.Adder
}

// newIntake returns the intake of a compute node, without an attempt.
func newIntake(s protocol.BoundPlan, node uint32, view protocol.View) intake {
	p := s.Plan
	return intake{
		s:       s,
		self:    node,
		k:       int(node) - p.Parties(),
		parties: p.Parties(),
		nodes:   p.Computes(),
		view:    view,
		keys:    protocol.NewKeyring(),
	}
}

// get reads what was persisted, the step under way included.
func (in *intake) get(key string) []byte {
	return protocol.StepView{View: in.view, Step: in.eff}.Get(key)
}

// checkAttempt refuses a message that is not for the current attempt.
func (in *intake) checkAttempt(round, attempt uint32) error {
	switch {
	case round > in.round || (round == in.round && attempt > in.attempt):
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrEarly, round, attempt)
	case round < in.round || attempt < in.attempt:
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrStale, round, attempt)
	}
	return nil
}

// checkNew refuses a Round that does not lead to a later attempt.
func (in *intake) checkNew(m *protocol.Round) error {
	switch {
	case m.Round > in.s.Plan.Rounds:
		return fmt.Errorf("%w: round %d of %d", protocol.ErrMismatch, m.Round, in.s.Plan.Rounds)
	case m.Attempt > in.s.Plan.SpareAttempts+1:
		return fmt.Errorf("%w: attempt %d, the plan allows %d", protocol.ErrMismatch, m.Attempt,
			in.s.Plan.SpareAttempts+1)
	case m.Round == in.round && m.Attempt == in.attempt:
		if m.Model != in.model || m.Last != in.lastResult {
			return fmt.Errorf("%w: round %d attempt %d on two models", protocol.ErrEquivocate, m.Round, m.Attempt)
		}
		return protocol.ErrDuplicate
	case m.Round < in.round || (m.Round == in.round && m.Attempt < in.attempt):
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrStale, m.Round, m.Attempt)
	case in.s.Plan.Expired(in.now):
		return fmt.Errorf("%w: round %d attempt %d", protocol.ErrExpired, m.Round, m.Attempt)
	}
	return nil
}

// begin starts an attempt without contributions.
func (in *intake) begin(m *protocol.Round) {
	in.keys.Advance(m.Round)
	in.round = m.Round
	in.attempt = m.Attempt
	in.model = m.Model
	in.lastResult = m.Last
	in.open = in.keys.Round() == m.Round // otherwise the round is over
	in.contributions = make([]contribution, in.parties)
	in.count = 0
	in.sum = make(field.Vector, in.s.Plan.Elements())
	in.pending = nil
}

// persistRound makes the attempt that has begun durable, with the time at which it opened.
func (in *intake) persistRound(data []byte) {
	in.eff.Put("round", append(binary.BigEndian.AppendUint64(nil, uint64(in.now)), data...))
	in.eff.Note(protocol.Notice{Code: protocol.NoteRound, Round: in.round, Attempt: in.attempt})
}

// dropSum frees the memory of a sum that is not needed any more.
func (in *intake) dropSum() {
	in.sum = nil
	in.pending = nil
}

// forget deletes the attempt's records: contributions, lists and agreements.
func (in *intake) forget() {
	if in.round == 0 {
		return
	}
	view := protocol.StepView{View: in.view, Step: in.eff}
	for _, kind := range []string{"share", "commit", "hold", "agree"} {
		for _, key := range view.Keys(fmt.Sprintf("%s/%d/%d/", kind, in.round, in.attempt)) {
			in.eff.Delete(key)
		}
	}
}

// restoreChannels reads the secrets.
func (in *intake) restoreChannels() error {
	var err error
	if in.keys, err = protocol.RestoreKeyring(in.view); err != nil {
		return err
	}
	for party := range uint32(in.parties) {
		if in.keys.Has(party) {
			in.joined++
		}
	}
	return nil
}

// restoreRound begins the attempt on record, if there is one, and returns the time at which
// it opened.
func (in *intake) restoreRound() (openedAt int64, err error) {
	b := in.view.Get("round")
	if b == nil {
		return 0, nil
	}
	if len(b) < 8 {
		return 0, fmt.Errorf("round record has %d bytes", len(b))
	}
	_, m, err := in.s.Receive(b[8:])
	if err != nil {
		return 0, err
	}
	r, ok := m.(*protocol.Round)
	if !ok {
		return 0, fmt.Errorf("round record holds a %T", m)
	}
	in.begin(r)
	return int64(binary.BigEndian.Uint64(b)), nil
}

// restoreContributions adds the attempt's stored chunks and contributions. It discards the
// effects: they were carried out before the restart, or parties will ask for them.
func (in *intake) restoreContributions() error {
	in.eff = &protocol.Effects{}
	defer func() { in.eff = nil }()
	for _, key := range in.view.Keys(fmt.Sprintf("share/%d/%d/", in.round, in.attempt)) {
		c, err := protocol.ViewChunk(in.view.Get(key))
		if err != nil {
			return err
		}
		if err := in.addChunk(c, nil, false); err != nil {
			return err
		}
	}
	return in.storedHeads(func(from uint32, m *protocol.Contribution, data []byte) error {
		if err := in.contribution(from, m, data); err != nil {
			in.contributions[from].refused = true // its chunks contradicted it before, too
		}
		return nil
	})
}

// storedHeads calls f with each of the attempt's stored contributions.
func (in *intake) storedHeads(f func(from uint32, m *protocol.Contribution, data []byte) error) error {
	for _, key := range in.view.Keys(fmt.Sprintf("commit/%d/%d/", in.round, in.attempt)) {
		data := in.view.Get(key)
		e, m, err := in.s.Receive(data)
		if err != nil {
			return err
		}
		head, ok := m.(*protocol.Contribution)
		if !ok {
			return fmt.Errorf("%s holds a %T", key, m)
		}
		if err := f(e.From, head, data); err != nil {
			return err
		}
	}
	return nil
}
