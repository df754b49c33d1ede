package verify_test

import (
	"slices"
	"strings"
	"testing"

	"choir/protocol"
	"choir/protocol/verify"
)

// receiptOf returns a node's receipt for a party's contribution on record.
func (w *script) receiptOf(node, round, attempt, party uint32) []byte {
	w.t.Helper()
	for _, b := range w.entries {
		e, m, err := w.s.Receive(b)
		if err != nil {
			continue
		}
		if c, ok := m.(*protocol.Contribution); ok && e.From == party && c.Round == round && c.Attempt == attempt {
			bundle, err := c.BundleDigest(w.s, party)
			w.must(err)
			r, err := w.s.Sign(w.keys[node], node,
				&protocol.Receipt{Round: round, Attempt: attempt, Party: party, Bundle: bundle, Count: 1})
			w.must(err)
			return r
		}
	}
	w.t.Fatal("no such contribution")
	return nil
}

func (w *script) report() *verify.Report {
	w.t.Helper()
	r, err := verify.Transcript(w.signed, w.entries, w.model)
	w.must(err)
	return r
}

func TestReceiptCounted(t *testing.T) {
	w := full(t, nil)
	in, err := verify.Receipt(w.report(), [][]byte{w.receiptOf(4, 1, 2, 2), w.receiptOf(3, 1, 2, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if !in.Counted || in.Party != "cleo" || in.Round != 1 || in.Attempt != 2 ||
		in.Outcome != protocol.OutcomeAccepted || !slices.Equal(in.Nodes, []string{"node-b", "node-a"}) {
		t.Errorf("%+v", in)
	}
}

// TestReceiptUncounted: a contribution is not counted, without anyone's fault, in a void attempt
// whose lists name it and in one that was open when the session ended.
func TestReceiptUncounted(t *testing.T) {
	w := full(t, nil)
	in, err := verify.Receipt(w.report(), [][]byte{w.receiptOf(3, 1, 1, 2)})
	if err != nil || in.Counted || in.Outcome != protocol.OutcomeVoid {
		t.Errorf("%+v, %v", in, err)
	}
	w = newScript(t, nil).begin()
	w.record(5, &protocol.Round{Round: 1, Attempt: 1, Model: w.digest(0, w.now)})
	w.record(5, &protocol.Abort{Class: 5, Reason: "x"})
	b, err := w.s.Sign(w.keys[3], 3, &protocol.Receipt{Round: 1, Attempt: 1, Party: 1, Count: 1})
	w.must(err)
	if in, err := verify.Receipt(w.report(), [][]byte{b}); err != nil || in.Counted || in.Outcome != 0 {
		t.Errorf("%+v, %v", in, err)
	}
}

// TestReceiptAgainstList: a node that gave a receipt and left the contribution out of its list
// contradicts itself.
func TestReceiptAgainstList(t *testing.T) {
	w := full(t, nil)
	for _, receipts := range [][][]byte{
		{w.receiptOf(3, 1, 2, 1)},                          // ben is not in the set
		{w.receiptOf(4, 1, 2, 1), w.receiptOf(3, 1, 2, 1)}, // by any node
	} {
		_, err := verify.Receipt(w.report(), receipts)
		if err == nil || protocol.ClassOf(err) != protocol.ClassIntegrity ||
			!strings.Contains(err.Error(), "gave a receipt for ben") {
			t.Error(err)
		}
	}
	b, err := w.s.Sign(w.keys[3], 3, &protocol.Receipt{Round: 2, Attempt: 1, Party: 1,
		Bundle: protocol.Digest{1}, Count: 1})
	w.must(err)
	if _, err := verify.Receipt(w.report(), [][]byte{b}); err == nil ||
		!strings.Contains(err.Error(), "node-a gave a receipt") {
		t.Errorf("another bundle: %v", err)
	}
}

// together returns the receipts that a node signs for all parties together.
func (w *script) together(node, round, attempt uint32) [][]byte {
	w.t.Helper()
	var all []*protocol.Receipt
	for party := range uint32(3) {
		_, m, err := w.s.Receive(w.receiptOf(node, round, attempt, party))
		w.must(err)
		all = append(all, m.(*protocol.Receipt))
	}
	signed, err := w.s.SignReceipts(w.keys[node], node, all)
	w.must(err)
	return signed
}

// astray returns a receipt of a tree of three that was altered after it was signed.
func (w *script) astray(change func(m *protocol.Receipt)) []byte {
	w.t.Helper()
	e, err := protocol.UnmarshalEnvelope(w.together(3, 2, 1)[1])
	w.must(err)
	_, m, err := w.s.Receive(w.together(3, 2, 1)[1])
	w.must(err)
	receipt := m.(*protocol.Receipt)
	change(receipt)
	b, err := w.s.Sign(w.keys[3], 3, receipt)
	w.must(err)
	changed, err := protocol.UnmarshalEnvelope(b)
	w.must(err)
	e.Body = changed.Body
	b, err = e.Marshal()
	w.must(err)
	return b
}

// TestReceiptsSignedTogether: a receipt of a larger tree proves the same as a single one, and both
// may be given together.
func TestReceiptsSignedTogether(t *testing.T) {
	w := full(t, nil)
	in, err := verify.Receipt(w.report(), [][]byte{w.together(3, 1, 2)[2], w.receiptOf(4, 1, 2, 2)})
	if err != nil || !in.Counted || in.Party != "cleo" || len(in.Nodes) != 2 {
		t.Errorf("%+v, %v", in, err)
	}
	if _, err := verify.Receipt(w.report(), [][]byte{w.together(3, 1, 2)[1]}); err == nil ||
		!strings.Contains(err.Error(), "node-a gave a receipt for ben") {
		t.Errorf("against its list: %v", err)
	}
}

func TestReceiptRejections(t *testing.T) {
	w := full(t, nil)
	good := w.receiptOf(3, 2, 1, 0)
	sign := func(from uint32, m protocol.Message) []byte {
		b, err := w.s.Sign(w.keys[from], from, m)
		w.must(err)
		return b
	}
	for name, row := range map[string]struct {
		receipts [][]byte
		cause    string
	}{
		"none":  {receipts: nil, cause: "none given"},
		"noise": {receipts: [][]byte{{1, 2}}, cause: "malformed"},
		"signed by a party": {receipts: [][]byte{sign(0, &protocol.Receipt{Round: 2, Attempt: 1, Count: 1})},
			cause: "is not for a party"},
		"another message":   {receipts: [][]byte{sign(3, &protocol.Agree{Round: 2, Attempt: 1})}, cause: "a agree"},
		"by one node twice": {receipts: [][]byte{good, good}, cause: "a second one by node-a"},
		"for two attempts":  {receipts: [][]byte{good, w.receiptOf(4, 1, 2, 0)}, cause: "another contribution"},
		"for two parties":   {receipts: [][]byte{good, w.receiptOf(4, 2, 1, 1)}, cause: "another contribution"},
		"of an attempt not there": {receipts: [][]byte{sign(3, &protocol.Receipt{Round: 2, Attempt: 2, Count: 1})},
			cause: "no round 2 attempt 2"},
		"for a member not a party": {receipts: [][]byte{sign(3,
			&protocol.Receipt{Round: 2, Attempt: 1, Party: 4, Count: 1})},
			cause: "is not a party"},
		"whose path was altered": {receipts: [][]byte{w.astray(func(m *protocol.Receipt) { m.Path[0][0] ^= 1 })},
			cause: "signature"},
		"moved in its tree": {receipts: [][]byte{w.astray(func(m *protocol.Receipt) { m.Index ^= 1 })},
			cause: "signature"},
		"of another round's root": {receipts: [][]byte{w.astray(func(m *protocol.Receipt) { m.Round = 1 })},
			cause: "signature"},
		"of a smaller tree": {receipts: [][]byte{w.astray(func(m *protocol.Receipt) {
			m.Count = 1
			m.Path = nil
			m.Index = 0
		})}, cause: "signature"},
		"for another contribution": {receipts: [][]byte{w.astray(func(m *protocol.Receipt) { m.Bundle[0] ^= 1 })},
			cause: "signature"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := verify.Receipt(w.report(), row.receipts)
			if err == nil || protocol.ClassOf(err) != protocol.ClassIntegrity ||
				!strings.Contains(err.Error(), row.cause) {
				t.Error(err)
			}
		})
	}
}
