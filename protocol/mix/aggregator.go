package mix

import (
	"fmt"
	"slices"

	"choir/crypto/channel"
	"choir/protocol"
)

// aggregator opens attempts, receives the reports and publishes outcomes. It does not shuffle, and
// without the nodes it opens nothing.
type aggregator struct {
	*machine
	model    []int64 // what the rounds' reports were folded into; nil without Config.Model
	recorded int     // entries of the transcript
}

// patience is how long the aggregator waits for a message beyond two of the plan's deadlines, ms.
const patience = 10_000

func (g *aggregator) proposal(_ protocol.Proposal) {}

func (g *aggregator) restore() error {
	g.recorded = len(g.cfg.View.Keys("transcript/"))
	if g.cfg.Model != nil {
		g.model = g.cfg.Model.Initial()
	}
	if b := g.cfg.View.Get("model"); b != nil {
		var ok bool
		if g.model, ok = protocol.UnpackInts(b); !ok {
			return fmt.Errorf("model: %d bytes are no numbers", len(b))
		}
	}
	b := g.cfg.View.Get("mix/result")
	if b == nil {
		return nil
	}
	subject, data, err := cut(b)
	if err != nil {
		return fmt.Errorf("mix/result: %w", err)
	}
	g.last = append([]protocol.Outgoing{{Subject: string(subject), Data: data}}, g.last...)
	return nil
}

func (g *aggregator) due() int64 {
	switch {
	case g.at == nil:
		return 0
	case !g.at.agreed():
		return g.progress + 2*int64(g.s.Plan.DeadlineMS) + patience
	case g.cfg.GiveUpMS > 0:
		return min(g.progress+g.cfg.GiveUpMS, g.s.Plan.Settles(g.progress))
	}
	return g.s.Plan.Settles(g.progress)
}

func (g *aggregator) advance() {
	if g.cfg.End != nil {
		g.abort(g.cfg.End)
		return
	}
	for !g.over && g.at == nil {
		g.next()
	}
	a := g.at
	if g.over {
		return
	}
	if a.fault != nil {
		g.fail(*a.fault)
		return
	}
	if a.batches[2*a.nodes] != nil {
		g.collect()
	}
	if due := g.due(); g.at == a && due > 0 && g.now >= due {
		g.fail(a.awaited())
	}
}

// next opens the next attempt, or ends the session.
func (g *aggregator) next() {
	st := g.state
	if g.s.Plan.Expired(g.now) {
		g.abort(protocol.Fail(protocol.ClassIntegrity, "%w: %d of %d rounds are over", protocol.ErrExpired,
			st.closed, g.s.Plan.Rounds))
		return
	}
	if int64(st.used) >= int64(g.s.Plan.Attempts()) {
		g.abort(protocol.Fail(protocol.ClassQuorum, "round %d: no attempt is left of the plan's %d",
			st.round, g.s.Plan.Attempts()))
		return
	}
	r := &protocol.MixRound{Round: st.closed + 1, Attempt: 1}
	if r.Round == st.round {
		r.Attempt = st.attempt + 1
	}
	key, err := channel.GenerateKey(g.s.Plan.Suite, g.cfg.Rand)
	if err != nil {
		g.finish(err)
		return
	}
	private, err := key.Bytes()
	if err != nil {
		g.finish(err)
		return
	}
	r.Public = key.Public()
	g.say(g.s.SubjectControl(), r)
	g.setSecrets([][]byte{private})
}

// abort ends the session for all members and for good.
func (g *aggregator) abort(cause error) {
	data, err := g.s.Sign(g.cfg.Key, g.self, protocol.NewAbort(cause))
	if err != nil {
		g.finish(err)
		return
	}
	g.record(data)
	g.clear()
	g.publish(data)
	g.machine.conclude(cause)
}

// publish sends a message to all, now and after every restart until the next.
func (g *aggregator) publish(data []byte) {
	subject := g.s.SubjectControl()
	g.eff.Put("mix/result", stored(subject, data))
	g.eff.Emit(subject, data)
}

// record adds an entry to the transcript.
func (g *aggregator) record(entry []byte) {
	g.eff.Put(fmt.Sprintf("transcript/%08d", g.recorded), entry)
	g.recorded++
}

// recordAttempt puts what the members signed in an attempt on record, without the pieces of batches except
// those of a list that all nodes agreed on, which tell what it opens to. A refused message that shows the
// fault is there, too, in its place.
func (g *aggregator) recordAttempt() {
	signed := g.signed
	if g.evidence != nil {
		signed = slices.Insert(slices.Clone(signed), g.shownAt, g.evidence)
	}
	for _, data := range signed {
		if protocol.Kind(data[0]) == protocol.KindMixPiece {
			_, m, err := g.s.Receive(data)
			piece, ok := m.(*protocol.MixPiece)
			if err != nil || !ok || !g.at.agreed() || int(piece.Stage) != g.at.nodes {
				continue
			}
		}
		g.record(data)
	}
}

// collect opens the reports, once all of them are there.
func (g *aggregator) collect() {
	a := g.at
	if list, err := a.entries(a.nodes); list == nil || err != nil {
		if err != nil {
			g.fail(fault{a.owner(a.nodes), err.Error()})
		}
		return
	}
	key, err := channel.NewPrivateKey(g.s.Plan.Suite, g.secrets[0])
	if err != nil {
		g.finish(err)
		return
	}
	reports, err := a.openReports(key)
	if err != nil {
		g.fail(fault{a.owner(2 * a.nodes), err.Error()})
		return
	}
	if reports == nil {
		return
	}
	all := []byte{}
	for _, r := range reports {
		all = append(all, r[nonceSize:]...)
	}
	g.eff.Put(ReportsKey(a.round), all)
	if err := g.fold(all); err != nil {
		g.finish(err)
		return
	}
	g.recordAttempt()
	g.record(append([]byte{openedEntry}, slices.Concat(reports...)...))
	g.conclude(&protocol.MixResult{Round: a.round, Attempt: a.attempt, Outcome: protocol.OutcomeAccepted,
		List: a.list, Opened: a.batches[2*a.nodes].Content, Count: uint32(len(reports)),
		Suspect: protocol.Everyone})
}

// fail ends an attempt without reports. If the nodes have agreed, some of the list may be open, and the
// round is lost.
func (g *aggregator) fail(f fault) {
	r := &protocol.MixResult{Round: g.at.round, Attempt: g.at.attempt, Outcome: protocol.OutcomeVoid,
		Suspect: f.suspect, Reason: protocol.Printable(f.reason)}
	if g.at.agreed() {
		r.Outcome = protocol.OutcomeRejected
		r.List = g.at.list
	}
	g.recordAttempt()
	g.conclude(r)
}

// fold folds the reports of a round into the model.
func (g *aggregator) fold(reports []byte) error {
	if g.cfg.Model == nil {
		return nil
	}
	numbers, _ := protocol.Ints(reports)
	next, err := g.cfg.Model.Fold(g.at.round, g.model, numbers)
	if err != nil {
		return fmt.Errorf("mix-net: round %d: %w", g.at.round, err)
	}
	g.model = next
	return nil
}

// conclude publishes the outcome.
func (g *aggregator) conclude(r *protocol.MixResult) {
	data, err := g.s.Sign(g.cfg.Key, g.self, r)
	if err != nil {
		g.finish(err)
		return
	}
	g.record(data)
	g.publish(data)
	if g.model != nil && r.Outcome != protocol.OutcomeVoid {
		g.eff.Put("model", protocol.PackInts(g.model))
	}
	g.settle(r, nil)
	g.last = []protocol.Outgoing{{Subject: g.s.SubjectControl(), Data: data}}
	if !g.over {
		g.advance()
	}
}

// awaited returns whose message the attempt waits for.
func (a *attempt) awaited() fault {
	for k := range a.nodes {
		if a.outer[k] == nil {
			return fault{a.s.Plan.Compute(k), fmt.Sprintf("%s has sent no keys", a.s.Name(a.s.Plan.Compute(k)))}
		}
	}
	for stage := 0; stage <= a.nodes; stage++ {
		if a.batches[stage] == nil {
			return a.silent(stage)
		}
	}
	if n := len(a.gos); n < int(a.s.Plan.MinParties) {
		return fault{protocol.Everyone, fmt.Sprintf("%d parties found their entries in the list, fewer than "+
			"N_min = %d: a node replaced entries, or parties are gone", n, a.s.Plan.MinParties)}
	}
	for k := range a.nodes {
		member := a.s.Plan.Compute(k)
		if a.others[member] {
			return fault{protocol.Everyone, fmt.Sprintf("%s agrees to another list than %s described: one of "+
				"the two lies", a.s.Name(member), a.s.Name(a.owner(a.nodes)))}
		}
		if a.agrees[member] == nil {
			return fault{member, fmt.Sprintf("%s has not signed the list", a.s.Name(member))}
		}
	}
	for stage := a.nodes + 1; stage < 2*a.nodes; stage++ {
		if a.batches[stage] == nil {
			return a.silent(stage)
		}
	}
	return a.silent(2 * a.nodes)
}

func (a *attempt) silent(stage int) fault {
	owner := a.owner(stage)
	return fault{owner, fmt.Sprintf("%s has not passed on batch %d", a.s.Name(owner), stage)}
}
