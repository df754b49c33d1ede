package mixnet

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"choir/protocol"
)

// TestHonestSession: every report arrives once, whatever the order, with messages delivered twice.
func TestHonestSession(t *testing.T) {
	for seed := range uint64(4) {
		w, err := newWorld(seed)
		if err != nil {
			t.Fatal(err)
		}
		w.repeat = seed%2 == 1
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		for _, m := range w.members {
			if !m.over || m.end != nil {
				t.Errorf("%s: over %t, %v", m.name, m.over, m.end)
			}
			for _, n := range m.notices {
				if n.Code == protocol.NoteRefused && !errors.Is(n.Err, protocol.ErrStale) {
					t.Errorf("%s refused %s of %s: %v", m.name, n.Detail, n.Peer, n.Err)
				}
			}
		}
		if err := w.onRecord(); err != nil {
			t.Error(err)
		}
		for round := uint32(1); round <= 2; round++ {
			if got := w.received(round); !slices.Equal(got, []int{0, 1, 2, 3}) {
				t.Errorf("round %d: reports of %v", round, got)
			}
		}
	}
}

// TestRows runs the table, each row in two orders of messages of its own.
func TestRows(t *testing.T) {
	for i, row := range Rows() {
		if testing.Short() && i%6 != 0 {
			continue
		}
		t.Run(row.Who+": "+row.What, func(t *testing.T) {
			for _, seed := range []uint64{uint64(i), 1000 + uint64(i)} {
				problems, err := row.Run(seed)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range problems {
					t.Error(p)
				}
			}
		})
	}
	if n := len(Rows()); n < 50 {
		t.Errorf("only %d rows", n)
	}
}

// TestCrashes: a session in which members crash at every kind of moment ends as one without crashes, and
// nobody signs two different messages for one purpose.
func TestCrashes(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		w, err := newWorld(100 + seed)
		if err != nil {
			t.Fatal(err)
		}
		w.repeat = seed%2 == 0
		crashes := 0
		chaos := rand.New(rand.NewPCG(seed, 9))
		w.crash = func(*member, *protocol.Effects) crash {
			if crashes < 60 && chaos.IntN(8) == 0 {
				crashes++
				return crash(1 + chaos.IntN(2))
			}
			return noCrash
		}
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		for _, m := range w.members {
			if !m.over || m.end != nil {
				t.Errorf("seed %d: %s: over %t, %v", seed, m.name, m.over, m.end)
			}
			for _, n := range m.notices {
				if n.Code == protocol.NoteRefused && !errors.Is(n.Err, protocol.ErrStale) {
					t.Errorf("seed %d: %s refused %s of %s: %v", seed, m.name, n.Detail, n.Peer, n.Err)
				}
			}
		}
		if crashes < 20 {
			t.Errorf("seed %d: only %d crashes", seed, crashes)
		}
		for _, v := range w.violations() {
			t.Error(v)
		}
		if err := w.onRecord(); err != nil {
			t.Error(err)
		}
		for round := uint32(1); round <= 2; round++ {
			if got := w.received(round); !slices.Equal(got, all) {
				t.Errorf("seed %d: round %d: reports of %v", seed, round, got)
			}
		}
	}
}

// TestCrashBetweenGoAndOpen: each node crashes with the list signed and nothing opened, and opens the
// same list; the second row crashes with its opened batch stored and not sent, and sends that one.
func TestCrashBetweenGoAndOpen(t *testing.T) {
	for _, when := range []crash{beforeStore, afterStore} {
		for k, name := range []string{"c0", "c1", "c2"} {
			w, err := newWorld(uint64(200 + k))
			if err != nil {
				t.Fatal(err)
			}
			crashed := false
			var made []byte // what the node had stored
			w.crash = func(m *member, eff *protocol.Effects) crash {
				for _, o := range eff.Send {
					b, ok := decode[*protocol.MixBatch](o.Data)
					if ok && m.name == name && b.Round == 1 && b.Stage > 3 && !crashed {
						crashed = true
						made = o.Data
						return when
					}
				}
				return noCrash
			}
			if err := w.run(); err != nil {
				t.Fatal(err)
			}
			if got := w.received(1); !crashed || !slices.Equal(got, all) {
				t.Errorf("%s: crashed %t, reports of %v", name, crashed, got)
			}
			sent := slices.ContainsFunc(w.log, func(o protocol.Outgoing) bool { return bytes.Equal(o.Data, made) })
			if when == afterStore && !sent {
				t.Errorf("%s sends another batch than it stored", name)
			}
			for _, v := range w.violations() {
				t.Error(v)
			}
		}
	}
}

// TestRollback: a node whose store is an older copy reads its own later message, and stops.
func TestRollback(t *testing.T) {
	w, err := newWorld(300)
	if err != nil {
		t.Fatal(err)
	}
	old := map[string][]byte{}
	w.crash = func(m *member, eff *protocol.Effects) crash {
		for _, o := range eff.Send {
			if b, ok := decode[*protocol.MixBatch](o.Data); ok && m.name == "c1" && b.Stage == 2 && len(old) == 0 {
				old = maps.Clone(m.store) // before this batch
			}
		}
		return noCrash
	}
	if err := w.run(); err != nil {
		t.Fatal(err)
	}
	c1 := w.members[5]
	c1.store, c1.over, c1.next = old, false, 0
	if err := w.start(5); err != nil {
		t.Fatal(err)
	}
	for !c1.over && c1.next < len(w.log) {
		if moved, err := w.deliver(); err != nil || !moved {
			t.Fatal(moved, err)
		}
	}
	if protocol.ClassOf(c1.end) != protocol.ClassIntegrity || !strings.Contains(c1.end.Error(), "older copy") {
		t.Errorf("c1 ended with %v", c1.end)
	}
}

// TestTranscript: a transcript in which a bit of any entry is flipped, an entry of the list or a report is
// replaced by another of the same session, or a result is missing, is not accepted.
func TestTranscript(t *testing.T) {
	w, err := newWorld(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.run(); err != nil {
		t.Fatal(err)
	}
	store := w.members[7].store
	whole := maps.Clone(store)
	refuses := func(what string, change func()) {
		t.Helper()
		change()
		if w.onRecord() == nil {
			t.Errorf("accepted with %s", what)
		}
		maps.Copy(store, whole)
	}
	keys := w.members[7].Keys("transcript/")
	for i, key := range keys {
		refuses(key+" altered", func() {
			b := bytes.Clone(whole[key])
			b[(37*i+11)%len(b)] ^= 1 << (i % 8)
			store[key] = b
		})
		if b := whole[key]; b[0] == 67 { // the opened reports: one length for all
			size := (len(b) - 1) / 4
			refuses("reports in another order", func() {
				store[key] = slices.Concat(b[:1], b[1+size:1+2*size], b[1:1+size], b[1+2*size:])
			})
			refuses("no reports", func() { delete(store, key) })
		}
	}
	refuses("no last result", func() { delete(store, keys[len(keys)-1]) })
	if err := w.onRecord(); err != nil {
		t.Error(err)
	}
}

// TestSuspects: the record of a void attempt has what shows the fault, so that the aggregator can't name
// another member in its result, or none.
func TestSuspects(t *testing.T) {
	for _, what := range []string{"one onion more", "no keys", "agreement without the parties"} {
		i := slices.IndexFunc(Rows(), func(r Row) bool { return r.What == what })
		row := Rows()[i]
		w, err := row.world(5)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		agg := w.members[7]
		var void string
		var result *protocol.MixResult
		for _, key := range agg.Keys("transcript/") {
			if m, ok := decode[*protocol.MixResult](agg.store[key]); ok && m.Suspect != protocol.Everyone {
				void, result = key, m
			}
		}
		if err := w.onRecord(); err != nil || result == nil {
			t.Fatalf("%s: %v", what, err)
		}
		own := agg.store[void]
		for _, other := range []uint32{4, 5, 6, protocol.Everyone} {
			// Of silence nobody may be suspected.
			silent := other == protocol.Everyone && what != "one onion more"
			if other == result.Suspect || silent {
				continue
			}
			altered := *result
			altered.Suspect = other
			if agg.store[void], err = w.s.Sign(w.keys[7], 7, &altered); err != nil {
				t.Fatal(err)
			}
			if err := w.onRecord(); err == nil || !strings.Contains(err.Error(), "suspects") {
				t.Errorf("%s: member %d in place of %d: %v", what, other, result.Suspect, err)
			}
		}
		agg.store[void] = own
	}
}

// TestSuspended: processes that are stopped together for longer than all deadlines, at any moment, go on as
// if no time had passed. No member is taken as silent because its messages were not read in time.
func TestSuspended(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 7
	}
	for moment := 0; ; moment += stride {
		w, err := newWorld(500)
		if err != nil {
			t.Fatal(err)
		}
		messages := -1
		w.suspend = func() bool {
			messages++
			return messages == moment
		}
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		if messages < moment {
			return
		}
		var outcomes []string
		for _, o := range w.log {
			if m, ok := decode[*protocol.MixResult](o.Data); ok {
				outcomes = append(outcomes, m.Outcome.String()+": "+m.Reason)
			}
		}
		if !slices.Equal(outcomes, []string{"accepted: ", "accepted: "}) || !slices.Equal(w.received(1), all) ||
			!slices.Equal(w.received(2), all) {
			t.Errorf("stopped before message %d: %q, reports of %v and %v", moment, outcomes, w.received(1),
				w.received(2))
		}
	}
}

// TestFaultThatOneNodeSees: a node that gets a description that cannot be right, of which others have a
// right version, cannot go on. It complains, and is not suspected of silence.
func TestFaultThatOneNodeSees(t *testing.T) {
	wrong := func(m *protocol.MixBatch) bool { return len(m.Repeated) > 0 }
	row := Row{Who: "c0", What: "a wrong description for one node", comes: voided("", nil, ""),
		does: func(c *cheat) {
			each(c, func(m *protocol.MixBatch, o protocol.Outgoing) []protocol.Outgoing {
				if !first(m) || m.Stage != 1 {
					return []protocol.Outgoing{o}
				}
				m.Repeated = []uint32{0}
				return []protocol.Outgoing{o, {Subject: o.Subject, Data: c.sign(m)}}
			})
		},
		shown: func(to string, data []byte) bool {
			m, ok := decode[*protocol.MixBatch](data)
			return !ok || !first(m) || m.Stage != 1 || wrong(m) == (to == "c1")
		}}
	problems, err := row.Run(7)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// TestComplaintBeforeDescription: a complaint that reaches the aggregator before the description of the batch
// that it is about counts as any other: its piece proves what it proves.
func TestComplaintBeforeDescription(t *testing.T) {
	for i, row := range Rows() {
		if row.What != "a false complaint with a piece that is right" &&
			row.What != "other entries than it describes" {
			continue
		}
		w, err := row.world(uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		w.late = func(member string, data []byte) bool {
			b, ok := decode[*protocol.MixBatch](data)
			return ok && member == "agg" && first(b) && b.Stage == 2
		}
		if err := w.run(); err != nil {
			t.Fatal(err)
		}
		for _, p := range row.judge(w) {
			t.Errorf("%s: %s: %s", row.Who, row.What, p)
		}
	}
}
