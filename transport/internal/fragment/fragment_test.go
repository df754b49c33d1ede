package fragment

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

func id(n int) (i ID) {
	binary.BigEndian.PutUint64(i[:], uint64(n)+1)
	return i
}

// message returns n bytes that depend on the message's number and on their position.
func message(which, n int) []byte {
	unit := binary.BigEndian.AppendUint64(nil, uint64(which)*0x9e3779b97f4a7c15)
	b := bytes.Repeat(append(unit, 1, 2, 3), n/11+1)[:n]
	for at := 0; at < n; at += Size / 2 {
		b[at] ^= byte(at / (Size / 2))
	}
	return b
}

func TestHeader(t *testing.T) {
	h := Header{ID: id(7), Index: 3, Count: 9}
	if got, err := ParseHeader(h.String()); err != nil || got != h {
		t.Fatalf("%v, %v", got, err)
	}
	whole := h.String()
	id := whole[:32]
	for _, bad := range []string{
		"", ".", "..", whole + ".", whole[1:], "0" + whole, id + ".03.9", id + ".+3.9", id + ".9.9", id + ".-1.9",
		id + ".0.1", id + ".0.126", id + ".0.99999999999999999999", "G" + whole[1:], "A" + whole[1:],
	} {
		if got, err := ParseHeader(bad); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(Header{ID: id(1), Index: 0, Count: 2}.String())
	f.Add("00.1.2")
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := ParseHeader(text); err == nil && (h.String() != text || !h.valid()) {
			t.Fatalf("%q was read as %v", text, h)
		}
	})
}

func TestCount(t *testing.T) {
	for n, want := range map[int]int{
		0: 1, 1: 1, Size: 1, Size + 1: 2, 2 * Size: 2, 2*Size + 1: 3, 64 << 20: maxPieces,
	} {
		if got := Count(n); got != want {
			t.Errorf("%d bytes travel in %d pieces, want %d", n, got, want)
		}
	}
}

// stored is a piece of the schedule under test.
type stored struct {
	message int
	h       Header
	data    []byte
}

// cut returns a message's pieces.
func cut(which int, data []byte) (pieces []stored) {
	n := Count(len(data))
	for i := range n {
		pieces = append(pieces, stored{which, Header{id(which), i, n}, Piece(data, i)})
	}
	return pieces
}

// drawLog draws messages and a log of their pieces, of which some are lost, duplicated and
// reordered.
func drawLog(t *rapid.T) (whole [][]byte, log []stored) {
	whole = make([][]byte, rapid.IntRange(1, 5).Draw(t, "messages"))
	for m := range whole {
		whole[m] = message(m, rapid.SampledFrom([]int{Size + 1, 2 * Size, 3*Size - 1}).Draw(t, "size"))
		for _, l := range cut(m, whole[m]) {
			for range rapid.SampledFrom([]int{0, 1, 1, 1, 1, 1, 1, 2}).Draw(t, "copies") {
				log = append(log, l)
			}
		}
	}
	return whole, rapid.Permutation(log).Draw(t, "order")
}

// TestAnySchedule loses, duplicates, reorders and interleaves pieces. A message is assembled once,
// correctly, and as soon as its last piece is there. An Assembler that starts from Resume gets
// all later messages.
func TestAnySchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole, log := drawLog(t)
		ends, resumes := assemble(t, whole, log)
		stop := rapid.IntRange(1, max(1, len(log))).Draw(t, "stop")
		if len(log) == 0 {
			return
		}
		var a Assembler
		came := make([]bool, len(whole))
		for i := resumes[stop]; i <= uint64(len(log)); i++ {
			l := log[i-1]
			if _, ok := a.Add("s", l.h, i, l.data); ok {
				came[l.message] = true
			}
		}
		for m, end := range ends {
			if end > uint64(stop) && !came[m] {
				t.Fatalf("resumed at %d after %d: message %d, whole at %d, is missing",
					resumes[stop], stop, m, end)
			}
		}
	})
}

// assemble adds the pieces of a log and checks what comes out. It returns the position at which
// each message was whole, 0 for never, and Resume after each position.
func assemble(t *rapid.T, whole [][]byte, log []stored) (ends, resumes []uint64) {
	missing := make([]map[int]bool, len(whole))
	for m := range whole {
		missing[m] = map[int]bool{}
		for i := range Count(len(whole[m])) {
			missing[m][i] = true
		}
	}
	var a Assembler
	ends = make([]uint64, len(whole))
	resumes = make([]uint64, len(log)+1)
	for i, l := range log {
		at := uint64(i + 1)
		delete(missing[l.message], l.h.Index)
		got, ok := a.Add("s", l.h, at, l.data)
		if want := len(missing[l.message]) == 0 && ends[l.message] == 0; ok != want {
			t.Fatalf("position %d: message %d came out: %t, want %t", at, l.message, ok, want)
		}
		if ok {
			if ends[l.message] = at; !bytes.Equal(got, whole[l.message]) {
				t.Fatalf("message %d was assembled wrongly", l.message)
			}
		}
		resumes[at] = a.Resume(at)
		if resumes[at] > at+1 || resumes[at] < resumes[at-1] {
			t.Fatalf("position %d: resume at %d after %d", at, resumes[at], resumes[at-1])
		}
	}
	return ends, resumes
}

// TestHostilePieces checks that pieces that do not fit are dropped and do not spoil the message.
func TestHostilePieces(t *testing.T) {
	var a Assembler
	want := message(1, 2*Size+5)
	good := cut(1, want)
	add := func(subject string, h Header, data []byte) bool {
		t.Helper()
		_, ok := a.Add(subject, h, 1, data)
		return ok
	}
	add("s", good[0].h, good[0].data)
	for name, l := range map[string]stored{
		"short piece":   {h: good[1].h, data: good[1].data[1:]},
		"empty last":    {h: good[2].h, data: nil},
		"long last":     {h: good[2].h, data: make([]byte, Size+1)},
		"other count":   {h: Header{id(1), 1, 4}, data: good[1].data},
		"count of one":  {h: Header{id(1), 0, 1}, data: good[1].data},
		"count too big": {h: Header{id(1), 0, maxPieces + 1}, data: good[1].data},
		"negative":      {h: Header{id(1), -1, 3}, data: good[1].data},
		"other content": {h: good[0].h, data: good[1].data},
	} {
		t.Run(name, func(t *testing.T) {
			if add("s", l.h, l.data) {
				t.Error("a message came out")
			}
		})
	}
	if add("elsewhere", good[1].h, good[1].data) || add("elsewhere", good[2].h, good[2].data) {
		t.Error("pieces on another subject completed the message")
	}
	add("s", good[1].h, good[1].data)
	got, ok := a.Add("s", good[2].h, 9, good[2].data)
	if !ok || !bytes.Equal(got, want) {
		t.Fatal("the message is lost")
	}
	for _, l := range good { // a late repetition begins nothing
		if add("s", l.h, l.data) {
			t.Fatal("the message came out twice")
		}
	}
	if len(a.order) != 1 { // the one on the other subject
		t.Fatalf("%d messages are incomplete", len(a.order))
	}
}

// TestBounds checks that the number of incomplete messages and their size are bounded: the oldest are
// dropped, and the latest is assembled.
func TestBounds(t *testing.T) {
	var a Assembler
	piece := make([]byte, Size)
	position := uint64(0)
	add := func(which, index, count int) bool {
		position++
		_, ok := a.Add("s", Header{id(which), index, count}, position, piece)
		if a.buffered > maxBuffered || len(a.order) > maxIncomplete ||
			len(a.parts) != len(a.order) || len(a.done) > remembered {
			t.Fatalf("%d bytes of %d messages, %d known", a.buffered, len(a.order), len(a.done))
		}
		return ok
	}
	for which := range 3 * maxIncomplete {
		add(which, 0, 2)
	}
	if a.Resume(position) != position-maxIncomplete+1 {
		t.Fatalf("resume at %d of %d", a.Resume(position), position)
	}
	if add(2*maxIncomplete-1, 1, 2) {
		t.Error("a message that gave way came out")
	}
	if !add(3*maxIncomplete-1, 1, 2) {
		t.Error("the latest message was lost")
	}
	for which := range 5 {
		for i := range maxPieces - 1 {
			add(10_000+which, i, maxPieces)
		}
	}
	if !add(10_004, maxPieces-1, maxPieces) {
		t.Error("the latest of the largest was lost")
	}
	for which := range 2 * remembered {
		add(20_000+which, 0, 2)
		if !add(20_000+which, 1, 2) {
			t.Fatal("a message was lost")
		}
	}
	if r := a.Resume(position + 2*maxAge); r != position+2*maxAge+1 || len(a.order) != 0 || a.buffered != 0 {
		t.Errorf("resume at %d with %d messages from long ago", r, len(a.order))
	}
}

// FuzzAssembler adds arbitrary pieces and checks the bounds.
func FuzzAssembler(f *testing.F) {
	f.Add([]byte{0, 0, 2, 0, 0, 1, 2, 0, 1, 0, 3, 1})
	f.Add([]byte{5, 0, 125, 0, 5, 124, 125, 1, 5, 0, 0, 9})
	full := make([]byte, Size+1)
	f.Fuzz(func(t *testing.T, program []byte) {
		var a Assembler
		last := uint64(1)
		for at := uint64(1); len(program) >= 4; at++ {
			op := program[:4]
			program = program[4:]
			length := [...]int{Size, 1, Size - 1, 0, Size + 1}[op[3]%5]
			h := Header{id(int(op[0])), int(int8(op[1])), int(op[2])}
			if got, ok := a.Add("s", h, at, full[:length]); ok && Count(len(got)) != h.Count {
				t.Fatalf("%d bytes of %d pieces", len(got), h.Count)
			}
			r := a.Resume(at)
			if r < last || r > at+1 || a.buffered < 0 || a.buffered > maxBuffered || len(a.order) > maxIncomplete {
				t.Fatalf("resume %d after %d at %d, %d bytes of %d messages", r, last, at, a.buffered, len(a.order))
			}
			last = r
		}
	})
}
