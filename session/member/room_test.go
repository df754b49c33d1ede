package member_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/natsbus"
)

// lungs is a consortium of five sites, each with a copy of the folder.
type lungs struct {
	t     *testing.T
	dir   string // keys and cards
	bus   member.BusConfig
	rooms map[string]*member.Room
}

func (l *lungs) folder(name string) terms.Consortium {
	return terms.Consortium(filepath.Join(l.dir, "copy-"+name))
}

func (l *lungs) open(name string, own identity.PublicKey) *member.Room {
	l.t.Helper()
	if err := l.folder(name).SetRoom("lungs"); err != nil {
		l.t.Fatal(err)
	}
	c := &member.Config{KeyFile: filepath.Join(l.dir, name+".key"), Bus: l.bus}
	r, err := member.OpenRoom(l.t.Context(), c, l.folder(name), own, slog.New(slog.DiscardHandler))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = r.Close() })
	l.rooms[name] = r
	return r
}

func (l *lungs) sync(name, fingerprint string) {
	l.t.Helper()
	if err := l.rooms[name].Sync(l.t.Context(), fingerprint); err != nil {
		l.t.Fatal(name, err)
	}
}

// raw publishes what it is given in the room, as anybody may who has access to the broker.
func (l *lungs) raw(kind string, data []byte) {
	l.t.Helper()
	h := sha256.Sum256([]byte("choir v1 room\x00lungs"))
	id := hex.EncodeToString(h[:16])
	bus, err := natsbus.Open(l.t.Context(), natsbus.Config{URL: l.bus.URL, TokenFile: l.bus.TokenFile, Plan: id})
	if err != nil {
		l.t.Fatal(err)
	}
	defer bus.Close()
	d := sha256.Sum256(data)
	subject := "choir." + id + "." + kind + "." + hex.EncodeToString(d[:16])
	if err := bus.Publish(l.t.Context(), transport.Message{Subject: subject, Data: data}); err != nil {
		l.t.Fatal(err)
	}
}

func text(t *testing.T, m interface{ MarshalText() ([]byte, error) }) []byte {
	t.Helper()
	b, err := m.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRoomIsNotTrusted lets five sites agree on a plan through the broker while somebody who can publish
// there, but has none of their keys, publishes garbage, forged cards and signatures, and other plans.
func TestRoomIsNotTrusted(t *testing.T) {
	dir := t.TempDir()
	data := rig.WriteFile(t, dir, "a.csv", "1\n")
	site.DeployPlan(t, dir, time.Now(), "[sum]\ncolumns = 1\nbound = 10.0\n", data)
	l := &lungs{t: t, dir: dir, bus: brokerOf(t, dir), rooms: map[string]*member.Room{}}
	names := []string{"party-a", "party-b", "node-a", "node-b", "agg"}
	cards := map[string]identity.Card{}
	for _, name := range names {
		card, err := terms.ReadCard(filepath.Join(dir, name+".card"), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		cards[name] = card
		l.open(name, card.Key)
		if _, err := l.folder(name).AddCard(filepath.Join(dir, name+".card"), time.Now()); err != nil {
			t.Fatal(err)
		}
		l.sync(name, "")
	}
	other := t.TempDir()
	if _, _, _, err := member.NewIdentity(other, "party-a", filepath.Join(dir, "pass"), site.Costs, time.Now(),
		time.Hour); err != nil {
		t.Fatal(err)
	}
	rival, err := terms.ReadCard(filepath.Join(other, "party-a.card"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	forged := cards["party-b"]
	forged.Key = rival.Key
	l.raw("card", text(t, rival))
	l.raw("card", text(t, forged))
	l.raw("card", bytes.Repeat([]byte("x"), 5<<10))
	l.raw("plan", []byte("no plan"))
	l.raw("accept", []byte("no signature"))
	l.raw("virus", []byte("../../etc/passwd"))

	config := "name = \"lungs\"\nlifetime = \"24h\"\n" +
		"parties = [\"cards/party-a.card\", \"cards/party-b.card\"]\n" +
		"computes = [\"cards/node-a.card\", \"cards/node-b.card\"]\naggregator = \"cards/agg.card\"\n" +
		"[sum]\ncolumns = 1\nbound = 10.0\n"
	host := l.open("host", identity.PublicKey{})
	l.sync("host", "")
	rig.WriteFile(t, string(l.folder("host")), "plan.toml", config)
	plan, missing, err := l.folder("host").Propose(time.Now(), nil)
	if err != nil || len(missing) > 0 {
		t.Fatal(missing, err)
	}
	until(t, "the host hears of the rival card", func() bool {
		l.sync("host", "")
		return strings.Contains(strings.Join(host.Odd(), "\n"), "a second card of party-a")
	})
	checkMember(t, plan.Plan, cards)

	// A plan with the rival's key, and one that has all keys but other terms: neither is signed.
	bad := *plan.Plan
	bad.Name = "lungs for sale"
	l.raw("plan", text(t, &protocol.SignedPlan{Plan: &bad}))
	stranger := signerOf(t, filepath.Join(other, "party-a.key"), dir)
	accept, err := protocol.Bind(plan.Plan).Sign(stranger, 0, &protocol.Accept{})
	if err != nil {
		t.Fatal(err)
	}
	l.raw("accept", accept)

	fingerprint := terms.Fingerprint(plan.Plan.ID())
	for _, name := range names {
		folder := l.folder(name)
		until(t, name+" sees the plan", func() bool {
			l.sync(name, fingerprint)
			return folder.Check(fingerprint) == nil
		})
		key := signerOf(t, filepath.Join(dir, name+".key"), dir)
		if err := folder.Approve(terms.Fingerprint(bad.ID()), key, time.Now()); err == nil {
			t.Error("another plan than the proposed one was signed")
		}
		if err := folder.Approve(fingerprint, key, time.Now()); err != nil {
			t.Fatal(name, err)
		}
		l.sync(name, "") // what was signed stays, whatever comes later
	}
	for _, name := range names {
		until(t, name+" has all signatures", func() bool {
			l.sync(name, "")
			all, odd, err := l.folder(name).Collect()
			if err != nil || len(odd) > 0 {
				t.Fatal(odd, err)
			}
			return all.Plan.ID() == plan.Plan.ID() && len(all.Missing()) == 0
		})
	}
	for _, want := range []string{"a second card of party-a", "a card: ", "a proposed plan: ", "a signature: ",
		"a \"virus\"", "a \"card\" of 5120 bytes"} {
		if odd := strings.Join(l.rooms["party-b"].Odd(), "\n"); !strings.Contains(odd, want) {
			t.Errorf("party-b is not told of %q:\n%s", want, odd)
		}
	}
}

// checkMember checks that a plan has the keys of the cards.
func checkMember(t *testing.T, p *protocol.Plan, cards map[string]identity.Card) {
	t.Helper()
	for _, m := range p.Members {
		if m.Key != cards[m.Name].Key {
			t.Errorf("the plan has another key of %s", m.Name)
		}
	}
}

func signerOf(t *testing.T, file, dir string) *identity.PrivateKey {
	t.Helper()
	key, err := terms.ReadKey(file, filepath.Join(dir, "pass"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestRoomRefusals: names that no room can have, a folder of another room, and a broker that is not there.
func TestRoomRefusals(t *testing.T) {
	dir := t.TempDir()
	folder := terms.Consortium(filepath.Join(dir, "Lungs 2"))
	if err := folder.SetRoom(""); err == nil || !strings.Contains(err.Error(), "--room") {
		t.Error(err)
	}
	if err := folder.SetRoom("lungs"); err != nil {
		t.Fatal(err)
	}
	if err := folder.SetRoom("heart"); err == nil || !strings.Contains(err.Error(), "another folder") {
		t.Error(err)
	}
	c := &member.Config{KeyFile: "a.key", Bus: member.BusConfig{URL: "nats://127.0.0.1:1"}}
	c.Timing.Connect.Duration = 100 * time.Millisecond
	log := slog.New(slog.DiscardHandler)
	_, err := member.OpenRoom(context.Background(), c, folder, identity.PublicKey{}, log)
	if protocol.ClassOf(err) != protocol.ClassAuth {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(string(folder), "room"), []byte("../x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Room(); protocol.ClassOf(err) != protocol.ClassInput {
		t.Error(err)
	}
}

// TestRoomExpires: the broker drops documents after 90 days, and a site that is there publishes its own
// again in the second half of that, once.
func TestRoomExpires(t *testing.T) {
	dir := t.TempDir()
	data := rig.WriteFile(t, dir, "a.csv", "1\n")
	site.DeployPlan(t, dir, time.Now(), "[sum]\ncolumns = 1\nbound = 10.0\n", data)
	l := &lungs{t: t, dir: dir, bus: brokerOf(t, dir), rooms: map[string]*member.Room{}}
	key := signerOf(t, filepath.Join(dir, "party-a.key"), dir)
	r := l.open("party-a", key.Public())
	if _, err := l.folder("party-a").AddCard(filepath.Join(dir, "party-a.card"), time.Now()); err != nil {
		t.Fatal(err)
	}
	for i, by := range []time.Duration{0, 44 * 24 * time.Hour, 2 * 24 * time.Hour, 0} {
		r.Age(by)
		l.sync("party-a", "")
		want := []int{1, 1, 2, 2}[i]
		until(t, "the card is published", func() bool { return r.Count() >= want })
		if got := r.Count(); got != want {
			t.Errorf("step %d: %d messages, want %d", i, got, want)
		}
	}
	h := sha256.Sum256([]byte("choir v1 room\x00lungs"))
	bus, err := natsbus.Open(t.Context(), natsbus.Config{URL: l.bus.URL, TokenFile: l.bus.TokenFile,
		Plan: hex.EncodeToString(h[:16])})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	if s, err := bus.Inspect(t.Context()); err != nil || s.MaxAge != 90*24*time.Hour {
		t.Errorf("the stream keeps its messages for %v: %v", s, err)
	}
}
