package party

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/protocol"
)

// onward is an application whose model is not the sum.
type onward struct{ flat }

func (onward) Fold(_ uint32, model, sum []int64) ([]int64, error) {
	next := slices.Clone(model)
	for i := range next {
		next[i] += sum[i] + 1
	}
	return next, nil
}

// orders are orders of three chunks: in order, with one in its place, with none.
var orders = [][]int{{0, 1, 2}, {0, 2, 1}, {1, 2, 0}}

// TestResultsInAnyOrder: for any order of a result's chunks, also with a crash between them, the
// party has the model that follows, and stores its packed form: if the sum is the model, if it
// leads to it, and if it is of pairs.
func TestResultsInAnyOrder(t *testing.T) {
	for name, c := range map[string]struct {
		dim    int
		paired bool
		orders [][]int
		app    func(flat) protocol.Application
	}{
		"the sum is the model": {dim: 2*65536 + 5, paired: false, orders: orders,
			app: func(a flat) protocol.Application { return a }},
		"it leads to it": {dim: 2*65536 + 5, paired: false, orders: orders[1:2],
			app: func(a flat) protocol.Application { return onward{a} }},
		"pairs": {dim: 4*65536 + 5, paired: true, orders: orders[2:],
			app: func(a flat) protocol.Application { return a }},
	} {
		t.Run(name, func(t *testing.T) {
			update := someUpdate(c.dim)
			for i := range update {
				update[i] >>= 16 // pairs hold it as well
			}
			for i, order := range c.orders {
				r := newRig(t, c.dim, func(p *protocol.Plan, cfg *Config) {
					cfg.Ahead = -1
					cfg.App = c.app(flat{c.dim})
					p.Paired = c.paired
					p.PerParty = 1 << 29
					p.Variance = 1 << 20
				})
				want, err := r.cfg.App.Fold(1, r.p.Model(), update)
				if err != nil {
					t.Fatal(err)
				}
				chunks := r.announced(update, want)
				for j, at := range order {
					if j == i+1 {
						r.boot()
					}
					r.deliver(chunks[at])
				}
				for restart := range 2 {
					if r.p.Settled() != 1 || !slices.Equal(r.p.Model(), want) {
						t.Fatalf("chunks %v, restart %d: %d rounds settled, or another model", order, restart,
							r.p.Settled())
					}
					if !bytes.Equal(r.Store["model"], protocol.PackInts(want)) {
						t.Fatalf("chunks %v: another model is stored", order)
					}
					r.boot()
				}
			}
		})
	}
}

// announced delivers all of a result but its chunks, with the nodes' Confirms, and returns the chunks.
func (r *rig) announced(update, next []int64) [][]byte {
	r.TB.Helper()
	head, confirms, chunks := r.concluded(update, next)
	for _, b := range append(confirms, r.Sign(r.agg(), head)) {
		r.deliver(b)
	}
	return chunks
}

// concluded returns a result of the first attempt over the other two parties, with the nodes'
// Confirms of it and its chunks.
func (r *rig) concluded(update, next []int64) (head *protocol.Result, confirms, chunks [][]byte) {
	r.TB.Helper()
	s := r.cfg.Session
	sum, err := s.Plan.Integers(make([]int64, s.Plan.Elements()), update)
	if err != nil {
		r.TB.Fatal(err)
	}
	head = &protocol.Result{Round: 1, Attempt: 1, Outcome: protocol.OutcomeAccepted,
		Set: []protocol.Entry{{Party: 1}, {Party: 2}}, Aggregate: r.digest(1, sum), Next: r.digest(1, next),
		Partials: make([]protocol.Digest, rigNodes)}
	group, err := channel.NewSecret(make([]byte, 32)) // the rig's group key
	if err != nil {
		r.TB.Fatal(err)
	}
	openings := make([]protocol.Opening, rigNodes)
	for k := range openings {
		openings[k].Salt[0] = byte(k)
	}
	if head.Trace, err = s.SealTrace(group, s.ResultContext(group, head), openings); err != nil {
		r.TB.Fatal(err)
	}
	chunks = r.published(sum)
	for _, b := range chunks {
		c, err := protocol.UnmarshalChunk(b)
		if err != nil {
			r.TB.Fatal(err)
		}
		head.Chunks = append(head.Chunks, protocol.NewChunkHash().Digest(c.Ciphertext))
	}
	return head, r.confirmed(head, sum, openings), chunks
}

// confirmed returns the nodes' Confirms of a result. The sum is the first node's, and the others
// have zeros.
func (r *rig) confirmed(head *protocol.Result, sum []int64, openings []protocol.Opening) (confirms [][]byte) {
	r.TB.Helper()
	digest, err := protocol.ResultDigest(head)
	if err != nil {
		r.TB.Fatal(err)
	}
	for k := range rigNodes {
		m := &protocol.Confirm{Round: head.Round, Attempt: head.Attempt, Result: digest}
		if openings != nil {
			f := r.cfg.Session.Fingerprint(digest)
			if v := make(field.Vector, len(sum)); k == 0 {
				v.SetSigned(sum)
				f.Write(v)
			}
			m.Value = openings[k].Value(f)
		}
		confirms = append(confirms, r.Sign(r.Node(k), m))
	}
	return confirms
}

// void delivers a void result of an attempt of the first round, and the nodes' Confirms of it.
func (r *rig) void(attempt uint32) {
	r.TB.Helper()
	head := &protocol.Result{Round: 1, Attempt: attempt, Outcome: protocol.OutcomeVoid}
	for _, b := range append(r.confirmed(head, nil, nil), r.Sign(r.agg(), head)) {
		r.deliver(b)
	}
}

// TestForgedChunks checks that a chunk that the result does not list, which any holder of the group
// key can seal, changes nothing: before the genuine one or after it, when the sum is whole, if it
// comes before the group key, and across a restart.
func TestForgedChunks(t *testing.T) {
	const dim = 65536 + 5
	update := someUpdate(dim)
	forged := slices.Clone(update)
	forged[0]++
	forged[dim-1]++
	for name, order := range map[string]string{ // a capital letter is a forged chunk, "!" a restart
		"genuine first":         "aAb",
		"forged first":          "Aab",
		"forged and restart":    "A!ab",
		"whole sum":             "Aba",
		"whole sum and restart": "Ab!a",
		"forged again":          "AbAa",
		"last chunk":            "aBAb",
		"all":                   "BAab",
	} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, group key late: %t", name, late), func(t *testing.T) {
				r := newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Ahead = -1 })
				if late {
					r.loseGroup()
				}
				chunks, other := r.announced(update, update), r.published(forged)
				for _, c := range order {
					switch {
					case c == '!':
						r.boot()
					case c < 'a':
						r.deliver(other[c-'A'])
					default:
						r.deliver(chunks[c-'a'])
					}
				}
				if late {
					r.regainGroup()
				}
				if r.p.Settled() != 1 || !slices.Equal(r.p.Model(), update) {
					t.Errorf("%d rounds settled, or another model", r.p.Settled())
				}
			})
		}
	}
}

// TestFloodOfChunks: what waits for the group key is bounded over all attempts, what does not open makes
// room when the key has come, and the genuine result is settled all the same.
func TestFloodOfChunks(t *testing.T) {
	const dim, rounds, attempts = 50, 8, 20
	update := someUpdate(dim)
	r := newRig(t, dim, func(p *protocol.Plan, c *Config) {
		p.Rounds, p.SpareAttempts, c.Ahead = rounds, attempts-1, -1
	})
	r.loseGroup()
	chunks := r.announced(update, update)
	for round := range uint32(rounds) {
		for attempt := range uint32(attempts) {
			for k := range byte(maxBuffered + 1) {
				c := &protocol.Chunk{Plan: r.cfg.Session.ID.Prefix(), Last: true,
					Ciphertext: bytes.Repeat([]byte{k}, dim*8+channel.Overhead),
					Context: protocol.Context{From: r.agg(), To: protocol.Everyone, Round: round + 1,
						Attempt: attempt + 1, Purpose: protocol.PurposeResult}}
				b, err := c.Marshal()
				if err != nil {
					t.Fatal(err)
				}
				r.deliver(b)
			}
		}
	}
	most := maxResults * r.p.bound.Chunks()
	if n := r.p.buffered(); n != most || r.p.early != n {
		t.Errorf("%d chunks wait, %d by the count, want %d", n, r.p.early, most)
	}
	if n := len(r.p.results); n > most+1 {
		t.Errorf("%d attempts are known", n)
	}
	r.regainGroup()
	if n := r.p.buffered(); n != 0 || r.p.early != 0 {
		t.Errorf("%d chunks wait that don't open, %d by the count", n, r.p.early)
	}
	for _, c := range chunks {
		r.deliver(c)
	}
	if r.p.Settled() != 1 || !slices.Equal(r.p.Model(), update) {
		t.Errorf("%d rounds settled, or another model", r.p.Settled())
	}
}

// regainGroup delivers the group key to a party without one, which has settled nothing.
func (r *rig) regainGroup() {
	r.TB.Helper()
	sealed, err := r.cfg.Session.SealGroup(r.secret(r.agg()), 0, make([]byte, 32))
	if err != nil {
		r.TB.Fatal(err)
	}
	if r.p.Settled() != 0 {
		r.TB.Fatal("settled without the group key")
	}
	r.deliver(r.Sign(r.agg(), &protocol.Group{To: 0, Sealed: sealed}))
}

// TestUnconfirmedResult checks that a party computes with a result that not all nodes have
// confirmed, but stores and sends nothing that follows from it, also across a restart; that it
// settles with the last Confirm; and that it stops at a Confirm of another result or another sum,
// with the model before.
func TestUnconfirmedResult(t *testing.T) {
	const dim = 50
	update := someUpdate(dim)
	for what, last := range map[string]func(m *protocol.Confirm){
		"confirmed":      func(*protocol.Confirm) {},
		"another sum":    func(m *protocol.Confirm) { m.Value[0] ^= 1 },
		"another result": func(m *protocol.Confirm) { m.Result[0] ^= 1 },
		"no channel":     func(m *protocol.Confirm) { m.Key, m.For = 2, []uint32{0} },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Ahead = -1 })
			head, confirms, chunks := r.concluded(update, update)
			for _, b := range slices.Concat([][]byte{r.Sign(r.agg(), head)}, chunks, confirms[1:]) {
				r.deliver(b)
			}
			digest, err := protocol.ResultDigest(head)
			if err != nil {
				t.Fatal(err)
			}
			r.boot()
			next := &protocol.Round{Round: 2, Attempt: 1, Model: head.Next, Last: digest}
			eff := r.step(protocol.Delivery{Data: r.Sign(r.agg(), next)})
			if eff.Propose == nil || !slices.Equal(eff.Propose.Model, update) {
				t.Fatal("the party does not go on computing")
			}
			eff = r.step(protocol.Proposal{Round: 2, Attempt: 1, Update: update, Memo: []byte("memo")})
			if len(eff.Send) > 0 || r.Store["settled"] != nil || r.Store["outbox"] != nil {
				t.Fatalf("%d messages leave before the result is confirmed", len(eff.Send))
			}
			_, m, err := r.cfg.Session.Receive(confirms[0])
			if err != nil {
				t.Fatal(err)
			}
			last(m.(*protocol.Confirm))
			eff = r.ends(protocol.Delivery{Data: r.Sign(r.Node(0), m)})
			if what == "no channel" {
				r.linkAgain(update, eff)
				return
			}
			if what == "confirmed" {
				if r.p.Settled() != 1 || r.Store["settled"] == nil || len(eff.Send) == 0 {
					t.Errorf("%d rounds are settled, %d messages leave", r.p.Settled(), len(eff.Send))
				}
				return
			}
			if !eff.Done || protocol.ClassOf(eff.Err) != protocol.ClassIntegrity || len(eff.Send) > 0 ||
				r.p.Settled() != 0 || !slices.Equal(r.p.Model(), make([]int64, dim)) || r.Store["settled"] != nil {
				t.Errorf("%v; %d rounds are settled", eff.Err, r.p.Settled())
			}
		})
	}
}

// linkAgain checks that a party contributes to round 2, after a node has confirmed round 1 and that it
// has no channel of the party, when the party has opened one to the node's next key.
func (r *rig) linkAgain(update []int64, eff protocol.Effects) {
	r.TB.Helper()
	if r.p.Settled() != 1 || len(eff.Send) > 0 {
		r.TB.Errorf("%d rounds are settled, %d messages leave", r.p.Settled(), len(eff.Send))
	}
	for range 2 {
		r.propose2(update)
		if len(r.contribution(0)) > 0 {
			r.TB.Fatal("it contributes over a channel that the node does not have")
		}
		r.boot()
	}
	r.Now += 1 << 20
	at := len(r.sent)
	if r.step(protocol.Tick{}); len(r.sent) == at {
		r.TB.Error("it does not ask for the key")
	}
	r.propose2(update)
	r.deliver(r.Sign(r.Node(0), &protocol.Key{Number: 2, Public: []byte{byte(r.Node(0)), 2}, NotAfter: 1 << 40,
		For: []uint32{0, 1}}))
	if r.run(); len(r.contribution(0)) == 0 {
		r.TB.Error("it does not contribute over the next channel")
	}
	r.boot()
	if !r.p.linked() {
		r.TB.Error("after a restart it waits for another key")
	}
}

// propose2 is propose for round 2.
func (r *rig) propose2(update []int64) {
	r.step(protocol.Proposal{Round: 2, Attempt: 1, Update: update, Memo: []byte("memo")})
}

// TestLateForAVoidAttempt: an update that is done when its attempt is void is neither charged nor sent.
func TestLateForAVoidAttempt(t *testing.T) {
	r := newRig(t, 50, func(*protocol.Plan, *Config) {})
	r.open(1)
	head := &protocol.Result{Round: 1, Attempt: 1, Outcome: protocol.OutcomeVoid}
	for _, b := range append(r.confirmed(head, nil, nil), r.Sign(r.agg(), head)) {
		r.deliver(b)
	}
	for range 2 {
		r.propose(1, someUpdate(50))
		if eff := r.open(1); eff.Propose != nil || len(r.contribution(0)) > 0 || r.Store["outbox"] != nil {
			t.Fatal("it contributes to a void attempt")
		}
		r.boot()
	}
	if eff := r.open(2); eff.Propose == nil {
		t.Error("it does not compute for the next attempt")
	}
}

// TestVoidOnAWord checks that a void result is believed with the Confirms of all nodes only. Until
// then the party keeps what its contribution is derived from and sends none to another attempt, and
// a result of the attempt still counts it.
func TestVoidOnAWord(t *testing.T) {
	r := newRig(t, 50, func(*protocol.Plan, *Config) {})
	update := someUpdate(50)
	r.open(1)
	r.propose(1, update)
	head := &protocol.Result{Round: 1, Attempt: 1, Outcome: protocol.OutcomeVoid}
	confirms := r.confirmed(head, nil, nil)
	r.deliver(r.Sign(r.agg(), head))
	r.deliver(confirms[0])
	r.deliver(confirms[1])
	r.open(2)
	at := len(r.sent)
	r.propose(2, update)
	r.boot()
	r.open(2)
	r.propose(2, update)
	for _, b := range r.sent[at:] {
		if _, m, err := r.cfg.Session.Receive(b); err == nil {
			if c, ok := m.(*protocol.Contribution); ok && c.Attempt == 2 {
				t.Fatal("a contribution to another attempt leaves")
			}
		}
	}
	if r.Store["memo"] == nil || r.p.own == nil || r.p.own.attempt != 1 {
		t.Fatal("the contribution to the first attempt is gone")
	}
	r.deliver(confirms[2])
	if r.p.own == nil || r.p.own.attempt != 2 {
		t.Error("the party does not contribute after the attempt is void")
	}
}

// TestDeniedVoid checks that a void result of which a node confirms another one is not believed, and that the
// party's operator is told that the aggregator or the node lies, since nothing shows which: a broker that
// is with the aggregator can show an honest node another result.
func TestDeniedVoid(t *testing.T) {
	r := newRig(t, 50, func(*protocol.Plan, *Config) {})
	r.open(1)
	r.propose(1, someUpdate(50))
	head := &protocol.Result{Round: 1, Attempt: 1, Outcome: protocol.OutcomeVoid}
	confirms := r.confirmed(head, nil, nil)
	r.deliver(r.Sign(r.agg(), head))
	r.deliver(confirms[0])
	r.deliver(confirms[1])
	node := r.Node(2)
	eff := r.step(protocol.Delivery{Data: r.Sign(node, &protocol.Confirm{Round: 1, Attempt: 1})})
	if len(eff.Notices) != 1 {
		t.Fatalf("%+v", eff.Notices)
	}
	n := eff.Notices[0]
	why := n.Err.Error()
	for _, member := range []uint32{r.agg(), node} {
		if name := r.Session.Name(member); n.Peer != "" || !strings.Contains(why, name) {
			t.Errorf("%q: %s; want both named, and %s among them", n.Peer, why, name)
		}
	}
	if r.Store["memo"] == nil || r.p.own == nil {
		t.Error("the contribution is gone")
	}
}

// TestAnotherNextModelIsRejected: a party does not accept a model without recomputing it.
func TestAnotherNextModelIsRejected(t *testing.T) {
	for name, app := range map[string]func(flat) protocol.Application{
		"the sum is the model": func(a flat) protocol.Application { return a },
		"it leads to it":       func(a flat) protocol.Application { return onward{a} },
	} {
		t.Run(name, func(t *testing.T) {
			const dim = 50
			r := newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Ahead, c.App = -1, app(flat{dim}) })
			update := someUpdate(dim)
			chunks := r.announced(update, make([]int64, dim))
			if eff := r.ends(protocol.Delivery{Data: chunks[0]}); !eff.Done ||
				protocol.ClassOf(eff.Err) != protocol.ClassIntegrity || r.p.Settled() != 0 {
				t.Errorf("%v, %d rounds settled", eff.Err, r.p.Settled())
			}
		})
	}
}
