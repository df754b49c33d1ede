package protocol

import (
	"bytes"
	"testing"
)

// fuzzBody seeds the fuzz target of a kind's body with samples and truncations of them, and
// checks that what decodes is canonical.
func fuzzBody(f *testing.F, k Kind) {
	seeds := 0
	for _, s := range samples() {
		if s.m.kind() == k {
			b := body(f, s.m)
			f.Add(b)
			f.Add(b[:len(b)/2])
			seeds++
		}
	}
	if seeds == 0 {
		f.Fatalf("no seed for %s", k)
	}
	f.Fuzz(func(t *testing.T, b []byte) { canonical(t, k.String(), b, decodeBody(k)) })
}

func FuzzAccept(f *testing.F)       { fuzzBody(f, KindAccept) }
func FuzzKey(f *testing.F)          { fuzzBody(f, KindKey) }
func FuzzOpen(f *testing.F)         { fuzzBody(f, KindOpen) }
func FuzzGroup(f *testing.F)        { fuzzBody(f, KindGroup) }
func FuzzRound(f *testing.F)        { fuzzBody(f, KindRound) }
func FuzzContribution(f *testing.F) { fuzzBody(f, KindContribution) }
func FuzzReceipt(f *testing.F)      { fuzzBody(f, KindReceipt) }
func FuzzHold(f *testing.F)         { fuzzBody(f, KindHold) }
func FuzzAgree(f *testing.F)        { fuzzBody(f, KindAgree) }
func FuzzPartial(f *testing.F)      { fuzzBody(f, KindPartial) }
func FuzzResult(f *testing.F)       { fuzzBody(f, KindResult) }
func FuzzAbort(f *testing.F)        { fuzzBody(f, KindAbort) }
func FuzzConfirm(f *testing.F)      { fuzzBody(f, KindConfirm) }
func FuzzMixRound(f *testing.F)     { fuzzBody(f, KindMixRound) }
func FuzzMixKeys(f *testing.F)      { fuzzBody(f, KindMixKeys) }
func FuzzOnion(f *testing.F)        { fuzzBody(f, KindOnion) }
func FuzzMixBatch(f *testing.F)     { fuzzBody(f, KindMixBatch) }
func FuzzMixPiece(f *testing.F)     { fuzzBody(f, KindMixPiece) }
func FuzzMixGo(f *testing.F)        { fuzzBody(f, KindMixGo) }
func FuzzMixAgree(f *testing.F)     { fuzzBody(f, KindMixAgree) }
func FuzzMixComplaint(f *testing.F) { fuzzBody(f, KindMixComplaint) }
func FuzzMixResult(f *testing.F)    { fuzzBody(f, KindMixResult) }

// FuzzReceive: no unsigned message is accepted, and no input makes Receive panic.
func FuzzReceive(f *testing.F) {
	s := testSession(f)
	for _, m := range samples() {
		b, err := s.Sign(testKey(int(m.from)), m.from, m.m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		canonical(t, "envelope", b, decodeEnvelope)
		e, m, err := s.Receive(b)
		if err == nil && (s.Check(e) != nil || m.kind() != e.Kind) {
			t.Fatalf("%x was accepted", b)
		}
	})
}

func FuzzChunk(f *testing.F) {
	s := testSession(f)
	secret := testSecret(f, 1)
	for _, c := range sealedChunks(f, s, secret) {
		b, err := c.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !canonical(t, "chunk", b, decodeChunk) {
			return
		}
		c, err := UnmarshalChunk(b)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := s.OpenChunk(secret, c); err == nil && len(plain) != 8*s.ChunkLen(int(c.Index)) {
			t.Fatalf("chunk %d opened to %d bytes", c.Index, len(plain))
		}
	})
}

func FuzzPlan(f *testing.F) {
	for _, p := range []*Plan{testPlan(), private(testPlan()), pairs(3), {}} {
		b, err := p.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !canonical(t, "plan", b, decodePlan) {
			return
		}
		p, err := unmarshalPlan(b)
		if err != nil {
			t.Fatal(err)
		}
		if p.Validate() == nil {
			if _, err := p.MaxSum(); err != nil {
				t.Fatalf("a valid plan has no bound on its sums: %v", err)
			}
		}
	})
}

func FuzzSignedPlan(f *testing.F) {
	text, err := signedTestPlan(f).MarshalText()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(append([]byte("preamble\n"), text...))
	f.Add(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		sp, err := UnmarshalSignedPlan(b)
		if err != nil {
			return
		}
		again, err := sp.MarshalText()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%q encodes to %q (%v)", b, again, err)
		}
	})
}

func FuzzTranscript(f *testing.F) {
	f.Add(MarshalTranscript([][]byte{{1, 2, 3}, nil, {4}}))
	f.Add([]byte{0, 0, 0, 9, 1})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := UnmarshalTranscript(b)
		if err == nil && !bytes.Equal(MarshalTranscript(entries), b) {
			t.Fatalf("%x encodes to %x", b, MarshalTranscript(entries))
		}
	})
}

func FuzzStored(f *testing.F) {
	f.Add(append(make([]byte, 32), "signed open"...))
	f.Add(AppendInts(nil, []int64{1, -2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := UnmarshalLink(b); err == nil && !bytes.Equal(MarshalLink(l), b) {
			t.Fatalf("stored channel: %x", b)
		}
		if v, ok := Ints(b); ok && !bytes.Equal(AppendInts(nil, v), b) {
			t.Fatalf("integers: %x", b)
		}
	})
}
