package party

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"choir/crypto/xof"
	"choir/protocol"
)

// someUpdate returns an update that packs to five bytes a coordinate.
func someUpdate(dim int) []int64 {
	r, u := rand.New(rand.NewPCG(1, 2)), make([]int64, dim)
	for i := range u {
		u[i] = r.Int64N(1<<36) - 1<<35
	}
	return u
}

func oneChunk(*protocol.Plan, *Config) {}

// narrow makes a party send one chunk in each step.
func narrow(_ *protocol.Plan, c *Config) { c.Window = 1 }

func sameMessages(t *testing.T, what string, got, want [][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d messages, not %d", what, len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("%s: message %d differs", what, i)
		}
	}
}

// TestContributionIsReproducible: a retransmission, and a restart after a crash at any step,
// send exactly the same bytes as before, in windows of any size.
func TestContributionIsReproducible(t *testing.T) {
	const dim = 3*xof.ChunkElements + 10
	update := someUpdate(dim)
	for name, change := range map[string]func(*protocol.Plan, *Config){
		"whole":        oneChunk,
		"chunk a step": narrow,
		"not ahead":    func(_ *protocol.Plan, c *Config) { c.Ahead, c.Window = -1, 1 },
		"no noise": func(p *protocol.Plan, c *Config) {
			p.Noise = protocol.NoiseNone
			p.Variance = 0
			c.Window = 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, dim, change)
			r.open(1)
			at := len(r.sent)
			r.propose(1, update)
			r.run()
			first := r.contribution(at)
			if len(first) != 5 {
				t.Fatalf("%d messages, want 4 chunks and a manifest", len(first))
			}
			for _, want := range [][][]byte{first[4:], first, first[4:], first} { // the manifest alone, then all
				at, r.Now = len(r.sent), r.wake // the intervals double
				r.step(protocol.Tick{})
				r.run()
				sameMessages(t, "resend", r.contribution(at), want)
			}
			at = len(r.sent)
			r.boot()
			r.run()
			sameMessages(t, "another life", r.contribution(at), first)
			silent := !slices.ContainsFunc(r.noise(first, update), func(x int64) bool { return x != 0 })
			if silent != (name == "no noise") {
				t.Errorf("noise is there: %t", !silent)
			}
		})
	}
}

// variants are plans with and without what makes a contribution random besides its seed.
var variants = map[string]func(*protocol.Plan, *Config){
	"noise": narrow,
	"no noise": func(p *protocol.Plan, c *Config) {
		p.Noise = protocol.NoiseNone
		p.Variance = 0
	},
	"audit": func(p *protocol.Plan, c *Config) { p.Audit = true },
}

// contributed opens the round, contributes and returns the messages.
func (r *rig) contributed(update []int64) [][]byte {
	from := len(r.sent)
	r.propose(1, update)
	r.run()
	return r.contribution(from)
}

// TestForgottenContribution: a party whose store is rolled back to before its contribution makes
// another one, of the same update, and nothing in it has a key and nonce of the first.
func TestForgottenContribution(t *testing.T) {
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			update := someUpdate(50)
			r := newRig(t, 50, change)
			r.open(1)
			before := maps.Clone(r.Store)
			first := r.contributed(update)
			clear(r.Store)
			maps.Copy(r.Store, before)
			r.boot()
			second := r.contributed(update)
			if len(first) != 2 || len(second) != 2 {
				t.Fatalf("%d and %d messages, not a chunk and a manifest each", len(first), len(second))
			}
			keys := map[protocol.Context]bool{}
			for _, messages := range [][][]byte{first, second} {
				r.noise(messages, update) // it is a whole contribution
				_, m, err := r.Session.Receive(messages[1])
				if err != nil {
					t.Fatal(err)
				}
				context := m.(*protocol.Contribution).Context(0, r.Node(0))
				if c, err := protocol.UnmarshalChunk(messages[0]); err != nil || c.Salt != context.Salt {
					t.Errorf("the chunk has another salt than the manifest (%v)", err)
				}
				keys[context] = true
			}
			if len(keys) != 2 {
				t.Error("both contributions have the same keys")
			}
		})
	}
}

// TestForgottenManifest: a manifest that is made again, because the store was rolled back to before
// it, is the same.
func TestForgottenManifest(t *testing.T) {
	for name, change := range variants {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 50, change)
			r.open(1)
			first := r.contributed(someUpdate(50))
			delete(r.Store, "head")
			at := len(r.sent)
			r.boot()
			r.run()
			sameMessages(t, "another life", r.contribution(at), first)
		})
	}
}

// TestCrashWhileSending: the process crashes after each of the steps that send. What was sent
// before and after is one contribution.
func TestCrashWhileSending(t *testing.T) {
	const dim = 3*xof.ChunkElements + 10
	update := someUpdate(dim)
	whole := newRig(t, dim, narrow)
	whole.open(1)
	at := len(whole.sent)
	whole.propose(1, update)
	whole.run()
	want := whole.contribution(at)
	for dead := range 4 {
		r := newRig(t, dim, narrow)
		r.open(1)
		at := len(r.sent)
		r.propose(1, update)
		for range dead {
			r.step(protocol.Tick{})
		}
		before := r.contribution(at)
		if len(before) < dead+1 {
			t.Fatalf("%d messages were sent before the crash, want %d", len(before), dead+1)
		}
		at = len(r.sent)
		r.boot()
		r.run()
		sameMessages(t, "before", before, want[:len(before)])
		sameMessages(t, "after", r.contribution(at), want)
	}
}

// TestChargeIsDurableBeforeSending: the charge and what the contribution is derived from are
// stored in the step that sends the first chunk, the manifest in the step that sends it.
func TestChargeIsDurableBeforeSending(t *testing.T) {
	r := newRig(t, 2*xof.ChunkElements, narrow)
	r.open(1)
	eff := r.step(protocol.Proposal{Round: 1, Attempt: 1, Update: someUpdate(2 * xof.ChunkElements)})
	for _, key := range []string{"ledger/00000000", "outbox", "attempt", "memo"} {
		if r.Store[key] == nil {
			t.Errorf("no %s with the first chunk", key)
		}
	}
	if len(eff.Send) != 1 || r.Store["head"] != nil || eff.Wake > r.Now {
		t.Errorf("%d messages, a manifest: %t, wake in %d ms", len(eff.Send),
			r.Store["head"] != nil, eff.Wake-r.Now)
	}
	r.run()
	if r.Store["head"] == nil {
		t.Error("the manifest was sent and is not durable")
	}
}

// TestReceiptsEndTheOutbox: once every node gave a receipt, the seed and the update are deleted
// and nothing is sent again.
func TestReceiptsEndTheOutbox(t *testing.T) {
	r := newRig(t, 10, oneChunk)
	r.open(1)
	r.propose(1, someUpdate(10))
	for k := range rigNodes {
		if r.Store["outbox"] == nil {
			t.Fatalf("the outbox is gone after %d receipts", k)
		}
		r.deliver(r.Sign(r.Node(k), &protocol.Receipt{Round: 1, Attempt: 1, Party: 0, Bundle: r.p.own.bundle,
			Count: 1}))
	}
	if r.Store["outbox"] != nil || r.Store["memo"] == nil || r.Store["head"] == nil {
		t.Errorf("stored: outbox %t, memo %t, manifest %t", r.Store["outbox"] != nil, r.Store["memo"] != nil,
			r.Store["head"] != nil)
	}
	at := len(r.sent)
	r.Now += 1000
	r.step(protocol.Tick{})
	r.boot()
	if n := len(r.contribution(at)); n != 0 {
		t.Errorf("%d messages are sent again", n)
	}
}

// TestDamagedOutbox: a party does not seal other bytes than before under the same keys.
func TestDamagedOutbox(t *testing.T) {
	for _, at := range []int{0, 4, 20, 36, 40} {
		r := newRig(t, 10, oneChunk)
		r.open(1)
		r.propose(1, someUpdate(10))
		r.Store["outbox"][at] ^= 1
		sent := len(r.sent)
		p, err := New(r.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if eff := p.Step(r.Now, protocol.Start{}); !eff.Done || eff.Err == nil || len(r.contribution(sent)) > 0 {
			t.Errorf("byte %d: the party goes on: %v", at, eff.Err)
		}
	}
}

// TestWindow: a long vector is sent in steps of at most a window, and the party needs no more
// memory than that in addition to the packed update.
func TestWindow(t *testing.T) {
	const dim, window = 40 * xof.ChunkElements, 2 << 20
	r := newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Window, c.Ahead = window, -1 })
	r.open(1)
	before := heap()
	r.propose(1, slices.Repeat([]int64{1}, dim)) // packs to a byte a coordinate
	r.sent = nil
	peak, sent := before, 0
	for r.wake <= r.Now {
		eff := r.p.Step(r.Now, protocol.Tick{})
		size := 0
		for _, o := range eff.Send {
			size += len(o.Data)
		}
		if size > window+window/8 {
			t.Fatalf("a step sends %d bytes", size)
		}
		sent, r.wake = sent+size, eff.Wake
		peak = max(peak, heap())
		runtime.KeepAlive(eff)
	}
	if sent < 35*xof.ChunkElements*8 {
		t.Fatalf("only %d bytes were sent", sent)
	}
	// A window, a mebibyte of scratch a core, the packed update and the test's copy of it, and a
	// mebibyte for the rest. The vector's ciphertext would be 20 MiB.
	if limit := uint64(window + 2*dim + (1+runtime.GOMAXPROCS(0))<<20); peak-before > limit {
		t.Errorf("%d bytes are in memory while it is sent, want at most %d", peak-before, limit)
	}
	runtime.KeepAlive(r)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
