package member_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/session/result"
	"choir/session/terms"
)

// TestRecordWithoutResult: the aggregator of a session that ends in its first round, as by a sum that does
// not open, leaves the record of who signed what, and no model.
func TestRecordWithoutResult(t *testing.T) {
	dir := t.TempDir()
	rig.WriteFile(t, dir, "schema.json", schema)
	configOf := site.DeployPlan(t, dir, time.Now(), learning, rig.WriteFile(t, dir, "a.csv", records()))
	c := configOf("agg")
	c.OutDir = filepath.Join(dir, "out")
	m, err := member.Open(c, protocol.RoleAggregator, slog.New(slog.DiscardHandler), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	store, err := m.OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	why := protocol.Fail(protocol.ClassIntegrity, "a test")
	for _, begun := range []bool{false, true} {
		for i, entry := range record(t, c, begun) {
			key := fmt.Sprintf("transcript/%08d", i)
			if err := store.Apply([]protocol.Record{{Key: key, Value: entry}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := store.Apply([]protocol.Record{{Key: "done", Value: protocol.MarshalEnd(why)}}); err != nil {
			t.Fatal(err)
		}
		if err := m.WriteOutputs(store, why); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(c.OutDir, "session.json")); (err == nil) != begun {
			t.Errorf("a round was begun: %v, and there is a record: %v", begun, err)
		}
	}
	r, err := result.VerifyFolder(c.OutDir)
	if err != nil || r.Rounds() != 0 || len(r.Attempts) != 1 || !strings.Contains(r.Aborted, "a test") {
		t.Errorf("%+v, %v", r, err)
	}
	if files, err := filepath.Glob(filepath.Join(c.OutDir, "model*")); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}

// record is a transcript that ends before the first round, or in it.
func record(t *testing.T, c *member.Config, begun bool) (entries [][]byte) {
	t.Helper()
	signed, err := terms.ReadPlan(c.PlanFile)
	if err != nil {
		t.Fatal(err)
	}
	key, err := terms.ReadKey(c.KeyFile, c.PassphraseFile)
	if err != nil {
		t.Fatal(err)
	}
	model, err := app.NewModel(signed.Plan)
	if err != nil {
		t.Fatal(err)
	}
	s, secret := protocol.Bind(signed.Plan), protocol.DigestSecret{1}
	sign := func(m protocol.Message) {
		b, err := s.Sign(key, s.Plan.Aggregator(), m)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, b)
	}
	sign(&protocol.Key{Number: 1, Public: bytes.Repeat([]byte{7}, 1216), NotAfter: s.Plan.NotAfter})
	entries = append(entries, protocol.TranscriptSecret(secret))
	if begun {
		sign(&protocol.Round{Round: 1, Attempt: 1, Model: protocol.IntDigest(secret.Key(0), model.Initial())})
	}
	sign(protocol.NewAbort(protocol.Fail(protocol.ClassIntegrity, "a test")))
	return entries
}
