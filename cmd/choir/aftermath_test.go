package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"choir/host"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/member"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// aftermath checks the files of a session of processes.
type aftermath struct {
	t      *testing.T
	dir    string
	rounds int
	s      protocol.BoundPlan
	seen   map[string][]byte // the first message for each purpose
	counts map[protocol.Kind]int
}

func (a *aftermath) check(k *killRun) {
	sp, err := terms.ReadPlan(filepath.Join(a.dir, "plan.choir"))
	if err != nil {
		a.t.Fatal(err)
	}
	a.s = protocol.Bind(sp.Plan)
	a.seen, a.counts = map[string][]byte{}, map[protocol.Kind]int{}
	a.history()
	a.compare()
	for i := range sp.Plan.Parties() {
		name := a.s.Name(uint32(i))
		entries := a.ledger(filepath.Join(a.dir, "members", name, "store.db"))
		a.charges(name, entries)
		for _, old := range k.olds[name] {
			a.grown(name, a.ledger(old), entries)
			k.mu.Lock()
			k.prefixes++
			k.mu.Unlock()
		}
	}
	a.reveals(sp.Plan)
}

// ledger reads and verifies the chain in a party's store.
func (a *aftermath) ledger(path string) (stored [][]byte) {
	a.t.Helper()
	f, err := host.OpenFile(path)
	if err != nil {
		a.t.Fatal(err)
	}
	defer f.Close()
	for _, key := range f.Keys("ledger/") {
		stored = append(stored, f.Get(key))
	}
	if _, err := ledger.Open(stored); err != nil {
		a.t.Errorf("%s: %v", path, err)
	}
	return stored
}

// charges: one for every (round, attempt) that the party contributed to, no more.
func (a *aftermath) charges(name string, stored [][]byte) {
	charged := map[string]bool{}
	for _, b := range stored {
		var e ledger.Entry
		if err := e.Unmarshal(b); err != nil {
			a.t.Fatal(err)
		}
		charged[fmt.Sprintf("%d/%d", e.Charge.Round, e.Charge.Attempt)] = true
	}
	if len(stored) != a.rounds || len(charged) != a.rounds {
		a.t.Errorf("%s: %d charges for %d attempts in %d rounds", name, len(stored), len(charged), a.rounds)
	}
	for r := range a.rounds {
		if !charged[fmt.Sprintf("%d/1", r+1)] {
			a.t.Errorf("%s: round %d isn't charged", name, r+1)
		}
	}
}

// grown: what was charged before a kill is charged still.
func (a *aftermath) grown(name string, before, after [][]byte) {
	if len(before) > len(after) {
		a.t.Errorf("%s: the ledger shrank from %d to %d entries", name, len(before), len(after))
		return
	}
	for i, b := range before {
		if !bytes.Equal(b, after[i]) {
			a.t.Errorf("%s: entry %d of the ledger changed", name, i)
		}
	}
}

// history reads everything that the broker was ever given, and refuses two
// different messages for one purpose.
func (a *aftermath) history() {
	server, err := embedded.Start(embedded.Config{StoreDir: filepath.Join(a.dir, "broker", "store")})
	if err != nil {
		a.t.Fatal(err)
	}
	defer server.Shutdown()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	bus, err := natsbus.Open(ctx, natsbus.Config{Server: server, Plan: a.s.ID.Short(), Name: "reader"})
	if err != nil {
		a.t.Fatal(err)
	}
	defer bus.Close()
	sub, err := bus.Subscribe(ctx, []string{"choir." + a.s.ID.Short() + ".>"}, 1)
	if err != nil {
		a.t.Fatal(err)
	}
	end := "choir." + a.s.ID.Short() + ".end" // all other writers have ended
	if err := bus.Publish(ctx, transport.Message{Subject: end}); err != nil {
		a.t.Fatal(err)
	}
	for {
		m, err := sub.Next(ctx)
		if err != nil {
			a.t.Fatal(err)
		}
		if m.Subject == end {
			return
		}
		a.once(m.Data)
	}
}

func (a *aftermath) once(data []byte) {
	key, kind := "", protocol.KindChunk
	if protocol.IsChunk(data) {
		c, err := protocol.UnmarshalChunk(data)
		if err != nil {
			a.t.Fatal(err)
		}
		key = fmt.Sprintf("chunk %v %d", c.Context, c.Index)
	} else {
		e, m, err := a.s.Receive(data)
		if err != nil {
			a.t.Fatal(err)
		}
		kind = e.Kind
		if key = purpose(e.From, m); key == "" {
			return
		}
	}
	if have, ok := a.seen[key]; !ok {
		a.seen[key] = data
		a.counts[kind]++
	} else if !bytes.Equal(have, data) {
		a.t.Errorf("said twice, differently: %s", key)
	}
}

// purpose names what a member may sign only once; a Partial is by round: there
// must not be two, whatever their attempts.
func purpose(from uint32, m protocol.Message) string {
	switch m := m.(type) {
	case *protocol.Contribution:
		return fmt.Sprintf("contribution %d %d %d", from, m.Round, m.Attempt)
	case *protocol.Partial:
		return fmt.Sprintf("partial %d %d", from, m.Round)
	case *protocol.Agree:
		return fmt.Sprintf("agree %d %d %d", from, m.Round, m.Attempt)
	case *protocol.Hold:
		return fmt.Sprintf("hold %d %d %d", from, m.Round, m.Attempt)
	case *protocol.Result:
		return fmt.Sprintf("result %d %d %d", from, m.Round, m.Attempt)
	}
	return ""
}

// compare: the history is all there, so that it could have shown a fault.
func (a *aftermath) compare() {
	p := a.s.Plan
	for kind, want := range map[protocol.Kind]int{
		protocol.KindContribution: p.Parties() * a.rounds, protocol.KindAgree: p.Computes() * a.rounds,
		protocol.KindPartial: p.Computes() * a.rounds, protocol.KindResult: a.rounds,
	} {
		if a.counts[kind] != want {
			a.t.Errorf("%s: %d in the broker's history, want %d", kind, a.counts[kind], want)
		}
	}
}

// reveals: every node recorded one reveal for each round; where it still has
// what it revealed, that is what went out.
func (a *aftermath) reveals(p *protocol.Plan) {
	for k := range p.Computes() {
		i := p.Compute(k)
		f, err := member.OpenStore(filepath.Join(a.dir, "members", a.s.Name(i), "store.db"), a.s)
		if err != nil {
			a.t.Fatal(err)
		}
		keys := f.Keys("reveal/")
		if len(keys) != a.rounds {
			a.t.Errorf("%s recorded %d reveals in %d rounds", a.s.Name(i), len(keys), a.rounds)
		}
		for _, key := range keys {
			round, err := protocol.KeyNumber(key)
			if err != nil {
				a.t.Fatal(err)
			}
			stored := f.Get(key)
			if len(stored) == 0 {
				continue // the result came: the fact stays, the vector went
			}
			if !bytes.Equal(stored, a.seen[fmt.Sprintf("partial %d %d", i, round)]) {
				a.t.Errorf("%s: what it recorded for round %d isn't what it said", a.s.Name(i), round)
			}
		}
		if err := f.Close(); err != nil {
			a.t.Fatal(err)
		}
	}
}
