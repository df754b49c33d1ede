package run_test

import (
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/share"
	"choir/crypto/xof"
	"choir/host"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/memory"
)

// TestCoalitionsSeeNothing runs real sessions on two very different inputs and
// opens, with the keys from the nodes' own stores, everything that each
// coalition of M-1 nodes was sent by one party. What a coalition can compute
// from its shares is their sum: over 8192 coordinates it must be uniform on the field
// (chi-square over 64 bins, 63 degrees of freedom) whatever the input. With 2
// inputs x 3 coalitions and a threshold at p = 1e-9 the false-alarm rate is
// below 1e-8. All M nodes together recover the input exactly, and their sum must fail
// the same test: the test can fail.
func TestCoalitionsSeeNothing(t *testing.T) {
	const n, m, d = 2, 3, 8192
	for _, value := range []int64{0, 1 << 40} {
		x := make([]int64, d)
		for i := range x {
			x[i] = value
		}
		shares := sharesOf(t, n, m, x)
		for out := range m {
			sum := make(field.Vector, d)
			for k, s := range shares {
				if k != out {
					sum.Add(s)
				}
			}
			if p := uniform(sum); p < 1e-9 {
				t.Errorf("input %d: all nodes but %d see a sum that isn't uniform, p = %.2g", value, out, p)
			}
		}
		all := make(field.Vector, d)
		for _, s := range shares {
			all.Add(s)
		}
		for i := range all {
			if all[i].Int64() != value {
				t.Fatalf("all nodes together: coordinate %d is %d, want %d", i, all[i].Int64(), value)
			}
		}
		if p := uniform(all); p > 1e-9 {
			t.Errorf("the uniformity test can't tell the input itself from noise, p = %.2g", p)
		}
	}
}

// uniform is the p-value of a chi-square test of uniformity over 64 equal
// bins of [0, p).
func uniform(v field.Vector) float64 {
	const bins = 64
	var counts [bins]float64
	for _, e := range v {
		counts[uint64(e)/(field.Modulus/bins+1)]++
	}
	want, s := float64(len(v))/bins, 0.0
	for _, c := range counts {
		s += (c - want) * (c - want) / want
	}
	return distuv.ChiSquared{K: bins - 1}.Survival(s)
}

// sharesOf runs one round and returns what each node got from party 0.
func sharesOf(t *testing.T, n, m int, x []int64) []field.Vector {
	list, keys := rig.Members(t, n, m)
	p, err := rig.Terms(list).Sum(terms.SumTerms{Dim: len(x), PerParty: 1 << 50})
	if err != nil {
		t.Fatal(err)
	}
	l := rig.Local(t, p, keys)
	hub := memory.NewHub()
	l.Connect = func(i uint32) (transport.Bus, error) { return hub.Connect(l.Session.Name(i)), nil }
	keeper := newKeeper(l)
	rig.Sums(l, [][]int64{x, make([]int64, len(x))})
	if _, err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	explicit, salt := opened(t, hub, l.Session, keeper)
	shares := make([]field.Vector, m)
	for k := range shares {
		to := p.Compute(k)
		if shares[k] = explicit[to]; shares[k] != nil {
			continue
		}
		mask, err := l.Session.Mask(keeper.links[to], protocol.Context{From: 0, To: to, Round: 1,
			Attempt: 1, Purpose: protocol.PurposeShare, Salt: salt})
		if err != nil {
			t.Fatal(err)
		}
		shares[k] = make(field.Vector, len(x))
		new(share.Adder).Add(shares[k], mask)
	}
	if len(explicit) != 1 {
		t.Fatalf("%d explicit shares, want 1", len(explicit))
	}
	return shares
}

// keeper remembers the first secrets that nodes store, past the end of the round.
type keeper struct {
	mu    sync.Mutex
	links map[uint32]*channel.Secret // by node: party 0's
}

type keptStore struct {
	host.Store
	member uint32
	k      *keeper
}

func newKeeper(l *run.Local) *keeper {
	k := &keeper{links: map[uint32]*channel.Secret{}}
	inner := l.Store
	l.Store = func(i uint32) (host.Store, error) {
		s, err := inner(i)
		return &keptStore{s, i, k}, err
	}
	return k
}

// Apply remembers party 0's channel with a compute node.
func (s *keptStore) Apply(records []protocol.Record) error {
	for _, r := range records {
		if r.Key != "secrets/0" || r.Value == nil {
			continue
		}
		store := host.NewRam()
		if err := store.Apply([]protocol.Record{r}); err != nil {
			return err
		}
		keys, err := protocol.RestoreKeyring(store)
		if err != nil {
			return err
		}
		s.k.mu.Lock()
		if s.k.links[s.member] == nil {
			s.k.links[s.member] = keys.Secret(0, 1)
		}
		s.k.mu.Unlock()
	}
	return s.Store.Apply(records)
}

// opened is the explicit share of party 0, by the node that it was sent to, and its salt.
func opened(
	t *testing.T, hub *memory.Hub, s protocol.BoundPlan, k *keeper,
) (out map[uint32]field.Vector, salt protocol.Salt) {
	t.Helper()
	bus := hub.Connect("observer")
	defer bus.Close()
	sub, err := bus.Subscribe(t.Context(), []string{"choir.*.share.*." + s.Name(0) + ".>"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	out = map[uint32]field.Vector{}
	for range s.Chunks() {
		m, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c, err := protocol.UnmarshalChunk(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := s.OpenChunk(k.links[c.To], c)
		if err != nil {
			t.Fatal(err)
		}
		salt = c.Salt
		if out[c.To] == nil {
			out[c.To] = make(field.Vector, s.Plan.Dim)
		}
		lo := int(c.Index) * xof.ChunkElements
		if err := field.DecodeVector(out[c.To][lo:lo+s.ChunkLen(int(c.Index))], plain); err != nil {
			t.Fatal(err)
		}
	}
	return out, salt
}
