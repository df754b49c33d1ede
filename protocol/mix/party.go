package mix

import (
	"encoding/binary"
	"fmt"
	"slices"

	"choir/protocol"
)

// party draws its reports once in each round, also if the round has several attempts, of which one at
// most is opened.
type party struct {
	*machine
	report []byte   // those of the round, in the order of the onions
	of     uint32   // the round
	looked *attempt // whose batches this party has searched
	until  int      // the number of batches that it has searched
	gone   bool     // its entry is lost
}

func (p *party) restore() error {
	if l := p.cfg.Ledger; l != nil {
		for _, key := range p.cfg.View.Keys("ledger/") {
			if err := l.Append(p.cfg.View.Get(key)); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	if b := p.cfg.View.Get("mix/report"); len(b) > 4 {
		p.of = binary.BigEndian.Uint32(b)
		p.report = b[4:]
	}
	return nil
}

func (p *party) due() int64 { return 0 }

func (p *party) advance() {
	a := p.at
	if a == nil || !a.keysKnown() {
		return
	}
	p.look()
	switch {
	case a.fault != nil || a.batches[0] != nil:
	case p.of != a.round:
		p.propose()
	case !p.own[slot{kind: protocol.KindOnion, from: p.self}]:
		p.send()
	}
}

// propose asks for the round's reports.
func (p *party) propose() {
	if p.proposing {
		return
	}
	if p.cfg.Ledger != nil {
		if _, _, err := p.cfg.Ledger.Charge(p.at.round, p.at.attempt); err != nil {
			p.finish(err)
			return
		}
	}
	p.proposing = true
	p.eff.Propose = &protocol.Work{Round: p.at.round, Attempt: p.at.attempt}
}

// proposal charges and stores the report.
func (p *party) proposal(e protocol.Proposal) {
	if p.at == nil || !p.proposing || p.at.batches[0] != nil || e.Round != p.at.round ||
		e.Attempt != p.at.attempt {
		return
	}
	p.proposing = false
	report, err := p.shuffled(e)
	if err == nil {
		err = p.charge()
	}
	if err != nil {
		p.finish(err)
		return
	}
	p.of = p.at.round
	p.report = report
	p.eff.Replace("mix/report", append(binary.BigEndian.AppendUint32(nil, p.of), p.report...))
}

// shuffled returns the reports of a proposal in a random order, so that nothing tells which of the party's
// records each is of, even if all nodes collude.
func (p *party) shuffled(e protocol.Proposal) ([]byte, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	dim, least, most := int(p.s.Plan.Dim), p.at.least, p.at.most
	n := len(e.Update) / dim
	if len(e.Update) != n*dim || n < least || n > most {
		return nil, fmt.Errorf("%d numbers are not %d to %d reports of %d", len(e.Update), least, most, dim)
	}
	order, err := permutation(n, p.cfg.Rand)
	var report []byte
	for _, i := range order {
		report = protocol.AppendInts(report, e.Update[i*dim:(i+1)*dim])
	}
	return report, err
}

func (p *party) charge() error {
	if p.cfg.Ledger == nil {
		return nil
	}
	entry, seq, err := p.cfg.Ledger.Charge(p.at.round, p.at.attempt)
	if err != nil || entry == nil {
		return err
	}
	if err := p.cfg.Ledger.Append(entry); err != nil {
		return err
	}
	p.eff.Put(fmt.Sprintf("ledger/%08d", seq), entry)
	return nil
}

// send seals the reports for this attempt.
func (p *party) send() {
	a := p.at
	tamper := p.cfg.Tamper
	if tamper == nil {
		tamper = func(_ int, content []byte) []byte { return content }
	}
	onions, trails, err := a.makeOnions(p.report, p.self, p.cfg.Rand, tamper)
	if err != nil {
		p.finish(err)
		return
	}
	var b []byte
	for _, t := range trails {
		for _, d := range t {
			b = append(b, d[:]...)
		}
	}
	p.setSecrets([][]byte{b})
	p.last = nil
	for i, piece := range a.divide(0, onions) {
		p.say(p.s.SubjectOnion(p.self), &protocol.Onion{Round: a.round, Attempt: a.attempt,
			Entries: uint32(len(onions)), Index: uint32(i), Keys: a.digest, Sealed: piece})
	}
	p.eff.Note(protocol.Notice{Code: protocol.NoteContributed, Round: a.round, Attempt: a.attempt})
}

// look looks for the party's entries in the batches that have become known, and signs "go" if all are in
// the list. If one is lost, only the party's operator is told where: a message about it would tell others
// which party sent the entry that is missing.
func (p *party) look() {
	a := p.at
	if p.looked != a {
		p.looked = a
		p.until = 0
		p.gone = false
	}
	for ; p.until <= 2*a.nodes && a.batches[p.until] != nil && !p.over; p.until++ {
		if p.gone {
			continue
		}
		if why := p.missing(p.until); why != "" {
			p.gone = true
			p.lost(a.owner(p.until), fmt.Sprintf("batch %d lacks an entry of this party: %s", p.until, why))
		} else if p.until == a.nodes && a.fault == nil && !p.own[slot{kind: protocol.KindMixGo, from: p.self}] {
			p.last = nil
			p.say(p.s.SubjectMixGo(p.self), &protocol.MixGo{Round: a.round, Attempt: a.attempt, List: a.list})
		}
	}
}

// missing returns why an entry of the party is not in a batch, "" if all are.
func (p *party) missing(stage int) string {
	a := p.at
	size := 16 * (a.nodes + 1) // of a trail
	if len(p.secrets) != 1 || len(p.secrets[0]) == 0 || len(p.secrets[0])%size != 0 {
		return "it sent none in time"
	}
	positions := map[protocol.MixDigest]int{}
	for i, d := range a.batches[min(stage, a.nodes)].Digests {
		positions[d] = i
	}
	for t := p.secrets[0]; len(t) > 0; t = t[size:] {
		position, in := positions[protocol.MixDigest(t[16*min(stage, a.nodes):])]
		switch {
		case !in && stage == 0:
			return "it reached the node too late, or the node left it out"
		case !in:
			return "the node left it out or replaced it"
		}
		if stage > a.nodes {
			if _, failed := slices.BinarySearch(a.batches[stage].Failed, uint32(position)); failed {
				return "the node claims that it does not open"
			}
		}
	}
	return ""
}

func (p *party) lost(node uint32, why string) {
	p.eff.Note(protocol.Notice{Code: protocol.NoteUncounted, Round: p.at.round, Attempt: p.at.attempt,
		Peer: p.s.Name(node), Detail: why})
}
