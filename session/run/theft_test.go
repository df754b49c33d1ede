package run_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"choir/crypto/channel"
	"choir/host"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/memory"
)

// TestStolenStoreOpensOneRound steals the files of a member's store in each round, and tries every 32
// bytes of them that did not cross the bus as a key: as a secret of a channel or the group, of that
// round or a later one, and as a plan key. What opens must be of the round of the theft or a later
// one, and a store of the first round must open all, or the test could not fail.
func TestStolenStoreOpensOneRound(t *testing.T) {
	const rounds = 3
	for _, workers := range []int{0, 2} {
		if testing.Short() && workers == 0 {
			continue
		}
		list, keys := rig.Members(t, 3, 2)
		p, err := rig.Terms(list).Sum(terms.SumTerms{Dim: 4, PerParty: 1000})
		if err != nil {
			t.Fatal(err)
		}
		p.Rounds = rounds
		p.Suite = channel.SuiteX25519
		l := rig.Local(t, p, keys)
		l.Workers = workers
		th := newThief(t, l)
		rig.Sums(l, [][]int64{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}})
		if _, err := l.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		th.listen(l)
		for _, member := range []uint32{0, p.Compute(1)} {
			for round := uint32(1); round <= rounds; round++ {
				opened := th.opens(member, round)
				if len(opened) == 0 || opened[0] != round {
					t.Errorf("%d workers: the store of %s in round %d opens what was sealed in rounds %v", workers,
						l.Session.Name(member), round, opened)
				}
				if round == 1 && len(opened) != rounds {
					t.Errorf("%d workers: the store of %s in round 1 opens rounds %v only", workers,
						l.Session.Name(member), opened)
				}
			}
		}
	}
}

// thief has what the stores' files were in each round, and everything that crossed the bus.
type thief struct {
	t        *testing.T
	s        protocol.BoundPlan
	hub      *memory.Hub
	mu       sync.Mutex
	files    map[uint32]map[uint32][]byte // by member and round
	public   map[[32]byte]bool
	sealed   []sealed
	toMember map[uint32][]*protocol.Open // by receiver
	from     map[*protocol.Open]uint32
}

// sealed is something that a secret of a round opens.
type sealed struct {
	round uint32
	open  func(*channel.Secret) bool
}

type watched struct {
	host.Store
	member uint32
	path   string
	th     *thief
}

func newThief(t *testing.T, l *run.Local) *thief {
	th := &thief{t: t, s: l.Session, hub: memory.NewHub(), files: map[uint32]map[uint32][]byte{},
		public: map[[32]byte]bool{}, toMember: map[uint32][]*protocol.Open{}, from: map[*protocol.Open]uint32{}}
	l.Connect = func(i uint32) (transport.Bus, error) { return th.hub.Connect(l.Session.Name(i)), nil }
	dir := t.TempDir()
	l.Store = func(i uint32) (host.Store, error) {
		path := filepath.Join(dir, fmt.Sprint(i))
		f, err := host.OpenFile(path)
		return &watched{f, i, path, th}, err
	}
	return th
}

// Apply keeps a copy of the files after each transaction, the last one of each round.
func (w *watched) Apply(records []protocol.Record) error {
	if err := w.Store.Apply(records); err != nil {
		return err
	}
	keys, err := protocol.RestoreKeyring(w.Store)
	if err != nil || len(keys.Members()) == 0 {
		return err
	}
	var all []byte
	for _, path := range []string{w.path, w.path + ".values"} {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		all = append(all, b...)
	}
	w.th.mu.Lock()
	defer w.th.mu.Unlock()
	if w.th.files[w.member] == nil {
		w.th.files[w.member] = map[uint32][]byte{}
	}
	w.th.files[w.member][keys.Round()] = all
	return nil
}

// listen reads what crossed the bus.
func (th *thief) listen(l *run.Local) {
	th.t.Helper()
	bus := th.hub.Connect("observer")
	defer bus.Close()
	sub, err := bus.Subscribe(th.t.Context(), []string{"choir.>"}, 0)
	if err != nil {
		th.t.Fatal(err)
	}
	for last := false; !last; {
		m, err := sub.Next(th.t.Context())
		if err != nil {
			th.t.Fatal(err)
		}
		for i := range max(0, len(m.Data)-31) {
			th.public[[32]byte(m.Data[i:])] = true
		}
		if c, err := protocol.UnmarshalChunk(m.Data); err == nil {
			th.add(c.Round, func(s *channel.Secret) bool { _, err := th.s.OpenChunk(s, c); return err == nil })
			last = c.Purpose == protocol.PurposeResult && c.Round == l.Session.Plan.Rounds
		} else if e, body, err := th.s.Receive(m.Data); err == nil {
			th.signed(e.From, body)
		}
	}
}

func (th *thief) add(round uint32, open func(*channel.Secret) bool) {
	th.sealed = append(th.sealed, sealed{round, open})
}

func (th *thief) signed(from uint32, body protocol.Message) {
	switch m := body.(type) {
	case *protocol.Open:
		th.toMember[m.To] = append(th.toMember[m.To], m)
		th.from[m] = from
	case *protocol.Contribution:
		digest, err := m.ManifestDigest(th.s, from)
		if err != nil {
			th.t.Fatal(err)
		}
		for k, tag := range m.Confirm { // confirms the secret of a share, explicit or not
			c := m.Context(from, th.s.Plan.Compute(k))
			th.add(m.Round, func(s *channel.Secret) bool { return th.s.Confirm(s, c, digest) == tag })
		}
	case *protocol.Partial:
		th.add(m.Round, func(s *channel.Secret) bool { _, err := th.s.OpenOpening(s, from, m); return err == nil })
	case *protocol.Group:
		th.add(1, func(s *channel.Secret) bool { _, err := th.s.OpenGroup(s, m.To, m.Sealed); return err == nil })
	}
}

// opens returns the rounds of what a member's files of a round open, in order.
func (th *thief) opens(member, round uint32) []uint32 {
	th.t.Helper()
	all, tried, rounds := th.files[member][round], map[[32]byte]bool{}, map[uint32]bool{}
	if len(all) == 0 {
		th.t.Fatalf("no files of member %d in round %d", member, round)
	}
	for i := range len(all) - 31 {
		key := [32]byte(all[i:])
		if th.public[key] || tried[key] || bytes.Count(key[:], []byte{0}) > 8 {
			continue
		}
		tried[key] = true
		secret, err := channel.NewSecret(key[:])
		if err != nil {
			th.t.Fatal(err)
		}
		th.try(secret, rounds)
		private, err := channel.NewPrivateKey(th.s.Plan.Suite, key[:])
		if err != nil {
			continue
		}
		if len(th.toMember[member]) == 0 || private.Public() == nil {
			continue
		}
		for _, o := range th.toMember[member] {
			if o.Key != protocol.KeyDigest(th.s, member, private.Public()) {
				continue
			}
			s, err := channel.Accept(private, o.Enc, th.s.ChannelInfo(th.from[o], member, o.Key))
			if err == nil {
				th.try(s, rounds)
			}
		}
	}
	return slices.Sorted(maps.Keys(rounds))
}

// try tries a secret and those that follow from it on everything.
func (th *thief) try(secret *channel.Secret, rounds map[uint32]bool) {
	for range th.s.Plan.Rounds {
		for _, x := range th.sealed {
			if x.open(secret) {
				rounds[x.round] = true
			}
		}
		secret = protocol.Next(secret)
	}
}
