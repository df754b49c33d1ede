package member

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/host/status"
	"choir/protocol"
)

// TestRepeatedAnnouncementIsRefused repeats announcements of a member that is gone, to a member and to
// an observer: both hear each at most once, and none that is not later than the last one.
func TestRepeatedAnnouncementIsRefused(t *testing.T) {
	var plan protocol.Plan
	var keys []*identity.PrivateKey
	for _, name := range []string{"ada", "bob", "eve"} {
		key, err := identity.Generate(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
		member := protocol.Member{Name: name, Role: protocol.RoleParty, Key: key.Public()}
		plan.Members = append(plan.Members, member)
	}
	s := protocol.Bind(&plan)
	signed := func(member uint32, at int64, round uint32) []byte {
		body, err := json.Marshal(announcement{Member: member, Time: at, State: "working", Round: round})
		if err != nil {
			t.Fatal(err)
		}
		sig := keys[member].Sign(announcedBy(s, body))
		data, err := json.Marshal(envelope{Body: body, Sig: &sig})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	w := &watcher{Monitor: status.New(status.Config{Session: s}), m: &Member{Session: s}}
	o := &Observer{session: s, peers: map[string]status.Peer{}}
	for i, step := range []struct {
		member      uint32
		at          int64
		round, want uint32
	}{
		{1, -5, 1, 1}, // any clock
		{1, -5, 1, 1},
		{1, 1_000, 3, 3},
		{1, 1_000, 2, 3},
		{1, 999, 2, 3},
		{2, 7, 9, 9}, // another member's clock
		{1, 1_001, 4, 4},
		{2, -9, 1, 9},
	} {
		before := w.Status()
		w.hear(signed(step.member, step.at, step.round))
		o.hear(signed(step.member, step.at, step.round))
		peer := w.Status().Peers[step.member-1]
		if peer.Round != step.want || o.peers[peer.Name].Round != step.want {
			t.Errorf("step %d: round %d at a member, %d at an observer, want %d", i, peer.Round,
				o.peers[peer.Name].Round, step.want)
		}
		if old := before.Peers[step.member-1]; step.round != step.want && *old.Heard != *peer.Heard {
			t.Errorf("step %d: the member counts as heard", i)
		}
	}
}

// TestAnnouncedTexts: a member's announcement can't fill the memory of others or steer the terminals on which
// they read it.
func TestAnnouncedTexts(t *testing.T) {
	key, err := identity.Generate(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := protocol.Bind(&protocol.Plan{Members: []protocol.Member{
		{Name: "eve", Role: protocol.RoleParty, Key: key.Public()}}})
	evil := "\x1b[2Jcompleted\n" + strings.Repeat("x", 1<<20)
	a := announcement{Time: 1, State: evil, Note: evil, Waiting: slices.Repeat([]string{evil}, 50)}
	body, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	sig := key.Sign(announcedBy(s, body))
	data, err := json.Marshal(envelope{Body: body, Sig: &sig})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := new(hearing).read(s, data)
	if p == nil || len(p.Waiting) != maxAnnouncedNames {
		t.Fatal(p)
	}
	for _, text := range append(p.Waiting, p.State, p.Note) {
		if len(text) > maxAnnouncedText || strings.ContainsAny(text, "\x1b\n") {
			t.Errorf("%.40q, %d bytes", text, len(text))
		}
	}
}

// TestAnnouncementsAreInOrder checks that a member's announcements have later and later times, also
// within a millisecond and after its clock was set back.
func TestAnnouncementsAreInOrder(t *testing.T) {
	var w watcher
	last := int64(0)
	for i, now := range []int64{1_000, 1_000, 400, 2_000, 1_999} {
		if at := w.next(time.UnixMilli(now)); at <= last || at < now {
			t.Errorf("announcement %d is of %d, after %d", i, at, last)
		} else {
			last = at
		}
	}
}

// FuzzAnnouncement: whatever a member signs, and whatever else comes, reading it ends, and what is taken is
// bounded.
func FuzzAnnouncement(f *testing.F) {
	key := identity.FromSeed([32]byte{1})
	s := protocol.Bind(&protocol.Plan{Members: []protocol.Member{
		{Name: "eve", Role: protocol.RoleParty, Key: key.Public()}}})
	f.Add([]byte(`{"member":0,"time":1,"state":"working","round":1,"settled":0,"waiting":["ada"],"note":"x"}`))
	f.Add([]byte(`{"ask":true}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		sig := key.Sign(announcedBy(s, body))
		data, err := json.Marshal(envelope{Body: body, Sig: &sig})
		if err != nil {
			t.Fatal(err)
		}
		if p, _ := new(hearing).read(s, body); p != nil {
			t.Errorf("%q is taken without a signature", body)
		}
		p, _ := new(hearing).read(s, data)
		if p != nil && (len(p.Waiting) > maxAnnouncedNames || len(p.State) > maxAnnouncedText ||
			len(p.Note) > maxAnnouncedText) {
			t.Errorf("%+v", p)
		}
	})
}
