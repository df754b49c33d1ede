package compute

import (
	"fmt"

	"choir/crypto/channel"
	"choir/protocol"
)

// The plan key opens every channel that was set up to it, from the recorded Open alone. So it is
// erased when all parties have one. If a round is over before that, it is replaced: the next key is
// for the parties that have no channel yet. The round's Confirm names them. So a party knows in
// the next round whether its channel is there, and it stays as it is while the round lasts.

// makeKey makes the next plan key; missing are the parties that it is for, nil for the first one.
func (n *Node) makeKey(missing []uint32) error {
	key, err := channel.GenerateKey(n.s.Plan.Suite, n.cfg.Rand)
	if err != nil {
		return fmt.Errorf("plan key: %w", err)
	}
	stored, err := key.Bytes()
	if err != nil {
		return fmt.Errorf("plan key: %w", err)
	}
	m := &protocol.Key{Number: n.keyNumber + 1, Public: key.Public(), NotAfter: n.s.Plan.NotAfter, For: missing}
	if n.keyMsg, err = n.sign(m); err != nil {
		return err
	}
	n.planKey = key
	n.keyNumber = m.Number
	n.keyUsed = false
	n.again = m.Number > 1
	n.eff.Replace("plan-key", stored)
	n.eff.Put("key", n.keyMsg)
	return nil
}

// replaceKey replaces the plan key if a channel was set up to it, announces the next one, and returns
// its number and the parties that it is for.
func (n *Node) replaceKey() (number uint32, missing []uint32, err error) {
	if n.planKey == nil || !n.keyUsed {
		return 0, nil, nil
	}
	for party := range uint32(n.parties) {
		if !n.keys.Has(party) {
			missing = append(missing, party)
		}
	}
	if err := n.makeKey(missing); err != nil {
		return 0, nil, err
	}
	n.eff.Emit(n.s.SubjectKey(n.self), n.keyMsg)
	return n.keyNumber, missing, nil
}

// dropKey erases the plan key when no party needs it any more.
func (n *Node) dropKey() {
	if n.joined == n.parties && n.planKey != nil {
		n.planKey = nil
		n.eff.Replace("plan-key", nil)
	}
}

// restoreKey reads the plan key and its message.
func (n *Node) restoreKey() error {
	n.keyMsg = n.view.Get("key")
	if n.keyMsg == nil {
		return nil
	}
	_, m, err := n.s.Receive(n.keyMsg)
	if err != nil {
		return err
	}
	k, ok := m.(*protocol.Key)
	if !ok {
		return fmt.Errorf("key is a %T", m)
	}
	n.keyNumber = k.Number
	n.keyUsed = true // perhaps
	n.again = k.Number > 1
	if b := n.view.Get("plan-key"); b != nil {
		n.planKey, err = channel.NewPrivateKey(n.s.Plan.Suite, b)
	}
	return err
}
