package compute_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"choir/compute"
	"choir/crypto/channel"
	"choir/crypto/xof"
	"choir/host"
	"choir/protocol"
)

func TestGroupAddsExactly(t *testing.T) {
	for _, workers := range []int{1, 2, 4, 9} {
		for _, audit := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d,audit=%t", workers, audit), func(t *testing.T) {
				c := newCrowd(t, workers, audit)
				c.run()
				c.check()
			})
		}
	}
}

// TestGroupSurvivesReplays delivers every message from and to a worker again, twice, much later,
// and also to its sender.
func TestGroupSurvivesReplays(t *testing.T) {
	c := newCrowd(t, 3, true)
	var old [][]byte
	again := 0
	c.tap = func(_ *seat, data []byte) [][]byte {
		out := [][]byte{data}
		for i := 0; i < 3 && again < 600; i++ { // an answer to a repetition is repeated, too
			if at := len(old) - 1 - 7*i; at >= 0 {
				out = append(out, old[at])
				again++
			}
		}
		old = append(old, data)
		return out
	}
	c.run()
	c.check()
	if again < 60 {
		t.Fatalf("only %d messages were repeated", again)
	}
}

// falseMessage is a worker's message that the node must refuse.
type falseMessage struct {
	path protocol.WorkerPath
	body protocol.WorkerMessage
}

// lies returns false messages to send before a worker's message.
func lies(path protocol.WorkerPath, m protocol.WorkerMessage) []falseMessage {
	other, alien, wide, foreign := path, path, path, path
	other.Worker = 1 - path.Worker
	alien.Worker = 2
	wide.Of = 3
	foreign.Node = crowdParties + 1
	switch m := m.(type) {
	case *protocol.WorkerHeld:
		bad := slices.Clone(m.Contributions[0])
		bad[50] ^= 1
		malformed := &protocol.WorkerHeld{Contributions: [][]byte{bad, []byte("no"), m.Contributions[0][:70]}}
		return []falseMessage{{other, m}, {alien, m}, {wide, m}, {foreign, m}, {path, malformed}}
	case *protocol.WorkerSum:
		short, beyond, set, junk, blind := *m, *m, *m, *m, *m
		short.Elements = m.Elements[8:]
		beyond.Index = 9
		set.Set[0] ^= 1
		set.Elements = make([]byte, len(m.Elements))               // a true chunk would hide that it counts
		junk.Elements = bytes.Repeat([]byte{255}, len(m.Elements)) // not below p
		blind.Blinding = [32]byte(bytes.Repeat([]byte{255}, 32))
		return []falseMessage{
			{path, &short}, {path, &beyond}, {path, &set}, {path, &junk}, {path, &blind}, {other, m}, {alien, m},
		}
	case *protocol.WorkerHello:
		return []falseMessage{{path, &protocol.WorkerAsk{Round: 1, Attempt: 1}}, {path, &protocol.WorkerEnd{}},
			{path, &protocol.WorkerHello{Public: []byte("no key")}}}
	}
	return nil
}

// TestGroupRefusesLies checks that false messages of a worker are refused and do not count: the sum
// is that of the honest workers.
func TestGroupRefusesLies(t *testing.T) {
	c := newCrowd(t, 2, false)
	sent := 0
	var ask []byte // the key for the sums
	c.tap = func(_ *seat, data []byte) (out [][]byte) {
		path, m, err := c.openWorker(data)
		if a, ok := m.(*protocol.WorkerAsk); ok {
			ask = a.Public
		}
		if err != nil || path.Down {
			return [][]byte{data}
		}
		for _, lie := range lies(path, m) {
			var link *protocol.WorkerLink
			if _, ok := lie.body.(*protocol.WorkerSum); ok {
				enc, secret, err := c.initiate(c.s.Plan.Suite, ask, c.s.WorkerInfo(lie.path))
				if err != nil {
					t.Fatal(err)
				}
				link = &protocol.WorkerLink{Enc: enc, Secret: secret}
			}
			b, err := c.s.SealWorker(c.group.Worker(int(path.Worker)).Secret, lie.path, lie.body, link, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			sent++
			out = append(out, b)
		}
		return append(out, data)
	}
	c.run()
	c.check()
	if sent < 40 {
		t.Fatalf("only %d lies", sent)
	}
	for _, want := range []error{protocol.ErrUnknown, protocol.ErrMismatch, protocol.ErrMalformed} {
		if !slices.ContainsFunc(c.refused, func(err error) bool { return errors.Is(err, want) }) {
			t.Errorf("no lie was refused as %v", want)
		}
	}
}

// TestGroupRefusesTwoBlindings checks that a worker's chunks have one sum of blindings: a chunk with
// another one is refused, and the true one counts.
func TestGroupRefusesTwoBlindings(t *testing.T) {
	c := newCrowdOf(t, crowdParties, 2*2*xof.ChunkElements, 2, false) // chunks 0 and 1
	sent := 0
	var ask []byte
	c.tap = func(_ *seat, data []byte) [][]byte {
		path, m, err := c.openWorker(data)
		if a, ok := m.(*protocol.WorkerAsk); ok {
			ask = a.Public
		}
		sum, ok := m.(*protocol.WorkerSum)
		if err != nil || !ok || sum.Index == 0 {
			return [][]byte{data}
		}
		lie := *sum
		lie.Blinding[0] ^= 1
		enc, secret, err := c.initiate(c.s.Plan.Suite, ask, c.s.WorkerInfo(path))
		if err != nil {
			t.Fatal(err)
		}
		link := &protocol.WorkerLink{Enc: enc, Secret: secret}
		b, err := c.s.SealWorker(c.group.Worker(int(path.Worker)).Secret, path, &lie, link, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		sent++
		return [][]byte{b, data}
	}
	c.run()
	refused := 0
	for _, err := range c.refused {
		if errors.Is(err, protocol.ErrMismatch) && strings.Contains(err.Error(), "two sums of blindings") {
			refused++
		}
	}
	if sent < 2 || refused != sent {
		t.Errorf("%d of %d second sums of blindings were refused", refused, sent)
	}
	for _, s := range c.seats {
		if s.err != nil {
			t.Errorf("%s: %v", s.name, s.err)
		}
	}
}

// TestGroupRestarts restarts the node and the workers from their stores, at moments throughout a
// session.
func TestGroupRestarts(t *testing.T) {
	moments := 0
	for at := 0; ; at += 4 {
		c, n := newCrowd(t, 2, false), 0
		hit := false
		c.tap = func(_ *seat, data []byte) [][]byte {
			if n == at {
				hit = true
			}
			n++
			return [][]byte{data}
		}
		c.between = func([]byte) {
			if !hit {
				return
			}
			hit = false
			for _, name := range []string{"c0", "worker-0", "worker-1"} {
				if s := c.seat(name); !s.done {
					c.restart(s)
					c.step(s, protocol.Start{}, 2_000_000)
				}
			}
		}
		c.run()
		c.check()
		if t.Failed() {
			t.Fatalf("restarted at worker message %d", at)
		}
		if n <= at {
			break
		}
		moments++
	}
	if moments < 5 {
		t.Errorf("only %d moments", moments)
	}
}

// TestStolenWorkerKeys steals the keys of a node and its workers, and what their stores ever had, and
// reads the recorded traffic: no channel and no sum opens, by a key, or by any 32 bytes of a store.
func TestStolenWorkerKeys(t *testing.T) {
	c := newCrowd(t, 2, false)
	recorded, stolen, public := [][]byte{}, map[[32]byte]bool{}, map[string]bool{}
	c.tap = func(_ *seat, data []byte) [][]byte {
		recorded = append(recorded, data)
		for _, name := range []string{"c0", "worker-0", "worker-1"} {
			store := c.seat(name).store
			for _, key := range store.Keys("") {
				value := store.Get(key)
				for i := range max(0, len(value)-31) {
					stolen[[32]byte(value[i:])] = true
				}
			}
		}
		return [][]byte{data}
	}
	c.run()
	c.check()
	var secret [][]byte
	for _, data := range recorded {
		switch _, m, err := c.openWorker(data); m := m.(type) {
		case *protocol.WorkerHello:
			public[string(m.Public)] = true
		case *protocol.WorkerAsk:
			public[string(m.Public)] = true
		case *protocol.WorkerLinks, *protocol.WorkerSum:
			secret = append(secret, data)
		case nil:
			t.Fatal(err)
		}
	}
	if len(secret) < 10 || len(public) < 4 || len(stolen) < 1000 {
		t.Fatalf("%d messages with secrets, %d keys, %d stolen", len(secret), len(public), len(stolen))
	}
	for b := range stolen {
		if key, err := channel.NewPrivateKey(c.s.Plan.Suite, b[:]); err == nil && public[string(key.Public())] {
			t.Error("a store has the private key of a link")
		}
		link, err := channel.NewSecret(b[:])
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range secret {
			worker, err := protocol.WorkerOfMessage(data)
			if err != nil {
				t.Fatal(err)
			}
			accept := func(protocol.WorkerPath, []byte) (*channel.Secret, error) { return link, nil }
			if _, m, err := c.s.OpenWorker(c.group.Worker(int(worker)).Secret, data, accept); err == nil {
				t.Fatalf("what a store has opens a %T", m)
			}
		}
	}
}

// TestStolenWorkerStore: a worker's store of round 2 does not open a share of round 1, and that of round 1
// does, by any 32 bytes of it or a secret that follows from them.
func TestStolenWorkerStore(t *testing.T) {
	c := newCrowd(t, 2, false)
	shares := map[uint32]*protocol.Chunk{} // by worker: one of round 1
	stolen := map[uint32]map[uint32]map[[32]byte]bool{1: {0: {}, 1: {}}, 2: {0: {}, 1: {}}}
	c.between = func(data []byte) {
		if m, err := protocol.UnmarshalChunk(data); err == nil && m.Round == 1 && m.To == c.parties &&
			m.Purpose == protocol.PurposeShare {
			shares[protocol.WorkerOf(m.From, 2)] = m
		}
		for w := range uint32(2) {
			store := c.seat(fmt.Sprintf("worker-%d", w)).store
			keys, err := protocol.RestoreKeyring(store)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range store.Keys("") {
				if value := store.Get(key); len(keys.Members()) > 0 {
					for i := range max(0, len(value)-31) {
						stolen[keys.Round()][w][[32]byte(value[i:])] = true
					}
				}
			}
		}
	}
	c.run()
	c.check()
	if len(shares) != 2 {
		t.Fatalf("shares of %d workers", len(shares))
	}
	for w, share := range shares {
		for round := uint32(1); round <= 2; round++ {
			opened := false
			for b := range stolen[round][w] {
				secret, err := channel.NewSecret(b[:])
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					_, err := c.s.OpenChunk(secret, share)
					opened = opened || err == nil
					secret = protocol.Next(secret)
				}
			}
			if opened != (round == 1) {
				t.Errorf("worker %d: the store of round %d opens a share of round 1: %t", w, round, opened)
			}
		}
	}
}

// TestWorkerConfig checks that a worker refuses a wrong configuration and another worker's store.
func TestWorkerConfig(t *testing.T) {
	c := newCrowd(t, 2, false)
	c.run()
	good := c.workerConfig(1, host.NewRam())
	for name, change := range map[string]func(*compute.WorkerConfig){
		"no compute node": func(w *compute.WorkerConfig) { w.Node = 0 },
		"no such worker":  func(w *compute.WorkerConfig) { w.Worker = 2 },
		"no workers":      func(w *compute.WorkerConfig) { w.Group.Workers = 0 },
		"too many":        func(w *compute.WorkerConfig) { w.Group.Workers = protocol.Slots + 1 },
		"no secret":       func(w *compute.WorkerConfig) { w.Group.Secret = nil },
		"another's store": func(w *compute.WorkerConfig) {
			r := host.NewRam()
			_ = r.Apply([]protocol.Record{{Key: "worker", Value: []byte("0 of 2")}}) // a Ram does not fail
			w.View = r
		},
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			change(&bad)
			if _, err := compute.NewWorker(bad); protocol.ClassOf(err) != protocol.ClassInput {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := compute.NewWorker(good); err != nil {
		t.Error(err)
	}
}
