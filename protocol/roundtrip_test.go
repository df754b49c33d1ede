package protocol

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMessagesRoundTrip(t *testing.T) {
	for _, k := range signedKinds() {
		t.Run(k.String(), rapid.MakeCheck(func(t *rapid.T) {
			m := messageOf(t, k)
			if m.kind() != k {
				t.Fatalf("kind %s, not %s", m.kind(), k)
			}
			b, err := marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeBody(k)(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(m, got, sameFields); d != "" {
				t.Fatal(d)
			}
			canonical(t, k.String(), b, decodeBody(k))
		}))
	}
}

// mutate changes a valid encoding a little. Random bytes are rejected at the first count and
// would not reach the later fields.
func mutate(t *rapid.T, b []byte) []byte {
	b = bytes.Clone(b)
	switch at := rapid.IntRange(0, len(b)).Draw(t, "at"); rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		return b[:at]
	case 1:
		return append(b, blobs(8).Draw(t, "tail")...)
	case 2:
		if at < len(b) {
			b[at] = rapid.Byte().Draw(t, "byte")
		}
	case 3:
		if at < len(b) {
			b = append(b[:at], b[at+1:]...)
		}
	}
	return b
}

// TestUnmarshalIsCanonical: what decodes is exactly what encoding returns.
func TestUnmarshalIsCanonical(t *testing.T) {
	accepted := 0
	for _, k := range signedKinds() {
		t.Run(k.String(), rapid.MakeCheck(func(t *rapid.T) {
			b, err := marshal(messageOf(t, k))
			if err != nil {
				t.Fatal(err)
			}
			if canonical(t, k.String(), mutate(t, b), decodeBody(k)) {
				accepted++
			}
		}))
	}
	if accepted == 0 {
		t.Error("no mutation decoded")
	}
}

// TestTruncationIsRejected: no prefix of an encoding decodes, and none with a byte appended.
func TestTruncationIsRejected(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			b := body(t, s.m)
			for i := range b {
				if _, err := decodeBody(s.m.kind())(b[:i]); !errors.Is(err, ErrMalformed) {
					t.Errorf("%d of %d bytes: %v", i, len(b), err)
				}
			}
			if _, err := decodeBody(s.m.kind())(append(b, 0)); !errors.Is(err, ErrMalformed) {
				t.Errorf("with a byte appended: %v", err)
			}
		})
	}
}

func TestMarshalRejectsWhatDoesNotDecode(t *testing.T) {
	for name, m := range map[string]Message{
		"round 0":               &Round{Round: 0, Attempt: 1},
		"attempt 0":             &Round{Round: 1, Attempt: 0},
		"set out of order":      &Hold{1, 1, Digest{}, []Entry{{2, Digest{}}, {1, Digest{}}}},
		"party twice":           &Hold{1, 1, Digest{}, []Entry{{2, Digest{}}, {2, Digest{1}}}},
		"explicit out of range": &Contribution{Round: 1, Attempt: 1, Explicit: 2, Confirm: make([][16]byte, 2)},
		"no confirmations":      &Contribution{Round: 1, Attempt: 1},
		"receipt of none":       &Receipt{Round: 1, Attempt: 1},
		"receipt out of range":  &Receipt{Round: 1, Attempt: 1, Index: 1, Count: 1},
		"too many receipts":     &Receipt{Round: 1, Attempt: 1, Count: MaxMembers + 1, Path: make([]Digest, 18)},
		"path too short":        &Receipt{Round: 1, Attempt: 1, Count: 2},
		"path too long":         &Receipt{Round: 1, Attempt: 1, Count: 1, Path: make([]Digest, 1)},
		"outcome 0":             &Result{Round: 1, Attempt: 1},
		"outcome 4":             &Result{Round: 1, Attempt: 1, Outcome: 4},
		"void with a set":       &Result{Round: 1, Attempt: 1, Outcome: OutcomeVoid, Set: []Entry{{}}},
		"void with a sum":       &Result{Round: 1, Attempt: 1, Outcome: OutcomeVoid, Aggregate: Digest{1}},
		"void with a model":     &Result{Round: 1, Attempt: 1, Outcome: OutcomeVoid, Next: Digest{1}},
		"void with partials":    &Result{Round: 1, Attempt: 1, Outcome: OutcomeVoid, Partials: make([]Digest, 1)},
		"value not canonical":   &Confirm{Round: 1, Attempt: 1, Value: Value{8: 1, 12: 255, 255, 255, 255}},
		"key for nobody":        &Confirm{Round: 1, Attempt: 1, Key: 2},
		"no key for a party":    &Confirm{Round: 1, Attempt: 1, For: []uint32{0}},
		"another first key":     &Confirm{Round: 1, Attempt: 1, Key: 1, For: []uint32{0}},
		"parties out of order":  &Confirm{Round: 1, Attempt: 1, Key: 2, For: []uint32{1, 0}},
		"void with a chunk":     &Result{Round: 1, Attempt: 1, Outcome: OutcomeVoid, Chunks: make([]Digest, 1)},
		"class 0":               &Abort{Class: 0},
		"class 8":               &Abort{Class: 8},
		"reason too long":       &Abort{Class: 1, Reason: strings.Repeat("x", 513)},
		"reason unprintable":    &Abort{Class: 1, Reason: "a\nb"},
		"key too long":          &Key{Number: 1, Public: make([]byte, 4097)},
		"group key too long":    &Group{Sealed: make([]byte, 65)},
	} {
		t.Run(name, func(t *testing.T) {
			if b, err := marshal(m); !errors.Is(err, ErrMalformed) {
				t.Errorf("encoded to %x, error %v", b, err)
			}
		})
	}
}

// TestCountsDoNotAllocate: a count beyond the message is rejected before anything is allocated.
func TestCountsDoNotAllocate(t *testing.T) {
	b := body(t, &Hold{Round: 1, Attempt: 1})
	for _, n := range []uint32{1, 1 << 16, math.MaxUint32} {
		copy(b[len(b)-4:], []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		got := testing.AllocsPerRun(10, func() {
			if _, err := decodeBody(KindHold)(b); !errors.Is(err, ErrMalformed) {
				t.Errorf("%d entries: %v", n, err)
			}
		})
		if got > 20 {
			t.Errorf("%d entries: %v allocations", n, got)
		}
	}
}

func decodePlan(b []byte) (fielder, error) { return unmarshalPlan(b) }

func TestPlanRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := plans().Draw(t, "plan")
		b, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got, err := unmarshalPlan(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, got, sameFields); d != "" {
			t.Fatal(d)
		}
		if got.ID() != p.ID() {
			t.Fatal("another id")
		}
		canonical(t, "plan", mutate(t, b), decodePlan)
	})
}

// TestPlanIDCoversEveryByte: a change of any byte of a plan changes its id.
func TestPlanIDCoversEveryByte(t *testing.T) {
	b, err := testPlan().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for i := range b {
		mut := bytes.Clone(b)
		mut[i] ^= 1
		p, err := unmarshalPlan(mut)
		if err != nil {
			continue
		}
		changed++
		if p.ID() == testPlan().ID() {
			t.Errorf("byte %d is not covered", i)
		}
	}
	if changed < len(b)/2 {
		t.Errorf("only %d of %d bytes could change", changed, len(b))
	}
}

func TestEnvelopeAndChunkRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := &Envelope{Kind: Kind(rapid.ByteRange(1, 31).Draw(t, "kind")), Plan: PlanID(digests().Draw(t, "plan")),
			From: rapid.Uint32().Draw(t, "from"), Body: blobs(40).Draw(t, "body")}
		c := &Chunk{Plan: e.Plan.Prefix(), Context: Context{
			e.From, rapid.Uint32().Draw(t, "to"), fromOne().Draw(t, "round"),
			fromOne().Draw(t, "attempt"), Purpose(rapid.ByteRange(1, 3).Draw(t, "purpose")),
			PlanID(digests().Draw(t, "salt")).Prefix()},
			Index: rapid.Uint32().Draw(t, "index"), Last: rapid.Bool().Draw(t, "last"), Ciphertext: blobs(40).Draw(t,
				"ciphertext")}
		for _, m := range []fielder{e, c} {
			b, err := marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			decode := decodeEnvelope
			if m == fielder(c) {
				decode = decodeChunk
			}
			if IsChunk(b) != (m == fielder(c)) {
				t.Fatal("the first byte does not tell chunks from messages")
			}
			got, err := decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(m, got, sameFields); d != "" {
				t.Fatal(d)
			}
			canonical(t, "mutated", mutate(t, b), decode)
		}
	})
}

func decodeEnvelope(b []byte) (fielder, error) { return UnmarshalEnvelope(b) }

func decodeChunk(b []byte) (fielder, error) { return UnmarshalChunk(b) }

func TestTranscriptRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		filled := blobs(40).Filter(func(b []byte) bool { return len(b) > 0 })
		entries := rapid.SliceOfN(filled, 0, 6).Draw(t, "entries")
		b := MarshalTranscript(entries)
		got, err := UnmarshalTranscript(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(entries, got, sameFields); d != "" {
			t.Fatal(d)
		}
		if mut := mutate(t, b); len(mut) > 0 {
			if got, err := UnmarshalTranscript(mut); err == nil && !bytes.Equal(MarshalTranscript(got), mut) {
				t.Fatalf("%x encodes to %x", mut, MarshalTranscript(got))
			}
		}
	})
}

// TestTranscriptsOfNothing: a file of empty entries, which no session leaves, is refused before a list is
// made of it, and the list of the shortest entries is no longer than five times their bytes.
func TestTranscriptsOfNothing(t *testing.T) {
	allocated := func(file []byte) (uint64, error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := UnmarshalTranscript(file)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, err
	}
	if n, err := allocated(make([]byte, 1<<20)); !errors.Is(err, ErrMalformed) || n > 1<<16 {
		t.Errorf("empty entries: %d bytes, %v", n, err)
	}
	short := bytes.Repeat([]byte{0, 0, 0, 1, 7}, 1<<18)
	if n, err := allocated(short); err != nil || n > 5*uint64(len(short)) {
		t.Errorf("short entries: %d bytes for %d, %v", n, len(short), err)
	}
}

// TestEncodingChangesNothing: goroutines may encode one plan and one message concurrently, as the
// race detector checks.
func TestEncodingChangesNothing(t *testing.T) {
	sp := signedTestPlan(t)
	want, err := sp.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got, err := sp.MarshalText(); err != nil || !bytes.Equal(got, want) {
				t.Error("different encodings", err)
			}
			for _, s := range samples() {
				if _, err := marshal(s.m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}
