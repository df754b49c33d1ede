package verify_test

import (
	"testing"

	"choir/crypto/field"
	"choir/protocol"
)

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
