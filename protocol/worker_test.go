package protocol

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"choir/crypto/channel"
)

func workerSecret(t testing.TB, b byte) *channel.Secret {
	t.Helper()
	s, err := channel.NewSecret(bytes.Repeat([]byte{b}, channel.SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func workerMessages(t testing.TB) []WorkerMessage {
	return []WorkerMessage{&WorkerHello{Public: []byte("public")}, &WorkerEnd{},
		&WorkerLinks{Round: 3, Again: true, Parties: []uint32{0, 2},
			Secrets: []*channel.Secret{workerSecret(t, 8), workerSecret(t, 9)}},
		&WorkerHeld{Contributions: [][]byte{bytes.Repeat([]byte{6}, 200), bytes.Repeat([]byte{7}, 300)}},
		&WorkerAsk{Round: 1, Attempt: 2, Set: []Entry{{Party: 1, Bundle: Digest{1}}, {Party: 2}},
			Public: []byte("public")},
		&WorkerSum{Round: 1, Attempt: 2, Set: Digest{3}, Index: 4, Blinding: [32]byte{5},
			Elements: make([]byte, 24)},
	}
}

// linkOf returns the link to which a message is sealed, nil for none.
func linkOf(t testing.TB, m WorkerMessage) *WorkerLink {
	if !secret(m) {
		return nil
	}
	return &WorkerLink{Enc: []byte("encapsulation"), Secret: workerSecret(t, 3)}
}

// acceptOf accepts every encapsulation, with the same secret.
func acceptOf(t testing.TB, b byte) func(WorkerPath, []byte) (*channel.Secret, error) {
	return func(WorkerPath, []byte) (*channel.Secret, error) { return workerSecret(t, b), nil }
}

// TestWorkerMessages: a sealed message opens on its path, under its plan, key and link, and not after
// any change.
func TestWorkerMessages(t *testing.T) {
	s, key, accept := testSession(t), workerSecret(t, 1), acceptOf(t, 3)
	path := WorkerPath{Node: 3, Worker: 1, Of: 4, Down: true}
	for _, m := range workerMessages(t) {
		data, err := s.SealWorker(key, path, m, linkOf(t, m), new(seeded))
		if err != nil {
			t.Fatal(err)
		}
		at, got, err := s.OpenWorker(key, data, accept)
		if err != nil || at != path || !IsWorker(data) || IsChunk(data) {
			t.Fatalf("%T: %v, %v", m, at, err)
		}
		if l, ok := got.(*WorkerLinks); ok {
			want := m.(*WorkerLinks)
			if !slices.Equal(l.Parties, want.Parties) || !bytes.Equal(l.Secrets[1].Bytes(), want.Secrets[1].Bytes()) ||
				len(l.Secrets) != 2 {
				t.Error("the links changed")
			}
		} else if !reflect.DeepEqual(got, m) {
			t.Errorf("%+v became %+v", m, got)
		}
		closed := ErrSealed
		if secret(m) {
			closed = ErrStale
			if _, _, err := s.OpenWorker(key, data, acceptOf(t, 4)); !errors.Is(err, ErrStale) {
				t.Errorf("%T to another process: %v", m, err)
			}
		}
		if _, _, err := s.OpenWorker(workerSecret(t, 2), data, accept); !errors.Is(err, closed) {
			t.Errorf("%T under another key: %v", m, err)
		}
		other := s
		other.ID[0]++
		if _, _, err := other.OpenWorker(key, data, accept); !errors.Is(err, ErrWrongPlan) {
			t.Errorf("%T under another plan: %v", m, err)
		}
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 1
			if _, _, err := s.OpenWorker(key, bad, accept); err == nil {
				t.Fatalf("%T with byte %d changed is accepted", m, i)
			}
			if _, _, err := s.OpenWorker(key, data[:i], accept); err == nil {
				t.Fatalf("%T of %d bytes is accepted", m, i)
			}
		}
	}
	if _, err := s.SealWorker(key, path, &WorkerAsk{Round: 0, Attempt: 1}, nil, new(seeded)); err == nil {
		t.Error("round 0 was sealed")
	}
	if _, err := s.SealWorker(key, path, &WorkerHello{}, nil, strings.NewReader("short")); err == nil {
		t.Error("sealed without a salt")
	}
	for _, m := range workerMessages(t) { // a sender cannot forget the link
		link := &WorkerLink{Secret: key}
		if secret(m) {
			link = nil
		}
		if _, err := s.SealWorker(key, path, m, link, new(seeded)); err == nil {
			t.Errorf("%T was sealed with or without a link", m)
		}
	}
}

func FuzzOpenWorker(f *testing.F) {
	s, key := testSession(f), workerSecret(f, 1)
	for _, m := range workerMessages(f) {
		data, err := s.SealWorker(key, WorkerPath{Node: 3, Of: 1}, m, linkOf(f, m), new(seeded))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, true)
		body, err := marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append([]byte{m.workerType()}, body...), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, sealed bool) {
		if sealed {
			_, _, _ = s.OpenWorker(key, data, acceptOf(t, 3))
			return
		}
		if len(data) == 0 {
			return
		}
		m := newWorkerMessage(data[0])
		if m == nil || unmarshal("worker message", data[1:], m) != nil {
			return
		}
		again, err := marshal(m)
		if err != nil || !bytes.Equal(again, data[1:]) {
			t.Fatalf("%x is encoded as %x, %v", data[1:], again, err)
		}
	})
}

// TestWorkersShareTheParties: for any number of workers each party has exactly one, whose filters
// alone match its messages; loads are even; and the node itself gets no shares.
func TestWorkersShareTheParties(t *testing.T) {
	s := BoundPlan{Plan: roster(1000, 3)}
	node := s.Plan.Compute(1)
	for _, of := range []uint32{1, 2, 3, 4, 7, 64} {
		load := make([]int, of)
		for party := range uint32(1000) {
			mine := WorkerOf(party, of)
			load[mine]++
			if party > 100 && of > 4 {
				continue // the same filters for all
			}
			for w := range of {
				f := s.WorkerFilters(WorkerPath{Node: node, Worker: w, Of: of})
				for _, subject := range []string{s.SubjectContribution(party, 1, 1),
					s.SubjectShare(&Chunk{Context: Context{From: party, To: node, Round: 1, Attempt: 1}})} {
					if got := slices.ContainsFunc(f, func(f string) bool { return heard(f, subject) }); got != (w == mine) {
						t.Fatalf("%s reaches worker %d of %d: %t, want worker %d", subject, w, of, got, mine)
					}
				}
			}
		}
		for w, n := range load { // 1000 parties on 64 slots: 15 or 16 a slot, and rounding
			if fair := 1000 / float64(of); float64(n) < 0.85*fair-2 || float64(n) > 1.15*fair+2 {
				t.Errorf("worker %d of %d has %d of 1000 parties", w, of, n)
			}
		}
	}
	group, alone := s.GroupFilters(node), s.Filters(node)
	for _, subject := range []string{s.SubjectControl(), s.SubjectKey(s.Plan.Aggregator()),
		s.SubjectOpen(0, node),
		s.SubjectHold(s.Plan.Compute(0), 1, 1), s.SubjectAgree(s.Plan.Compute(0), 1, 1), s.SubjectResult(1, 1,
			"head")} {
		for _, f := range [][]string{group, alone} {
			if !slices.ContainsFunc(f, func(f string) bool { return heard(f, subject) }) {
				t.Errorf("%s does not reach the node", subject)
			}
		}
	}
	for subject, want := range map[string]bool{
		s.SubjectContribution(0, 1, 1):                                           false,
		s.SubjectWorker(WorkerPath{Node: node, Of: 2}):                           true,
		s.SubjectWorker(WorkerPath{Node: node, Of: 2, Down: true}):               false,
		s.SubjectWorker(WorkerPath{Node: s.Plan.Compute(0), Of: 2}):              false,
		s.SubjectShare(&Chunk{Context: Context{To: node, Round: 1, Attempt: 1}}): false,
	} {
		if got := slices.ContainsFunc(group, func(f string) bool { return heard(f, subject) }); got != want {
			t.Errorf("%s reaches the node: %t", subject, got)
		}
	}
}
