package bench

import (
	"errors"
	"slices"

	"choir/protocol"
)

// contributions is the round up to the last contribution.
func (s *stream) contributions() error {
	if s.round == nil {
		return errors.New("the aggregator opened no round")
	}
	for _, n := range s.nodes {
		enqueue(n, [][]byte{s.round})
	}
	if err := s.phase("compute", "add", true, s.cfg.Computes,
		func() error { return s.eachNode((*node).deliver) }); err != nil {
		return err
	}
	if err := s.batches(s.cfg.contributing(), s.together(), s.contribute); err != nil {
		return err
	}
	if err := s.deadline(); err != nil {
		return err
	}
	s.noteMemory()
	return nil
}

// deadline lets the nodes close their lists without the parties that dropped out, at the plan's deadline.
func (s *stream) deadline() error {
	if s.cfg.Dropouts == 0 {
		return nil
	}
	s.agg.clock += dropoutDeadline
	return s.phase("compute", "agree", true, s.cfg.Computes, func() error {
		return s.eachNode(func(n *node) error {
			n.clock += dropoutDeadline
			return n.step(protocol.Tick{})
		})
	})
}

// contribute lets some parties encode, share, seal and sign, and all others accept the
// results.
func (s *stream) contribute(lo, hi int) error {
	parties, err := s.restart(lo, hi)
	if err != nil {
		return err
	}
	if err := s.share(parties); err != nil {
		return err
	}
	s.routePhase(parties, true)
	if err := s.openChunks(); err != nil {
		return err
	}
	for _, p := range parties {
		if len(s.settlers) < s.cfg.Settle {
			s.settlers = append(s.settlers, p)
		}
	}
	if s.waiting += len(parties); s.waiting < manifestsTogether && hi < s.cfg.contributing() {
		return nil
	}
	signed := s.signing()
	if err := s.acceptMessages("add", true); err != nil {
		return err
	}
	s.signed += s.signing() - signed
	s.keepReceipts(hi - s.waiting)
	s.waiting = 0
	return nil
}

// restart starts parties again from what they stored, and then lets them draw noise
// while no member waits for them, as a separate phase.
func (s *stream) restart(lo, hi int) ([]*actor, error) {
	parties := make([]*actor, hi-lo)
	for len(s.verifiers) < len(parties) {
		s.verifiers = append(s.verifiers, new(verifier))
	}
	err := s.phase("party", "restart", false, s.cfg.contributing(), func() error {
		return parallel(s.cfg.Workers, hi-lo, func(i int) (err error) {
			if parties[i], err = s.party(lo+i, s.parked[lo+i], 0, s.verifiers[i]); err != nil {
				return err
			}
			s.parked[lo+i] = nil
			return parties[i].step(protocol.Start{})
		})
	})
	if err != nil {
		return nil, err
	}
	before := s.drawn.Load()
	c, err := Measure(func() error {
		return parallel(s.cfg.Workers, hi-lo, func(i int) error { return parties[i].step(protocol.Tick{}) })
	})
	for _, p := range parties {
		p.sent() // its Opens again, which all members have
	}
	if s.drawn.Load() > before {
		s.noiseAhead = true
		s.meter.phase("party", "noise", false, s.cfg.contributing()).add(c)
	}
	return parties, err
}

// share is the parties' own part of the round.
func (s *stream) share(parties []*actor) error {
	for len(s.updates) < len(parties) {
		s.updates = append(s.updates, make([]int64, s.cfg.Dim))
	}
	err := s.phase("party", "encode", true, s.cfg.contributing(), func() error {
		return parallel(s.cfg.Workers, len(parties),
			func(i int) error { return s.w.rows.encodeTo(s.updates[i], int(parties[i].index)) })
	})
	if err != nil {
		return err
	}
	err = s.phase("party", "share", true, s.cfg.contributing(), func() error {
		return parallel(s.cfg.Workers, len(parties), func(i int) error {
			p := parties[i]
			if err := p.step(protocol.Delivery{Data: s.round}); err != nil {
				return err
			}
			if p.work == nil {
				return errors.New("a party does not contribute")
			}
			return p.step(protocol.Proposal{Round: p.work.Round, Attempt: p.work.Attempt,
				Update: s.updates[i], Memo: []byte{}})
		})
	})
	return err
}

// openChunks lets the nodes open the explicit shares and add them; the manifests of
// them stay in the inboxes.
func (s *stream) openChunks() error {
	err := s.phase("compute", "open", true, s.cfg.Computes,
		func() error { return s.eachNode((*node).open) })
	return err
}

// signing is how often the nodes have signed so far.
func (s *stream) signing() (n int64) {
	for _, node := range s.nodes {
		n += node.signer.n.Load()
	}
	return n
}

// splitSigning takes the receipts' signatures out of the phase in which nodes add:
// their number, at what one was measured to cost.
func (s *stream) splitSigning() {
	add, receipts := s.meter.phase("compute", "add", true, s.cfg.Computes),
		s.meter.phase("compute", "receipts", true, s.cfg.Computes)
	if add.CPUSeconds > 0 {
		add.move(receipts, float64(s.signed)*signSeconds(s.w.keys[0])/add.CPUSeconds)
	}
}

// keepReceipts keeps those for the parties that go on; all others have done their part.
// lo is the first of those that were answered.
func (s *stream) keepReceipts(lo int) {
	for _, n := range s.nodes {
		for _, o := range n.sent() {
			switch topic(o.Subject) {
			case "receipt":
				s.tally.add(n.index, o.Subject, len(o.Data))
				if lo >= s.cfg.Settle {
					continue // all others have done their part
				}
				if to, ok := s.addressee(o.Subject); ok && int(to) < s.cfg.Settle {
					s.receipts[to] = append(s.receipts[to], o.Data)
				}
			default: // the last contribution closes the list
				n.out = append(n.out, o)
			}
		}
	}
}

// agreement is the rest of the round: lists, the agreed set, the partial sums and
// the aggregate.
func (s *stream) agreement() error {
	for _, about := range []string{"hold", "agree"} {
		if err := s.exchange(about); err != nil {
			return err
		}
		s.noteMemory()
	}
	for _, n := range s.nodes {
		for _, o := range s.published(n) {
			if topic(o.Subject) == "psum" {
				s.agg.inbox = append(s.agg.inbox, o.Data)
			}
		}
	}
	err := s.phase("aggregator", "combine", true, 1, s.agg.deliver)
	if err != nil {
		return err
	}
	for _, o := range s.published(s.agg) {
		switch {
		case topic(o.Subject) != "result":
		case protocol.IsChunk(o.Data):
			s.result = append(s.result, o.Data)
		default:
			s.resultHead = append(s.resultHead, o.Data)
		}
	}
	if len(s.resultHead) == 0 {
		return errors.New("the aggregator published no result")
	}
	return nil
}

// exchange delivers the nodes' messages on one topic to all nodes and the aggregator.
func (s *stream) exchange(about string) error {
	sent := make([][][]byte, len(s.nodes))
	for k, n := range s.nodes {
		kept := n.out[:0:0]
		for _, o := range n.sent() {
			if topic(o.Subject) == about {
				s.tally.add(n.index, o.Subject, len(o.Data))
				sent[k] = append(sent[k], o.Data)
			} else {
				kept = append(kept, o)
			}
		}
		n.out = kept
		if len(sent[k]) == 0 {
			return errors.New("a node sent no " + about)
		}
	}
	for k, n := range s.nodes {
		for from, messages := range sent {
			if from != k {
				enqueue(n, messages)
			}
		}
	}
	for _, messages := range sent {
		s.agg.inbox = append(s.agg.inbox, messages...)
	}
	if err := s.phase("compute", "agree", true, s.cfg.Computes,
		func() error { return s.eachNode((*node).deliver) }); err != nil {
		return err
	}
	err := s.phase("aggregator", "combine", true, 1, s.agg.deliver)
	return err
}

// settling is what follows the round: nodes close it, and the parties that were
// kept process their receipts and the result.
func (s *stream) settling() error {
	for _, n := range s.nodes {
		enqueue(n, s.resultHead)
	}
	if err := s.phase("compute", "close", false, s.cfg.Computes,
		func() error { return s.eachNode((*node).deliver) }); err != nil {
		return err
	}
	if err := s.confirms(); err != nil {
		return err
	}
	for _, f := range []struct {
		phase string
		about func(p *actor) [][]byte
	}{
		{"receipts", func(p *actor) [][]byte { return s.receipts[p.index] }},
		{"settle", func(*actor) [][]byte {
			return append(append([][]byte(nil), s.resultHead...), s.result...)
		}},
	} {
		err := s.phase("party", f.phase, false, len(s.settlers), func() error {
			return parallel(s.cfg.Workers, len(s.settlers), func(i int) error {
				for _, m := range f.about(s.settlers[i]) {
					if err := s.settlers[i].step(protocol.Delivery{Data: m}); err != nil {
						return err
					}
				}
				return nil
			})
		})
		if err != nil {
			return err
		}
	}
	return s.compare()
}

// confirms collects what the nodes confirm of the result, and the sum that the aggregator sends then.
func (s *stream) confirms() error {
	for _, n := range s.nodes {
		for _, o := range s.published(n) {
			if topic(o.Subject) == "confirm" {
				s.agg.inbox = append(s.agg.inbox, o.Data)
				s.resultHead = append(s.resultHead, o.Data)
			}
		}
	}
	if err := s.phase("aggregator", "confirm", false, 1, s.agg.deliver); err != nil {
		return err
	}
	for _, o := range s.published(s.agg) {
		if topic(o.Subject) == "result" && protocol.IsChunk(o.Data) {
			s.result = append(s.result, o.Data)
		}
	}
	return nil
}

// modeller is what parties and aggregators have in common in the end.
type modeller interface{ Model() []int64 }

// compare holds the parties' results against the aggregator's.
func (s *stream) compare() error {
	s.sum = s.agg.machine.(modeller).Model()
	for _, p := range s.settlers {
		if got := p.machine.(modeller).Model(); !p.done ||
			!slices.Equal(got, s.sum) {
			return errors.New("a party ended with another sum than the aggregator")
		}
	}
	return nil
}
