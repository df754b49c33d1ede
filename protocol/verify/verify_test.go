package verify_test

import (
	"errors"
	"fmt"
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

// TestLies: a wrong message with a valid signature is found at its entry, or at the first one that
// contradicts it.
func TestLies(t *testing.T) {
	other := protocol.Digest{42}
	for name, row := range map[string]struct {
		lie   func(w *script) int
		later int // how many entries after the wrong one it is found
		cause string
	}{
		"another node's key first": {lie: func(w *script) int {
			w.entries[0] = nil
			w.rewrite(0, 3,
				&protocol.Key{Number: 1})
			return 0
		}, cause: "not the aggregator's"},
		"a channel to another key": {lie: func(w *script) int {
			return alter(w, 2, func(m *protocol.Open) { m.Key = other })
		}, cause: "another key"},
		"a channel to another member": {lie: func(w *script) int {
			return alter(w, 2, func(m *protocol.Open) { m.To = 3 })
		}, cause: "another key"},
		"round 2 first": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Round) { m.Round = 2 })
		}, cause: "where round 1 attempt 1 is due"},
		"attempt 2 first": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Round) { m.Attempt = 2 })
		}, cause: "where round 1 attempt 1 is due"},
		"attempt 1 again": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Round) { m.Attempt = 1 })
		}, cause: "where round 1 attempt 2 is due"},
		"another model opened": {lie: func(w *script) int {
			return alter(w, 2, func(m *protocol.Round) { m.Model = other })
		}, cause: "another model"},
		"contribution to another round": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Contribution) { m.Round = 2 })
		}, cause: "it is for round 2"},
		"contribution to another model": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Contribution) { m.Model = other })
		}, cause: "another model"},
		"explicit share out of turn": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Contribution) { m.Explicit ^= 1 })
		}, cause: "another node than its turn"},
		"a node too many": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Contribution) { m.Confirm = make([][16]byte, 3) })
		}, cause: "another node than its turn"},
		"a commitment unasked": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Contribution) { m.Commitment[0] = 1 })
		}, cause: "without audit"},
		"a counted contribution altered": {lie: func(w *script) int {
			return alter(w, 3, func(m *protocol.Contribution) { m.Vector = other })
		}, later: 6, cause: "is not on record"},
		"list of another round": {lie: func(w *script) int {
			return alter(w, 2, func(m *protocol.Hold) { m.Round = 2 })
		}, cause: "it is for round 2"},
		"list of a stranger": {lie: func(w *script) int {
			return alter(w, 2, func(m *protocol.Hold) { m.Entries[1].Party = 3 })
		}, cause: "names member 3"},
		"a party less listed": {lie: func(w *script) int {
			return alter(w, 2, func(m *protocol.Hold) { m.Entries = m.Entries[1:] })
		}, later: 3, cause: "another set than their lists have in common"},
		"another bundle listed": {lie: func(w *script) int {
			return alter(w, 3, func(m *protocol.Hold) { m.Entries[0].Bundle = other })
		}, later: 2,
			cause: "another set than their lists have in common"},
		"agree of another round": {lie: func(w *script) int {
			return alter(w, 2, func(m *protocol.Agree) { m.Round = 2 })
		}, cause: "it is for round 2"},
		"agree to another set": {lie: func(w *script) int {
			return alter(w, 3, func(m *protocol.Agree) { m.Set = other })
		}, later: 1, cause: "signed different sets"},
		"both agree to another set": {lie: func(w *script) int {
			alter(w, 2, func(m *protocol.Agree) { m.Set = other })
			return alter(w, 3, func(m *protocol.Agree) { m.Set = other })
		}, cause: "another set than their lists"},
		"both count one more": {lie: func(w *script) int {
			alter(w, 2, func(m *protocol.Agree) { m.Count++ })
			return alter(w, 3, func(m *protocol.Agree) { m.Count++ })
		}, cause: "another set than their lists"},
		"both count too few": {lie: func(w *script) int {
			alter(w, 2, func(m *protocol.Agree) { m.Count = 1 })
			return alter(w, 3, func(m *protocol.Agree) { m.Count = 1 })
		}, later: 1, cause: "smaller than the plan's N_min"},
		"reveal over another set": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Partial) { m.Set = other })
		}, cause: "another set than it agreed to"},
		"reveal of another vector": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Partial) { m.Vector = other })
		}, cause: "node-a revealed another partial sum than it agreed with"},
		"a vector that was not signed": {lie: func(w *script) int {
			i := alter(w, 0, func(*protocol.Partial) {})
			w.entries[i+1] = vectorEntry(field.Vector{5, 6}, protocol.Opening{})
			return i
		}, later: 1, cause: "is not the one that node-a signed"},
		"reveal of another round": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Partial) { m.Attempt = 1 })
		}, cause: "it is for round 1 attempt 1"},
		"a blinding unasked": {lie: func(w *script) int {
			return w.blind(0)
		}, later: 1, cause: "without audit"},
		"another sum of commitments": {lie: func(w *script) int {
			return alter(w, 3, func(m *protocol.Agree) { m.Commitments[0] ^= 1 })
		}, later: 1, cause: "signed different sets"},
		"another sum altogether": {lie: func(w *script) int { return w.anotherSum(1) }, later: 3,
			cause: "other partial sums"},
		"void without a reason": {lie: func(w *script) int { return w.voidInstead() },
			cause: "void although"},
		"accepted without sums": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Result) { m.Outcome = protocol.OutcomeAccepted })
		}, cause: "accepted without partial sums"},
		"result of another attempt": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Result) { m.Attempt = 1 })
		}, cause: "it is for round 1 attempt 1"},
		"result over a smaller set": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Result) { m.Set = m.Set[:1] })
		}, cause: "another set"},
		"result of another bundle": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Result) { m.Set[0].Bundle = other })
		}, cause: "another set"},
		"another aggregate": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Result) { m.Aggregate = other })
		}, cause: "another aggregate"},
		"another next model": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Result) { m.Next = other })
		}, cause: "another model"},
		"rejected without a reason": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Result) { m.Outcome = protocol.OutcomeRejected })
		}, cause: "recomputing gives accepted"},
		"a result with another sum of commitments": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Result) { m.Commitments[0] ^= 1 })
		}, cause: "another sum of commitments"},
		"a confirm of another result": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Confirm) { m.Result = other })
		}, cause: "node-b confirmed another result"},
		"a confirm of another sum": {lie: func(w *script) int {
			return alter(w, 2, func(m *protocol.Confirm) { m.Value[0] ^= 1 })
		}, cause: "node-a confirmed another partial sum than it revealed"},
		"a confirm of another attempt": {lie: func(w *script) int {
			return alter(w, 0, func(m *protocol.Confirm) { m.Attempt++ })
		}, cause: "it is for round 1 attempt 2"},
		"a confirm less": {lie: func(w *script) int {
			w.entries = w.entries[:len(w.entries)-1]
			return len(w.entries)
		}, cause: "breaks off"},
		"a round after another result": {lie: func(w *script) int {
			return alter(w, 2, func(m *protocol.Round) { m.Last = other })
		}, cause: "opened after another result"},
		"a contribution after another result": {lie: func(w *script) int {
			return alter(w, 5, func(m *protocol.Contribution) { m.Last = other })
		}, cause: "contributed after another result"},
		"a list after another result": {lie: func(w *script) int {
			return alter(w, 5, func(m *protocol.Hold) { m.Last = other })
		}, cause: "the list of node-b follows another result"},
		"a partial less named": {lie: func(w *script) int {
			return alter(w, 1, func(m *protocol.Result) { m.Partials = m.Partials[:1] })
		}, cause: "other partial sums"},
	} {
		t.Run(name, func(t *testing.T) {
			w := full(t, nil)
			i := row.lie(w)
			refused(t, w, i+row.later, row.cause)
		})
	}
}

func (w *script) rewrite(i int, from uint32, m protocol.Message) {
	rest := w.entries[i+1:]
	w.entries = append([][]byte(nil), w.entries[:i]...)
	w.record(from, m)
	w.entries = append(w.entries, rest...)
}

// anotherSum has a node reveal and sign another vector.
func (w *script) anotherSum(n int) int {
	v := field.Vector{5, 6}
	digest := protocol.VectorDigest(v, protocol.Opening{})
	i := alter(w, n, func(m *protocol.Partial) { w.agreeTo(m, digest) })
	w.entries[i+1] = vectorEntry(v, protocol.Opening{})
	return i - 1
}

// agreeTo has the author of a partial sum sign another digest in it and in its Agree.
func (w *script) agreeTo(m *protocol.Partial, digest protocol.Digest) {
	for i, b := range w.entries {
		e, body, err := w.s.Receive(b)
		if a, ok := body.(*protocol.Agree); err == nil && ok && a.Partial == m.Vector {
			a.Partial = digest
			w.entries[i], err = w.s.Sign(w.keys[e.From], e.From, a)
			w.must(err)
		}
	}
	m.Vector = digest
}

// blind has a node reveal and sign another blinding sum.
func (w *script) blind(n int) int {
	return alter(w, n, func(m *protocol.Partial) {
		for i, b := range w.entries {
			v, o, ok := protocol.ParseTranscriptVector(b, w.s.Plan.Elements())
			if ok && protocol.VectorDigest(v, o) == m.Vector {
				o.Blinding[0] ^= 1
				w.agreeTo(m, protocol.VectorDigest(v, o))
				w.entries[i] = vectorEntry(v, o)
			}
		}
	})
}

// voidInstead replaces the last attempt's reveal by a void result.
func (w *script) voidInstead() int {
	i := len(w.entries) - 7
	w.entries = w.entries[:i]
	w.record(5, &protocol.Result{Round: 2, Attempt: 1, Outcome: protocol.OutcomeVoid})
	return i
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
// the beginning, a result, or the opening of an attempt are the last.
func (w *script) stops(i int) bool {
	if i < 2 {
		return false
	}
	switch protocol.Kind(w.entries[i-1][0]) {
	case protocol.KindOpen, protocol.KindResult, protocol.KindRound:
		return true
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
