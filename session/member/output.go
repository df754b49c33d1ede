package member

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"choir/host"
	"choir/internal/atomicfile"
	"choir/privacy"
	"choir/protocol"
	"choir/session/app"
	"choir/session/result"
	"choir/session/run"
)

// signedKey is the key of the signed plan in a store, for each plan.
const signedKey = "signed"

// Outcome is the file session.json: how far a session has come at a member.
type Outcome struct {
	SchemaVersion int    `json:"schema_version"`
	Plan          string `json:"plan"`
	Member        string `json:"member"`
	Role          string `json:"role"`
	Rounds        uint32 `json:"rounds"`  // of the plan
	Settled       uint32 `json:"settled"` // rounds whose result the member has checked
	Completed     bool   `json:"completed"`
	Ended         string `json:"ended,omitempty"` // why it ended early; empty: it has completed, or may go on

	warnings []string // of the model
}

// interruptible calls f, and then release. If ctx ends while f runs, interruptible returns with the cause and
// leaves both to another goroutine. With a ctx that has ended before, it waits for f.
func interruptible(ctx context.Context, f func() error, release func()) error {
	if ctx.Err() != nil {
		defer release()
		return f()
	}
	done := make(chan error, 1)
	go func() {
		err := f()
		release()
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writeOutputs writes what the member has of the session when it ends, early or not: end is the
// error that ended it. Without an out_dir or before the first result there is nothing to write.
func (m *Member) writeOutputs(store *host.Scoped, end error) error {
	if m.Config.OutDir == "" || end != nil && store.Get("model") == nil && store.Get("settled") == nil &&
		!m.evidence(store) {
		return nil
	}
	m.Log.Info("writing the results", "event", "writing", "folder", m.Config.OutDir)
	e := exporter{m.Signed, m.Session, m.Index, store, m.Config.OutDir}
	out, err := e.write(end)
	if err != nil {
		return err
	}
	if m.Session.Plan.Is(m.Index, protocol.RoleAggregator) && end == nil {
		for _, w := range out.warnings {
			m.Log.Warn(w, "event", "warning")
		}
	}
	m.Log.Info("written", "event", "written", "folder", m.Config.OutDir, "settled", out.Settled)
	return nil
}

// evidence reports whether the store is the aggregator's, of a session that began a round: the record shows
// who contradicted whom, also if no round has a result.
func (m *Member) evidence(store *host.Scoped) bool {
	return m.Session.Plan.Is(m.Index, protocol.RoleAggregator) && store.Get("done") != nil &&
		slices.ContainsFunc(run.Transcript(store), func(entry []byte) bool {
			return len(entry) > 0 && protocol.Kind(entry[0]) == protocol.KindRound
		})
}

// exporter writes what a store has of a session.
type exporter struct {
	signed  *protocol.SignedPlan
	session protocol.BoundPlan
	member  uint32
	store   *host.Scoped
	dir     string
}

// write writes the model, then the record of the session: at the aggregator its transcript, at a
// party the ledger.
func (e exporter) write(end error) (*Outcome, error) {
	var warnings []string
	if e.learns() && e.store.Get("model") != nil {
		final, err := e.model()
		if err != nil {
			return nil, err
		}
		warnings = final.Warnings
	}
	text, err := e.signed.MarshalText()
	if err != nil {
		return nil, err
	}
	o := e.outcome(end)
	o.warnings = warnings
	if e.session.Plan.Is(e.member, protocol.RoleAggregator) {
		err = e.transcript(text)
	} else {
		err = errors.Join(atomicfile.WriteFile(filepath.Join(e.dir, result.PlanFile), text), e.ledger())
	}
	if err != nil {
		return nil, err
	}
	return o, atomicfile.WriteJSON(filepath.Join(e.dir, "session.json"), o)
}

// learns reports whether the member knows the results. With a mix-net only the aggregator receives the
// reports.
func (e exporter) learns() bool {
	return !e.session.Plan.Mixes() || e.session.Plan.Is(e.member, protocol.RoleAggregator)
}

// model writes the files of the model.
func (e exporter) model() (*result.ModelFile, error) {
	state, ok := protocol.UnpackInts(e.store.Get("model"))
	if !ok || len(state) == 0 {
		return nil, errors.New("the store has no model")
	}
	trace, err := e.trace()
	if err != nil {
		return nil, err
	}
	final, err := result.NewModelFile(e.session, state, trace)
	if err != nil {
		return nil, err
	}
	return final, final.Write(e.dir)
}

// trace is what the rounds revealed: by the aggregator's transcript, or by a party's sums.
func (e exporter) trace() ([]app.Revealed, error) {
	if !e.session.Plan.Is(e.member, protocol.RoleAggregator) {
		return partyTrace(e.store, e.session.Plan)
	}
	return result.ChainTrace(e.session, run.Transcript(e.store), storedBefore(e.store))
}

func (e exporter) transcript(plan []byte) error {
	own := result.Record{Plan: plan, Transcript: protocol.MarshalTranscript(run.Transcript(e.store))}
	return result.WriteRecords(filepath.Join(e.dir, "transcript"),
		append([]result.Record{own}, storedBefore(e.store)...))
}

// ledger writes what the party's ledger has spent, at the plan's delta.
func (e exporter) ledger() error {
	l, err := readLedger(e.store)
	if err != nil || l.Len() == 0 {
		return err
	}
	s, err := spending(l, max(e.session.Plan.Delta, privacy.MinDelta))
	if err != nil {
		return err
	}
	return atomicfile.WriteJSON(filepath.Join(e.dir, "ledger.json"), s)
}

func (e exporter) outcome(end error) *Outcome {
	p := e.session.Plan
	o := &Outcome{SchemaVersion: 1, Plan: e.session.ID.String(), Member: e.session.Name(e.member),
		Role: p.Members[e.member].Role.String(), Rounds: p.Rounds, Settled: settled(e.session, e.store)}
	if done := e.store.Get("done"); done != nil {
		end = protocol.UnmarshalEnd(done)
		o.Completed = end == nil
	}
	if end != nil {
		o.Ended = end.Error()
	}
	return o
}

// results are the kinds of messages that end a round.
var results = []protocol.Kind{protocol.KindResult, protocol.KindMixResult}

// settled is the last round whose result a store has: a party's record, or the last result in the
// aggregator's transcript.
func settled(s protocol.BoundPlan, store protocol.View) uint32 {
	if b := store.Get("settled"); len(b) == 4 {
		return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	}
	for _, key := range slices.Backward(store.Keys("transcript/")) {
		b := store.Get(key)
		if len(b) == 0 || !slices.Contains(results, protocol.Kind(b[0])) {
			continue
		}
		_, m, err := s.Receive(b)
		if err != nil {
			continue
		}
		switch r := m.(type) {
		case *protocol.Result:
			if r.Outcome != protocol.OutcomeVoid {
				return r.Round
			}
		case *protocol.MixResult:
			if r.Outcome != protocol.OutcomeVoid {
				return r.Round
			}
		}
	}
	return 0
}

// Export writes what a member's store has of a session into a folder: the model of the last round
// that it has checked, and the transcript or the ledger. The member must not be running. plan is
// the beginning of the plan's id; empty if the store has one plan only.
func Export(path, plan, dir string) (*Outcome, error) {
	f, err := openExisting(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	signed, err := planIn(f, path, plan)
	if err != nil {
		return nil, err
	}
	s := protocol.Bind(signed.Plan)
	view := scopeOf(f, s.Plan)
	owner := string(view.Get(ownerKey))
	for i, member := range signed.Plan.Members {
		if member.Name != owner {
			continue
		}
		if member.Role == protocol.RoleCompute {
			return nil, protocol.Fail(protocol.ClassInput, "%s is the store of %s, a compute node, which never sees "+
				"a model: export it at a party or at the aggregator", path, owner)
		}
		if view.Get("model") == nil && view.Get("settled") == nil {
			return nil, protocol.Fail(protocol.ClassInput, "%s: no round of plan %s is settled yet", path,
				s.ID.Short())
		}
		return exporter{signed, s, uint32(i), view, dir}.write(nil)
	}
	return nil, protocol.Fail(protocol.ClassIntegrity, "%s: its owner %q is not in its plan", path, owner)
}

// storedPlan is the key of the plan in a store whose id begins with a text; without one, of the only
// plan that this member has not left for a successor.
func storedPlan(f host.Store, path, plan string) (string, error) {
	var found, ids []string
	for _, key := range f.Keys("plan/") {
		id, ok := strings.CutSuffix(strings.TrimPrefix(key, "plan/"), "/"+signedKey)
		if !ok {
			continue
		}
		ids = append(ids, id)
		if strings.HasPrefix(id, plan) && (plan != "" || f.Get("plan/"+id+"/"+successorKey) == nil) {
			found = append(found, key)
		}
	}
	switch {
	case len(ids) == 0:
		return "", protocol.Fail(protocol.ClassInput, "%s has the state of no session", path)
	case len(found) != 1:
		return "", protocol.Fail(protocol.ClassInput, "plan: %q names %d of the plans in %s: %s", plan, len(found),
			path, strings.Join(ids, " "))
	}
	return found[0], nil
}

// planIn is the signed plan of storedPlan.
func planIn(f host.Store, path, plan string) (*protocol.SignedPlan, error) {
	key, err := storedPlan(f, path, plan)
	if err != nil {
		return nil, err
	}
	signed, err := protocol.UnmarshalSignedPlan(f.Get(key))
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "%s: the stored plan: %w", path, err)
	}
	return signed, nil
}

// remember keeps the signed plan in the store, for Export.
func (m *Member) remember(store host.Store) error {
	if store.Get(signedKey) != nil {
		return nil
	}
	text, err := m.Signed.MarshalText()
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	return store.Apply([]protocol.Record{{Key: signedKey, Value: text}})
}
