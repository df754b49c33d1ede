package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// receipts returns n signed messages of the two nodes in turn.
func receipts(t testing.TB, s BoundPlan, n int) [][]byte {
	t.Helper()
	out := make([][]byte, n)
	for i := range out {
		from := uint32(3 + i%2)
		b, err := s.Sign(testKey(int(from)), from, &Receipt{Round: 1, Attempt: 1, Party: uint32(i), Count: 1})
		if err != nil {
			t.Fatal(err)
		}
		out[i] = b
	}
	return out
}

// TestBatchAgreesWithSingle: a batch gives the same results as verifying each message, with
// invalid messages of every kind, and with too few messages for a batch.
func TestBatchAgreesWithSingle(t *testing.T) {
	plain := testSession(t)
	for _, n := range []int{0, 1, batchFrom - 1, batchFrom, 40} {
		messages := receipts(t, plain, n)
		for i, spoil := range []func(b []byte) []byte{
			func(b []byte) []byte { b[len(b)-1] ^= 1; return b },      // signature
			func(b []byte) []byte { b[45] ^= 1; return b },            // body
			func(b []byte) []byte { b[3] ^= 1; return b },             // plan
			func(b []byte) []byte { b[36] ^= 7; return b },            // sender
			func(b []byte) []byte { return b[:len(b)-1] },             // form
			func([]byte) []byte { return []byte{byte(KindChunk), 1} }, // no message
			func([]byte) []byte { return nil },
		} {
			if at := 3 * i; at < n {
				messages[at] = spoil(bytes.Clone(messages[at]))
			}
		}
		batch := NewBatch(plain, deterministic(9))
		batch.Prepare(messages)
		s := plain
		s.Verifier = batch
		refused := 0
		for i, b := range messages {
			_, m, err := s.Receive(b)
			_, want, wantErr := plain.Receive(b)
			if (err == nil) != (wantErr == nil) || fmt.Sprint(m, err) != fmt.Sprint(want, wantErr) {
				t.Errorf("%d messages: message %d: %v, %v; without a batch %v, %v", n, i, m, err, want, wantErr)
			}
			if err != nil {
				refused++
			}
		}
		if n == 40 && (refused != 7 || len(batch.good) != 33) {
			t.Errorf("%d rejected, %d valid", refused, len(batch.good))
		}
	}
}

// TestBatchInAnyOrder: a valid message of the batch is found in any order and any number of
// times.
func TestBatchInAnyOrder(t *testing.T) {
	s := testSession(t)
	messages := receipts(t, s, 40)
	batch := NewBatch(s, deterministic(1))
	batch.Prepare(append(messages, messages[5], messages[5])) // some came more than once
	backwards := slices.Clone(messages)
	slices.Reverse(backwards)
	twice := append(slices.Clone(messages[:3]), messages[:3]...)
	for _, order := range [][][]byte{messages, backwards, twice, messages} {
		for i, b := range order {
			if e := batch.read(b); e == nil || !bytes.HasSuffix(b, e.Sig[:]) {
				t.Fatalf("message %d is not in the batch", i)
			}
		}
	}
}

// TestBatchReuse: a batch that reuses the memory of a batch of another size gives no result
// of that one.
func TestBatchReuse(t *testing.T) {
	s := testSession(t)
	all := receipts(t, s, 200)
	batch := NewBatch(s, deterministic(1))
	s.Verifier = batch
	for _, part := range [][2]int{{0, 40}, {40, 60}, {60, 160}, {160, 180}, {0, 200}} {
		messages := all[part[0]:part[1]]
		spoilt := bytes.Clone(messages[7])
		spoilt[len(spoilt)-1] ^= 1
		mixed := slices.Concat(messages[:7], [][]byte{spoilt}, messages[8:])
		batch.Prepare(mixed)
		for i, b := range mixed {
			_, m, err := s.Receive(b)
			if (i == 7) != errors.Is(err, ErrSignature) {
				t.Fatalf("messages %v: message %d: %v", part, i, err)
			}
			if i != 7 && m.(*Receipt).Party != uint32(part[0]+i) {
				t.Fatalf("messages %v: message %d is about party %d", part, i, m.(*Receipt).Party)
			}
		}
	}
}

// TestBatchDropsThePrevious: the messages of an earlier batch are dropped and verified again if
// they come back.
func TestBatchDropsThePrevious(t *testing.T) {
	s := testSession(t)
	messages := receipts(t, s, 20)
	batch := NewBatch(s, deterministic(1))
	batch.Prepare(messages)
	if len(batch.good) != 20 {
		t.Fatalf("%d good of 20", len(batch.good))
	}
	batch.Prepare(nil)
	if len(batch.good) != 0 {
		t.Error("the previous batch is still there")
	}
	s.Verifier = batch
	if _, _, err := s.Receive(messages[0]); err != nil {
		t.Error(err)
	}
}

// TestBatchWithoutRandomness: all results stay right.
func TestBatchWithoutRandomness(t *testing.T) {
	s := testSession(t)
	messages := receipts(t, s, 20)
	messages[7][len(messages[7])-40] ^= 1
	batch := NewBatch(s, bytes.NewReader(nil))
	batch.Prepare(messages)
	s.Verifier = batch
	for i, b := range messages {
		if _, _, err := s.Receive(b); (i == 7) != errors.Is(err, ErrSignature) {
			t.Errorf("message %d: %v", i, err)
		}
	}
}

// BenchmarkReceive receives n messages, with and without a batch.
func BenchmarkReceive(b *testing.B) {
	plain := testSession(b)
	for _, n := range []int{16, 64, 256} {
		messages := receipts(b, plain, n)
		run := func(b *testing.B, s BoundPlan, prepare func([][]byte)) {
			for b.Loop() {
				prepare(messages)
				for _, m := range messages {
					if _, _, err := s.Receive(m); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/message")
		}
		b.Run(fmt.Sprintf("single/%d", n), func(b *testing.B) { run(b, plain, func([][]byte) {}) })
		b.Run(fmt.Sprintf("batch/%d", n), func(b *testing.B) {
			batch := NewBatch(plain, deterministic(2))
			s := plain
			s.Verifier = batch
			run(b, s, batch.Prepare)
		})
	}
}

// TestBatchMatchesTheWholeMessage: a valid signature on a message that differs from the one in
// the batch is verified, and is invalid.
func TestBatchMatchesTheWholeMessage(t *testing.T) {
	s := testSession(t)
	var messages [][]byte
	for i := range byte(20) {
		b, err := s.Sign(testKey(3), 3, &Agree{Round: 1, Attempt: 1, Count: uint32(i), Set: testDigest(i)})
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, b)
	}
	batch := NewBatch(s, deterministic(1))
	batch.Prepare(messages)
	s.Verifier = batch
	for name, change := range map[string]func(e *Envelope){
		"nothing":   func(*Envelope) {},
		"kind":      func(e *Envelope) { e.Kind = KindPartial },
		"sender":    func(e *Envelope) { e.From = 4 },
		"body":      func(e *Envelope) { e.Body[11] ^= 1 },
		"signature": func(e *Envelope) { e.Sig[40] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			e, err := UnmarshalEnvelope(messages[7])
			if err != nil {
				t.Fatal(err)
			}
			change(e)
			if err := s.Check(e); errors.Is(err, ErrSignature) != (name != "nothing") {
				t.Error(err)
			}
		})
	}
	e, err := UnmarshalEnvelope(messages[7])
	if err != nil {
		t.Fatal(err)
	}
	all, err := e.toBeSigned(uint8(s.Plan.Suite))
	if err != nil || !batch.Verify(testKey(3).Public(), all, e.Sig) ||
		batch.Verify(testKey(4).Public(), all, e.Sig) {
		t.Errorf("under another key: %v", err)
	}
}

// TestBatchReadsOnce: a message of the batch is decoded once, and a message that differs from it
// in any byte is rejected.
func TestBatchReadsOnce(t *testing.T) {
	s := testSession(t)
	messages := receipts(t, s, 20)
	batch := NewBatch(s, deterministic(1))
	batch.Prepare(messages)
	s.Verifier = batch
	e, m, err := s.Receive(messages[4])
	if want := batch.read(messages[4]); err != nil || want == nil || e != want || m.(*Receipt).Party != 4 {
		t.Fatalf("%v, %v", m, err)
	}
	other := s
	other.ID[0] ^= 1
	if _, _, err := other.Receive(messages[4]); !errors.Is(err, ErrWrongPlan) {
		t.Errorf("in another plan: %v", err)
	}
	for i := range messages[4] {
		b := bytes.Clone(messages[4])
		b[i] ^= 1
		if _, _, err := s.Receive(b); err == nil {
			t.Errorf("with byte %d changed it is accepted", i)
		}
	}
	if _, _, err := s.Receive(messages[4][:40]); err == nil {
		t.Error("truncated it is accepted")
	}
}
