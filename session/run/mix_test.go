package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/host"
	"choir/protocol"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// mixPlan is a plan of five parties and three nodes, in real time, with real keys.
func mixPlan(t *testing.T) (protocol.BoundPlan, []*identity.PrivateKey) {
	t.Helper()
	now := time.Now().Unix()
	p := &protocol.Plan{Name: "mix", Created: now - 10, NotAfter: now + 3600, Suite: channel.SuiteHybrid, Dim: 3,
		Rounds: 2, SpareAttempts: 2, MinParties: 5, Colluders: 1, DeadlineMS: 60_000, PerParty: 1 << 30,
		Application: "mix"}
	var keys []*identity.PrivateKey
	for i, name := range []string{"a", "b", "c", "d", "e", "node-a", "node-b", "node-c", "sum"} {
		key, err := identity.Generate(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
		role := []protocol.Role{1, 1, 1, 1, 1, 2, 2, 2, 3}[i]
		p.Members = append(p.Members,
			protocol.Member{Name: name, Role: role, Key: key.Public(), NotAfter: p.NotAfter})
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	return protocol.Bind(p), keys
}

// reporter is a party that sends the same values every round, so that two parties send equal reports.
type reporter uint32

func (r reporter) values(round uint32) []int64 { return []int64{int64(r / 2), int64(round), -7} }

func (r reporter) Propose(_ context.Context, w protocol.Work) ([]int64, []byte, error) {
	return r.values(w.Round), nil, nil
}

// wantReports are the reports that parties send in a round, in order.
func wantReports(parties int, round uint32) (all [][]int64) {
	for i := range parties {
		all = append(all, reporter(i).values(round))
	}
	return sorted(all)
}

func sorted(reports [][]int64) [][]int64 {
	slices.SortFunc(reports, slices.Compare[[]int64])
	return reports
}

func natsServer(t *testing.T) natsbus.Config {
	t.Helper()
	server, err := embedded.Start(embedded.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return natsbus.Config{Server: server, Storage: natsbus.Memory}
}

// TestMixOverNATS: what the aggregator receives is the multiset of what the parties sent.
func TestMixOverNATS(t *testing.T) {
	s, keys := mixPlan(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	l := &Local{Session: s, Keys: keys, Mix: true, Connect: OverNATS(ctx, s, natsServer(t)),
		Proposer: func(i uint32) protocol.Proposer { return reporter(i) }}
	rep, err := l.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for round := range s.Plan.Rounds {
		got := sorted(rep.Reports[round])
		if !slices.EqualFunc(got, wantReports(5, round+1), slices.Equal) {
			t.Errorf("round %d: %v, want %v", round+1, got, wantReports(5, round+1))
		}
	}
	if least := slices.Min(rep.UploadBytes); least < 2*6*1000 || least != slices.Max(rep.UploadBytes) {
		t.Errorf("the parties sent %v bytes: not all the same", rep.UploadBytes)
	}
}

// TestMixRestarts: over NATS, with stores on disk, each member's process ends once: a party's after it has
// drawn its reports, a node's after it has signed the list and before it opens it, the aggregator's when it
// opens an attempt. Started again with its store, each goes on where it was.
func TestMixRestarts(t *testing.T) {
	ends := map[protocol.Role]protocol.Code{protocol.RoleParty: protocol.NoteContributed,
		protocol.RoleCompute: protocol.NoteAgreed, protocol.RoleAggregator: protocol.NoteRound}
	s, keys := mixPlan(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	connect, dir := OverNATS(ctx, s, natsServer(t)), t.TempDir()
	errs := make([]error, len(keys))
	restarted := make([]int, len(keys))
	var group sync.WaitGroup
	for i := range uint32(len(keys)) {
		bus, err := connect(i)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = bus.Close() }()
		group.Go(func() {
			for again := true; again; {
				store, err := host.OpenFile(filepath.Join(dir, fmt.Sprint(i)))
				if err != nil {
					errs[i] = err
					return
				}
				own, stop := context.WithCancelCause(ctx)
				role := &Role{Session: s, Key: keys[i], Store: store, Bus: bus, Rand: rand.Reader, Mix: true,
					Proposer: reporter(i), Notify: func(n protocol.Notice) {
						if n.Code == ends[s.Plan.Members[i].Role] && n.Round == 1 && restarted[i] == 0 {
							restarted[i]++
							stop(errLeft)
						}
					}}
				err = role.Run(own)
				stop(nil)
				again = errors.Is(err, errLeft)
				if !again {
					errs[i] = err
				}
				if i == s.Plan.Aggregator() && err == nil {
					errs[i] = checkStore(s, store)
				}
				errs[i] = cmp.Or(errs[i], store.Close())
			}
		})
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("%s: %v", s.Name(uint32(i)), err)
		}
	}
	if !slices.Equal(restarted, []int{1, 1, 1, 1, 1, 1, 1, 1, 1}) {
		t.Errorf("restarted %v times", restarted)
	}
}

// checkStore compares the reports in the aggregator's store with what the parties sent.
func checkStore(s protocol.BoundPlan, store host.Store) error {
	for round := uint32(1); round <= s.Plan.Rounds; round++ {
		got, err := mixReports(s.Plan, store, round)
		if err != nil {
			return err
		}
		if !slices.EqualFunc(sorted(got), wantReports(5, round), slices.Equal) {
			return fmt.Errorf("round %d: reports %v", round, got)
		}
	}
	return nil
}
