package verify_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/protocol"
	"choir/protocol/verify"
)

// full is a complete session: with a void attempt, a party that is not counted, and two rounds.
func full(t *testing.T, change func(*protocol.Plan)) *script {
	return newScript(t, change).begin().
		attempt(1, 1, values(), 2).
		attempt(1, 2, values(), 0, 2).
		attempt(2, 1, values(), 0, 1, 2)
}

func TestTranscript(t *testing.T) {
	w := full(t, nil)
	r, err := verify.Transcript(w.signed, w.entries, w.model)
	if err != nil {
		t.Fatal(err)
	}
	var sets, uncounted [][]string
	var outcomes []protocol.Outcome
	for _, a := range r.Attempts {
		sets, uncounted, outcomes = append(sets, a.Set), append(uncounted, a.Uncounted), append(outcomes, a.Outcome)
	}
	if d := cmp.Diff(sets, [][]string{nil, {"ann", "cleo"}, {"ann", "ben", "cleo"}}); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(uncounted, [][]string{nil, {"ben"}, nil}); d != "" {
		t.Error(d)
	}
	if !slices.Equal(outcomes, []protocol.Outcome{protocol.OutcomeVoid, protocol.OutcomeAccepted,
		protocol.OutcomeAccepted}) {
		t.Error(outcomes)
	}
	if d := cmp.Diff(r.Models, [][]int64{{0, 0}, {-299, 398}, {-289, 418}}); d != "" {
		t.Error(d)
	}
	if r.Rounds() != 2 || r.Releases != 2 || !r.Completed() || r.Claimed || r.Audited ||
		!slices.Equal(r.Model(), []int64{-289, 418}) {
		t.Errorf("%+v", r)
	}
}

// TestRejected: a sum beyond the plan's range does not change the model.
func TestRejected(t *testing.T) {
	huge := map[uint32][]int64{0: {1 << 50, 1}, 1: {1, 1}}
	w := newScript(t, nil).begin().attempt(1, 1, huge, 0, 1).attempt(2, 1, values(), 0, 1)
	r, err := verify.Transcript(w.signed, w.entries, w.model)
	if err != nil {
		t.Fatal(err)
	}
	if r.Attempts[0].Outcome != protocol.OutcomeRejected || r.Releases != 2 ||
		!slices.Equal(r.Models[1], []int64{0, 0}) {
		t.Errorf("%+v", r)
	}
	i := alter(w, 0, func(m *protocol.Result) { m.Outcome = protocol.OutcomeAccepted })
	refused(t, w, i, "recomputing gives rejected")
}

func TestBudget(t *testing.T) {
	private := func(p *protocol.Plan) {
		p.MinParties, p.Noise, p.Variance, p.Relation, p.Sensitivity = 2, protocol.NoiseParty, 1<<24, 1, 2000
		p.Epsilon, p.Delta, p.Accountant = 4, 1e-5, protocol.AccountantInteger
	}
	w := full(t, private)
	r, err := verify.Transcript(w.signed, w.entries, w.model)
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := w.s.Plan.Spends(3) // the void attempt was charged too
	if err != nil {
		t.Fatal(err)
	}
	if !r.Claimed || r.Epsilon != want.Epsilon || r.Delta != 1e-5 || r.Releases != 2 {
		t.Errorf("%+v, want epsilon %v", r, want.Epsilon)
	}
	w.signed.Plan.Epsilon = want.Epsilon / 2
	w.plan(w.signed.Plan)
	if _, err := verify.Transcript(w.signed, w.entries,
		w.model); protocol.ClassOf(err) != protocol.ClassIntegrity {
		t.Errorf("a plan that claims too little: %v", err)
	}
}

// TestUnconfirmed: the aggregator and node-b know node-a's partial sum and record another sum in the place
// of the one that node-a confirmed. They can't have its Confirm, and the report has that, however the record
// ends.
func TestUnconfirmed(t *testing.T) {
	for name, end := range map[string]func(w *script){
		"cut":     func(*script) {},
		"aborted": func(w *script) { w.record(5, &protocol.Abort{Class: 5, Reason: "gone"}) },
		"a next round": func(w *script) {
			w.record(5, &protocol.Round{Round: 2, Attempt: 1, Model: w.digest(1, w.now), Last: w.last})
		},
		"the liar's own": func(w *script) {
			w.record(5, &protocol.Round{Round: 2, Attempt: 1, Model: w.digest(1, w.now), Last: w.last})
			w.record(4, w.due[1])
			w.record(5, &protocol.Abort{Class: 5, Reason: "gone"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScript(t, nil).begin().attempt(1, 1, values(), 0, 1)
			end(w)
			r, err := verify.Transcript(w.signed, w.entries, w.model)
			if err != nil {
				t.Fatal(err)
			}
			if !r.Unconfirmed || r.Completed() {
				t.Errorf("%+v", r)
			}
		})
	}
	w := full(t, nil)
	stopped := newScript(t, nil).begin().attempt(1, 1, values(), 0, 1)
	confirms := stopped.due
	stopped.record(5, &protocol.Round{Round: 2, Attempt: 1, Model: stopped.digest(1, stopped.now),
		Last: stopped.last})
	for k, m := range confirms {
		stopped.record(uint32(3+k), m)
	}
	r, err := verify.Transcript(stopped.signed, stopped.entries, stopped.model)
	if err != nil || r.Unconfirmed || !r.Stopped {
		t.Errorf("stopped when all nodes had confirmed: %+v, %v", r, err)
	}
	if r, err := verify.Transcript(w.signed, w.entries, w.model); err != nil || r.Unconfirmed {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAborted(t *testing.T) {
	why := &protocol.Abort{Class: 5, Reason: "too few members"}
	for name, build := range map[string]func(w *script){
		"before round 1": func(w *script) {},
		"in an open attempt": func(w *script) {
			w.record(5,
				&protocol.Round{Round: 1, Attempt: 1, Model: w.digest(0, w.now)})
		},
		"after a void one": func(w *script) { w.attempt(1, 1, values(), 1) },
		"between rounds":   func(w *script) { w.attempt(1, 1, values(), 1, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newScript(t, nil).begin()
			build(w)
			w.record(5, why)
			r, err := verify.Transcript(w.signed, w.entries, w.model)
			if err != nil || r.Completed() || !strings.Contains(r.Aborted, why.Reason) {
				t.Error(err)
			}
			w.record(5, why)
			refused(t, w, len(w.entries)-1, "the session was over")
		})
	}
}

// refused checks that the transcript is rejected at that entry with that cause.
func refused(t *testing.T, w *script, entry int, cause string) {
	t.Helper()
	_, err := verify.Transcript(w.signed, w.entries, w.model)
	if err == nil || protocol.ClassOf(err) != protocol.ClassIntegrity {
		t.Errorf("%v, want an integrity error with %q", err, cause)
		return
	}
	if where := fmt.Sprintf("transcript: entry %d: ", entry); !strings.HasPrefix(err.Error(), where) ||
		!strings.Contains(err.Error(), cause) {
		t.Errorf("%v, want %q at entry %d", err, cause, entry)
	}
}

// TestTooManySpares: the plan allows one spare attempt, not two.
func TestTooManySpares(t *testing.T) {
	w := newScript(t, nil).begin().attempt(1, 1, values(), 0).attempt(1, 2, values(), 0)
	i := len(w.entries)
	w.attempt(1, 3, values(), 0, 1, 2)
	refused(t, w, i, "one more than the plan's 1 spare attempts")
	w = newScript(t, nil).begin().attempt(1, 1, values(), 0).attempt(1, 2, values(), 0, 1).attempt(2, 1,
		values(), 0)
	i = len(w.entries)
	w.attempt(2, 2, values(), 0, 1, 2)
	refused(t, w, i, "one more than the plan's 1 spare attempts")
}

// TestDropRepeatSwap: no entry can be dropped, repeated or moved, with these exceptions: channels
// may be dropped and come in any order, since nothing follows from them, and a contribution that
// no list names may be dropped.
func TestDropRepeatSwap(t *testing.T) {
	w := full(t, nil)
	tried := 0
	for i := range w.entries {
		kind := protocol.Kind(w.entries[i][0])
		variants := map[string][][]byte{
			"repeat": slices.Concat(w.entries[:i+1], w.entries[i:]),
		}
		if w.stops(i) {
			r, err := verify.Transcript(w.signed, w.entries[:i], w.model)
			if err != nil || !r.Stopped || r.Completed() || r.Rounds() != w.resultsBefore(i) {
				t.Errorf("stopped before entry %d (%s): %+v, %v", i, kind, r, err)
			}
		} else {
			variants["cut"] = w.entries[:i]
		}
		if kind != protocol.KindOpen && !w.unlisted(i) {
			variants["drop"] = slices.Concat(w.entries[:i], w.entries[i+1:])
		}
		if i+1 < len(w.entries) && (kind != protocol.KindOpen ||
			protocol.Kind(w.entries[i+1][0]) != protocol.KindOpen) {
			variants["swap"] = slices.Concat(w.entries[:i], [][]byte{w.entries[i+1], w.entries[i]}, w.entries[i+2:])
		}
		if w.mayMove(i) {
			delete(variants, "swap")
		}
		for name, entries := range variants {
			tried++
			if _, err := verify.Transcript(w.signed, entries,
				w.model); protocol.ClassOf(err) != protocol.ClassIntegrity || err == nil {
				t.Errorf("%s entry %d (%s): %v", name, i, kind, err)
			}
		}
	}
	if tried < 3*len(w.entries) {
		t.Errorf("only %d variants", tried)
	}
}

// stops reports whether a session that is stopped may leave the entries before i: the channels of
// the beginning, a result, the opening of an attempt, or all Confirms after that are the last.
func (w *script) stops(i int) bool {
	if i < 2 {
		return false
	}
	switch protocol.Kind(w.entries[i-1][0]) {
	case protocol.KindOpen, protocol.KindResult, protocol.KindRound:
		return true
	case protocol.KindConfirm:
		return protocol.Kind(w.entries[i][0]) != protocol.KindConfirm
	}
	return i == 2 // the key and the secret of the digests
}

// resultsBefore is the number of rounds that are settled before entry i.
func (w *script) resultsBefore(i int) (n int) {
	for _, entry := range w.entries[:i] {
		if _, m, err := w.s.Receive(entry); err == nil {
			if r, ok := m.(*protocol.Result); ok && r.Outcome != protocol.OutcomeVoid {
				n++
			}
		}
	}
	return n
}

// unlisted are the contributions that no list of full names, and the lists of the void attempt,
// whose agrees are void without them too.
func (w *script) unlisted(i int) bool {
	e, m, err := w.s.Receive(w.entries[i])
	if err != nil {
		return false
	}
	switch m := m.(type) {
	case *protocol.Contribution:
		return m.Round == 1 && (m.Attempt == 1 || e.From == 1)
	case *protocol.Hold:
		return m.Round == 1 && m.Attempt == 1
	}
	return false
}

// mayMove reports whether an entry may be moved: the last channel may be opened after the first
// round.
func (w *script) mayMove(i int) bool {
	return protocol.Kind(w.entries[i][0]) == protocol.KindOpen &&
		protocol.Kind(w.entries[i+1][0]) == protocol.KindRound
}

// TestLongAuditedPlan: the generators of a plan's commitments take much more than a model, and are made when
// there is a sum to check, and not of what a plan file alone says.
func TestLongAuditedPlan(t *testing.T) {
	w := newScript(t, func(p *protocol.Plan) { p.Audit, p.Dim = true, 1<<13 }).begin()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := verify.Transcript(w.signed, w.entries, w.model)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || !r.Stopped || n > 1<<19 {
		t.Errorf("%d bytes: %v", n, err)
	}
}

// TestLongPlan: the model before the first sum takes no memory, which a plan file alone would decide about,
// and is checked all the same.
func TestLongPlan(t *testing.T) {
	const dim = 1 << 22
	w := newScript(t, func(p *protocol.Plan) { p.Dim = dim }).begin()
	w.record(5, &protocol.Round{Round: 1, Attempt: 1, Model: w.digest(0, w.now)})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := verify.Transcript(w.signed, w.entries, w.model)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err != nil || !r.Stopped || n > 1<<20 {
		t.Fatalf("%d bytes: %v", n, err)
	}
	if m := r.Model(); len(m) != dim || m[dim-1] != 0 {
		t.Errorf("a model of %d numbers", len(m))
	}
	w.now[dim-1] = 1
	w.entries = w.entries[:len(w.entries)-1]
	w.record(5, &protocol.Round{Round: 1, Attempt: 1, Model: w.digest(0, w.now)})
	if _, err := verify.Transcript(w.signed, w.entries, w.model); !errors.Is(err, protocol.ErrMismatch) {
		t.Errorf("a round on another model: %v", err)
	}
}

// TestLongModelOfNoSum: a model that is not all zeros is made for no record without a sum if it is long.
func TestLongModelOfNoSum(t *testing.T) {
	w := newScript(t, nil)
	p := *w.signed.Plan
	p.Dim = 1<<24 + 1
	signed := &protocol.SignedPlan{Plan: &p}
	for _, k := range w.keys {
		w.must(signed.Sign(k))
	}
	_, err := verify.Transcript(signed, w.entries, unmade{t})
	if protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "verify a later record") {
		t.Errorf("%v", err)
	}
}

// unmade is a model that must not be made.
type unmade struct{ t *testing.T }

func (m unmade) Initial() []int64 {
	m.t.Error("the model was made")
	return nil
}

func (unmade) Fold(uint32, []int64, []int64) ([]int64, error) { return nil, nil }

// TestPlanIsChecked: a SignedPlan that was not read from a file is checked.
func TestPlanIsChecked(t *testing.T) {
	for name, spoil := range map[string]func(sp *protocol.SignedPlan){
		"unsigned":          func(sp *protocol.SignedPlan) { sp.Accepts = sp.Accepts[:5] },
		"wrongly signed":    func(sp *protocol.SignedPlan) { sp.Accepts[1].Sig[3] ^= 1 },
		"an accept's body":  func(sp *protocol.SignedPlan) { sp.Accepts[1].Body = []byte{1} },
		"altered afterward": func(sp *protocol.SignedPlan) { sp.Plan.PerParty++ },
		"invalid":           func(sp *protocol.SignedPlan) { sp.Plan.Dim = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w := full(t, nil)
			spoil(w.signed)
			if _, err := verify.Transcript(w.signed, w.entries, w.model); err == nil ||
				protocol.ClassOf(err) != protocol.ClassIntegrity {
				t.Error(err)
			}
		})
	}
	w := full(t, nil)
	b, err := w.s.Sign(w.keys[5], 5, &protocol.Round{Round: 1, Attempt: 1})
	w.must(err)
	w.signed.Accepts[5], err = protocol.UnmarshalEnvelope(b)
	w.must(err)
	if _, err := verify.Transcript(w.signed, w.entries, w.model); err == nil ||
		!strings.Contains(err.Error(), "among the signatures") {
		t.Errorf("a round for a signature: %v", err)
	}
}

func TestAudit(t *testing.T) {
	audit := func(p *protocol.Plan) { p.Audit = true }
	w := full(t, audit)
	r, err := verify.Transcript(w.signed, w.entries, w.model)
	if err != nil || !r.Audited {
		t.Fatal(err)
	}
	t.Run("a node sums something else", func(t *testing.T) {
		// Everything is signed and consistent; only the commitments show it.
		w := newScript(t, audit).begin()
		w.attempt(1, 1, values(), 0, 1, 2)
		w.entries, w.now = w.entries[:len(w.entries)-5], w.model.Initial()
		_, m, err := w.s.Receive(w.entries[len(w.entries)-4])
		w.must(err)
		_, agree, err := w.s.Receive(w.entries[len(w.entries)-1])
		w.must(err)
		w.entries = w.entries[:len(w.entries)-2]
		other := []int64{-289, 419}
		vectors, openings := w.parts(1, other, [2][]*commit.Scalar{})
		for k := range uint32(2) {
			a := *agree.(*protocol.Agree)
			a.Partial = protocol.VectorDigest(vectors[k], openings[k])
			w.record(3+k, &a)
		}
		w.reveal(1, 1, m.(*protocol.Hold).Entries, other, [2][]*commit.Scalar{},
			agree.(*protocol.Agree).Commitments)
		_, err = verify.Transcript(w.signed, w.entries, w.model)
		if !errors.Is(err, protocol.ErrMismatch) || !strings.Contains(err.Error(), "commitments do not open") {
			t.Error(err)
		}
	})
	t.Run("another blinding sum", func(t *testing.T) {
		w := full(t, audit)
		i := w.blind(1)
		refused(t, w, i+1, "commitments do not open")
	})
	t.Run("no commitment", func(t *testing.T) {
		w := full(t, audit)
		i := alter(w, 3, func(m *protocol.Contribution) { m.Commitment, m.Blinding = commit.Commitment{}, nil })
		refused(t, w, i, "0 blinding shares")
	})
}

func TestEmpty(t *testing.T) {
	w := newScript(t, nil)
	for name, entries := range map[string][][]byte{"nothing": nil, "an empty entry": {nil}, "noise": {{1, 2, 3}},
		"a vector": {vectorEntry(field.Vector{1, 2}, protocol.Opening{})}} {
		t.Run(name, func(t *testing.T) {
			if _, err := verify.Transcript(w.signed, entries, w.model); err == nil ||
				protocol.ClassOf(err) != protocol.ClassIntegrity {
				t.Error(err)
			}
		})
	}
}
