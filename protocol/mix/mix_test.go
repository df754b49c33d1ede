package mix

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/protocol"
)

// boundPlan is a plan of four parties and three nodes, with the members' keys.
func boundPlan(t testing.TB, suite channel.Suite) (protocol.BoundPlan, []*identity.PrivateKey) {
	t.Helper()
	p := &protocol.Plan{Name: "mix", Created: 1, NotAfter: 1 << 40, Suite: suite, Dim: 2, Rounds: 1,
		MinParties: 3, Colluders: 1, DeadlineMS: 1000, PerParty: 100, Application: "mix"}
	var keys []*identity.PrivateKey
	for i, name := range []string{"p0", "p1", "p2", "p3", "c0", "c1", "c2", "agg"} {
		keys = append(keys, identity.FromSeed([32]byte{byte(i), 3}))
		role := []protocol.Role{1, 1, 1, 1, 2, 2, 2, 3}[i]
		p.Members = append(p.Members,
			protocol.Member{Name: name, Role: role, Key: keys[i].Public(), NotAfter: p.NotAfter})
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return protocol.Bind(p), keys
}

// keyed is an attempt whose keys are known, with the nodes' private keys.
func keyed(
	t testing.TB, s protocol.BoundPlan, r *rand.ChaCha8,
) (a *attempt, outer, inner []*channel.PrivateKey) {
	t.Helper()
	key := func() *channel.PrivateKey {
		k, err := channel.GenerateKey(s.Plan.Suite, r)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a = newAttempt(s, &protocol.MixRound{Round: 1, Attempt: 1, Public: key().Public()}, 1)
	for k := range a.nodes {
		outer = append(outer, key())
		inner = append(inner, key())
		m := &protocol.MixKeys{Round: 1, Attempt: 1, Outer: outer[k].Public(), Inner: inner[k].Public()}
		if err := a.accept(s.Plan.Compute(k), m, []byte{byte(k)}, 1); err != nil {
			t.Fatal(err)
		}
	}
	return a, outer, inner
}

func honest(_ int, content []byte) []byte { return content }

// TestOnion: all layers have the lengths that the geometry gives, open in order with the trail's
// digests, and the report is what is left.
func TestOnion(t *testing.T) {
	for _, suite := range []channel.Suite{channel.SuiteHybrid, channel.SuiteX25519} {
		s, _ := boundPlan(t, suite)
		r := rand.NewChaCha8([32]byte{1})
		a, outer, inner := keyed(t, s, r)
		report := bytes.Repeat([]byte{7}, 16)
		onions, trails, err := a.makeOnions(report, 2, r, honest)
		if err != nil {
			t.Fatal(err)
		}
		layer, trail := onions[0], trails[0]
		check := func(stage int) {
			if len(layer) != a.size(stage) {
				t.Errorf("%v: batch %d: %d bytes, want %d", suite, stage, len(layer), a.size(stage))
			}
		}
		for k := range 3 {
			check(k)
			if EntryDigest(layer) != trail[k] {
				t.Errorf("the trail does not lead through batch %d", k)
			}
			if layer, err = open(suite, outer[k], a.outerInfo(k+1, 2), layer); err != nil {
				t.Fatal(err)
			}
		}
		check(3)
		entry := a.splitEntry(layer)
		layer = entry.inner
		for k := range 3 {
			if layer, err = open(suite, inner[k], a.innerInfo(k+1), layer); err != nil {
				t.Fatal(err)
			}
			check(4 + k)
			if layerDigest(layer) != entry.commitments[k] {
				t.Errorf("inner layer %d is not what the entry's digest says", k)
			}
		}
		if !bytes.Equal(layer[nonceSize:], report) {
			t.Errorf("report %x", layer)
		}
	}
}

// TestLayersAreBound: a layer opens for no other sender, node, kind, round, attempt or set of keys.
func TestLayersAreBound(t *testing.T) {
	s, _ := boundPlan(t, channel.SuiteX25519)
	r := rand.NewChaCha8([32]byte{2})
	a, outer, _ := keyed(t, s, r)
	onions, _, err := a.makeOnions(make([]byte, 16), 2, r, honest)
	if err != nil {
		t.Fatal(err)
	}
	for name, info := range map[string]func(k shuffleKeys) []byte{
		"another sender":  func(k shuffleKeys) []byte { return k.outerInfo(1, 3) },
		"no sender":       func(k shuffleKeys) []byte { return k.outerInfo(1, protocol.Everyone) },
		"another node":    func(k shuffleKeys) []byte { return k.outerInfo(2, 2) },
		"the inner layer": func(k shuffleKeys) []byte { return k.innerInfo(1) },
		"another round":   func(k shuffleKeys) []byte { k.round = 2; return k.outerInfo(1, 2) },
		"another attempt": func(k shuffleKeys) []byte { k.attempt = 2; return k.outerInfo(1, 2) },
		"another plan":    func(k shuffleKeys) []byte { k.plan[0] ^= 1; return k.outerInfo(1, 2) },
		"other keys":      func(k shuffleKeys) []byte { k.digest[0] ^= 1; return k.outerInfo(1, 2) },
	} {
		if _, err := open(s.Plan.Suite, outer[0], info(a.shuffleKeys), onions[0]); !errors.Is(err, errLayer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := open(s.Plan.Suite, outer[0], a.outerInfo(1, 2), onions[0]); err != nil {
		t.Error(err)
	}
}

// chiSquared is Pearson's statistic of counts that should be equal.
func chiSquared(counts []int, draws int) (x float64) {
	want := float64(draws) / float64(len(counts))
	for _, c := range counts {
		x += (float64(c) - want) * (float64(c) - want) / want
	}
	return x
}

// TestPermutationIsUniform: all 120 orders of five entries are equally frequent. A uniform sampler
// fails for fewer than one seed in 1e9: the statistic has 119 degrees of freedom.
func TestPermutationIsUniform(t *testing.T) {
	const draws = 60_000
	r := rand.NewChaCha8([32]byte{3})
	index, counts := map[string]int{}, []int{}
	for range draws {
		p, err := permutation(5, r)
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprint(p)
		if _, ok := index[key]; !ok {
			index[key] = len(counts)
			counts = append(counts, 0)
		}
		counts[index[key]]++
	}
	if x := chiSquared(counts, draws); len(counts) != 120 || x > 240 {
		t.Errorf("%d orders, chi-squared %.1f", len(counts), x)
	}
	if _, err := permutation(5, bytes.NewReader(make([]byte, 20))); err == nil {
		t.Error("a permutation from a source that ends")
	}
}

// TestNodeShuffles: the orders in which a node passes on four entries are equally frequent, 23 degrees
// of freedom; the statistic of a node that shuffles uniformly is above 95 for fewer than one seed in
// 1e9.
func TestNodeShuffles(t *testing.T) {
	runs := 1200
	if testing.Short() {
		runs = 480
	}
	s, keys := boundPlan(t, channel.SuiteX25519)
	r := rand.NewChaCha8([32]byte{4})
	a, outer, _ := keyed(t, s, r)
	private, err := outer[1].Bytes()
	if err != nil {
		t.Fatal(err)
	}
	content := make([][]byte, 4)
	layers := make([][]byte, 4)
	batch := &protocol.MixBatch{Round: 1, Attempt: 1, Stage: 1}
	position := map[protocol.MixDigest]byte{}
	for i := range content {
		content[i] = bytes.Repeat([]byte{byte(i)}, a.size(2))
		position[EntryDigest(content[i])] = byte('0' + i)
		layers[i], err = seal(s.Plan.Suite, a.outer[1], a.outerInfo(2, protocol.Everyone), content[i])
		if err != nil {
			t.Fatal(err)
		}
		batch.Digests = append(batch.Digests, EntryDigest(layers[i]))
	}
	index, counts := map[string]int{}, []int{}
	for range runs {
		n := &node{machine: &machine{cfg: Config{Key: keys[5], Rand: r}, s: s, self: 5, own: map[slot]bool{},
			secrets: [][]byte{private, nil}}, k: 2}
		n.at = newAttempt(s, &protocol.MixRound{Round: 1, Attempt: 1}, 1)
		n.at.shuffleKeys = a.shuffleKeys
		n.at.missing = 0
		n.at.batches[1] = batch
		n.mix(layers)
		order := ""
		for _, d := range n.at.batches[2].Digests {
			order += string(position[d])
		}
		if _, ok := index[order]; !ok {
			index[order] = len(counts)
			counts = append(counts, 0)
		}
		counts[index[order]]++
	}
	if x := chiSquared(counts, runs); len(counts) != 24 || x > 95 {
		t.Errorf("%d orders, chi-squared %.1f", len(counts), x)
	}
}

// TestCheck: plans whose reports a mix-net does not carry, or does not hide.
func TestCheck(t *testing.T) {
	s, _ := boundPlan(t, channel.SuiteX25519)
	for name, change := range map[string]func(p *protocol.Plan){
		"a long report": func(p *protocol.Plan) { p.Dim = 129 },
		"many parties":  func(p *protocol.Plan) { p.Members = make([]protocol.Member, 1<<14+5) },
		"a set too small": func(p *protocol.Plan) {
			p.MinParties, p.Colluders = 3, 2
		},
		"audit": func(p *protocol.Plan) { p.Audit = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := *s.Plan
			change(&p)
			if name == "many parties" {
				for i := range p.Members {
					p.Members[i].Role = protocol.RoleParty
				}
			}
			if err := p.CheckMix(); protocol.ClassOf(err) != protocol.ClassInput {
				t.Errorf("%v", err)
			}
		})
	}
	if err := s.Plan.CheckMix(); err != nil {
		t.Error(err)
	}
}

// FuzzLayer: no input opens as a layer that was not sealed, and none makes open panic.
func FuzzLayer(f *testing.F) {
	r := rand.NewChaCha8([32]byte{5})
	key, err := channel.GenerateKey(channel.SuiteX25519, r)
	if err != nil {
		f.Fatal(err)
	}
	// Sealed for this key once, since the processes that fuzz must have the same.
	layer, err := hex.DecodeString("4380e508b07c900feb534283a8daec241e83fac04aab21d814432f8ebe5b210f" +
		"8929f486d9da3b9594b8e3422c976304b30c0c53232766")
	if err != nil {
		f.Fatal(err)
	}
	got, err := open(channel.SuiteX25519, key, []byte("info"), layer)
	if err != nil || string(got) != "content" {
		f.Fatal(string(got), err)
	}
	f.Add(layer)
	f.Add(layer[:40])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := open(channel.SuiteX25519, key, []byte("info"), b); err == nil && !bytes.Equal(b, layer) {
			t.Fatalf("%x opens", b)
		}
	})
}

// FuzzStore: a damaged store is an error, not a panic.
func FuzzStore(f *testing.F) {
	s, keys := boundPlan(f, channel.SuiteX25519)
	data, err := s.Sign(keys[7], 7, &protocol.MixRound{Round: 1, Attempt: 1, Public: []byte{1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stored("", data), []byte{0, 0, 0, 1, 5}, make([]byte, 16))
	f.Add(stored("x", data), []byte{0, 0, 0, 9}, []byte{})
	f.Fuzz(func(_ *testing.T, log, secrets, state []byte) {
		view := fixed{"mix/log/00000000": log, "mix/secrets": secrets, "mix/state": state}
		for _, member := range []int{0, 4, 7} {
			_, _ = New(Config{Session: s, Key: keys[member], View: view})
		}
	})
}

// fixed is a store that does not change.
type fixed map[string][]byte

func (f fixed) Get(key string) []byte { return f[key] }

func (f fixed) Keys(prefix string) (keys []string) {
	for k := range f {
		if len(k) >= len(prefix) && k[:len(prefix)] == prefix {
			keys = append(keys, k)
		}
	}
	return keys
}
