package bench

import (
	"crypto/rand"
	"math"
	"runtime"

	"choir/protocol"
)

// publishKeys starts the nodes and the aggregator: each makes its key for the
// plan; then the nodes set up their channels to the aggregator.
func (s *stream) publishKeys() error {
	err := s.phase("compute", "keys", false, s.cfg.Computes, func() error {
		return s.eachNode(func(n *node) error { return n.step(protocol.Start{}) })
	})
	if err != nil {
		return err
	}
	err = s.phase("aggregator", "keys", false, 1, func() error { return s.agg.step(protocol.Start{}) })
	if err != nil {
		return err
	}
	aggKey := only(s.published(s.agg), "key")
	for _, n := range s.nodes {
		s.keys = append(s.keys, only(s.published(n), "key")...)
		enqueue(n, aggKey)
	}
	s.keys = append(s.keys, aggKey...)
	err = s.phase("compute", "keys", false, s.cfg.Computes,
		func() error { return s.eachNode((*node).deliver) })
	if err != nil {
		return err
	}
	for _, n := range s.nodes {
		s.agg.inbox = append(s.agg.inbox, only(s.published(n), "open")...)
	}
	err = s.phase("aggregator", "channels", false, 1, s.agg.deliver)
	return err
}

// published returns a node's outgoing messages, counts and clears them.
func (s *stream) published(n *node) []protocol.Outgoing {
	out := n.sent()
	s.tally.addAll(n.index, out)
	return out
}

// only are the messages on one topic.
func only(out []protocol.Outgoing, about string) (data [][]byte) {
	for _, o := range out {
		if topic(o.Subject) == about {
			data = append(data, o.Data)
		}
	}
	return data
}

// channels lets every party set up its channels, once a plan, and parks it: what
// stays of it is what its store holds.
func (s *stream) channels() error {
	if err := s.batches(s.cfg.Parties, mostTogether, s.channelsOf); err != nil {
		return err
	}
	s.noteMemory()
	return nil
}

func (s *stream) channelsOf(lo, hi int) error {
	parties := make([]*actor, hi-lo)
	err := s.phase("party", "channels", false, s.cfg.Parties, func() error {
		return parallel(s.cfg.Workers, hi-lo, func(i int) (err error) {
			batch := protocol.NewBatch(s.w.session, rand.Reader)
			if parties[i], err = s.party(lo+i, nil, -1, batch); err != nil {
				return err
			}
			if err := parties[i].step(protocol.Start{}); err != nil {
				return err
			}
			batch.Prepare(s.keys) // they wait for it together
			for _, k := range s.keys {
				if err := parties[i].step(protocol.Delivery{Data: k}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	s.routePhase(parties, false)
	if err := s.acceptMessages("channels", false); err != nil {
		return err
	}
	if err := s.groups(parties); err != nil {
		return err
	}
	return s.kem.measure(s.cfg, hi-lo)
}

// routePhase routes the parties' messages, as a phase. There is no bus, so no message is copied.
func (s *stream) routePhase(parties []*actor, inRound bool) {
	for _, p := range parties {
		s.tally.addAll(p.index, p.out)
	}
	name := "hand over"
	if !inRound {
		name = "channels"
	}
	// fails only when it is interrupted, and then so does the next
	_ = s.phase("memory", name, inRound, 1, func() error {
		s.route(parties)
		return nil
	})
}

// route puts parties' messages into the inboxes of those who listen to them.
func (s *stream) route(parties []*actor) {
	for _, p := range parties {
		for _, o := range p.sent() {
			s.listeners.Match(o.Subject, func(n *node) { n.routed = append(n.routed, o.Data) })
		}
	}
	_ = s.eachNode(func(n *node) error { // it cannot fail
		enqueue(n, n.routed)
		n.routed = n.routed[:0]
		return nil
	})
	s.agg.inbox, s.agg.routed = append(s.agg.inbox, s.agg.routed...), s.agg.routed[:0]
}

// acceptMessages lets nodes and aggregator verify and accept the parties' messages, without chunks.
func (s *stream) acceptMessages(name string, inRound bool) error {
	for _, f := range []struct {
		phase string
		node  func(*node) error
	}{{"verify", (*node).prepare}, {name, (*node).deliver}} {
		phase := f.phase
		if !inRound && phase == "verify" {
			phase = name
		}
		if err := s.nodesAndAggregator(phase, inRound, f.node); err != nil {
			return err
		}
	}
	return nil
}

// groups hands the aggregator's answers to the parties and parks them.
func (s *stream) groups(parties []*actor) error {
	lo := int(parties[0].index)
	answers := make([][]byte, len(parties))
	for _, o := range s.published(s.agg) {
		switch topic(o.Subject) {
		case "group":
			if to, ok := s.addressee(o.Subject); ok {
				answers[int(to)-lo] = o.Data
			}
		case "ctl":
			s.round = o.Data
		}
	}
	err := s.phase("party", "channels", false, s.cfg.Parties, func() error {
		return parallel(s.cfg.Workers, len(parties), func(i int) error {
			return parties[i].step(protocol.Delivery{Data: answers[i]})
		})
	})
	for i, p := range parties {
		s.parked[lo+i] = p.store.(*few).pack()
	}
	return err
}

// noteMemory notes what a node holds at this moment, if it is the most so far.
func (s *stream) noteMemory() {
	s.nodeLive = max(s.nodeLive, liveBytes("bench.nodeWork")/int64(len(s.nodes)))
}

// unsample scales what the profiler sampled of objects of one size to what there
// is: it takes one byte in MemProfileRate, and an object with any byte taken.
func unsample(objects, bytes float64) float64 {
	rate := float64(runtime.MemProfileRate)
	if rate <= 1 {
		return bytes
	}
	return bytes / -math.Expm1(-bytes/objects/rate)
}
