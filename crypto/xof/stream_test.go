package xof

import (
	"crypto/aes"
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"choir/crypto/field"
)

// oracle is the definition in the package comment, block by block, from AES alone.
func oracle(key Key, chunk uint64, n int) field.Vector {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err)
	}
	var out field.Vector
	var in, words [16]byte
	binary.BigEndian.PutUint64(in[:8], chunk)
	for counter := uint64(0); len(out) < n+1; counter++ {
		binary.BigEndian.PutUint64(in[8:], counter)
		block.Encrypt(words[:], in[:])
		for w := range slices.Chunk(words[:], 8) {
			if e, ok := field.New(binary.LittleEndian.Uint64(w)); ok {
				out = append(out, e)
			}
		}
	}
	return out[:n]
}

func mustNew(t testing.TB, key Key) *Stream {
	t.Helper()
	s, err := New(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func filled(s *Stream, n int, chunk uint64) field.Vector {
	dst := make(field.Vector, n)
	s.Fill(dst, chunk)
	return dst
}

func TestFillFollowsTheDefinition(t *testing.T) {
	for _, chunk := range []uint64{0, 1, 2, 1 << 32, 1<<64 - 1} {
		for _, n := range []int{0, 1, 2, 3, 4, 5, batch - 1, batch, batch + 1, 3*batch + 7, ChunkElements} {
			key := Key{1, 2, 3}
			got := filled(mustNew(t, key), n, chunk)
			if !got.Equal(oracle(key, chunk, n)) {
				t.Errorf("chunk %d, %d elements: differs from the definition", chunk, n)
			}
		}
	}
}

func TestNewLeavesTheKeyAlone(t *testing.T) {
	key := Key{3, 2, 1}
	s := mustNew(t, key)
	if key != (Key{3, 2, 1}) {
		t.Error("the caller's key was wiped")
	}
	key[0]++
	if !filled(s, 4, 0).Equal(oracle(Key{3, 2, 1}, 0, 4)) {
		t.Error("changing the key afterwards changes the stream")
	}
}

func TestShorterIsAPrefix(t *testing.T) {
	s := mustNew(t, Key{1})
	whole := filled(s, 2*batch+5, 3)
	for n := range whole {
		if !filled(s, n, 3).Equal(whole[:n]) {
			t.Fatalf("%d elements are no prefix of %d", n, len(whole))
		}
	}
}

func TestAddToAndSubFrom(t *testing.T) {
	s := mustNew(t, Key{1})
	for _, n := range []int{0, 1, 5, batch, batch + 3, ChunkElements} {
		start := filled(mustNew(t, Key{2}), n, 0)
		want := slices.Clone(start)
		want.Add(filled(s, n, 7))
		got := slices.Clone(start)
		if s.AddTo(got, 7); !got.Equal(want) {
			t.Errorf("%d elements: AddTo differs from Fill and Add", n)
		}
		if s.SubFrom(got, 7); !got.Equal(start) {
			t.Errorf("%d elements: SubFrom does not undo AddTo", n)
		}
	}
}

// TestEveryInputMatters: streams that differ in anything agree nowhere. Independent
// ones would, by chance, with probability below 6 pairs * 64 * 2^-63 < 2^-54.
func TestEveryInputMatters(t *testing.T) {
	streams := map[string]field.Vector{
		"base":           filled(mustNew(t, Key{1}), 64, 0),
		"other key":      filled(mustNew(t, Key{2}), 64, 0),
		"other last bit": filled(mustNew(t, Key{0: 1, 31: 1}), 64, 0),
		"other chunk":    filled(mustNew(t, Key{1}), 64, 1),
	}
	for a, v := range streams {
		for b, w := range streams {
			for i := range v {
				if a != b && v[i] == w[i] {
					t.Errorf("%s and %s agree at %d", a, b, i)
				}
			}
		}
	}
}

// TestElementsAreUniform is a chi-square test on the 256 values of every byte of an
// element, on one fixed stream. The statistic has 255 degrees of freedom, mean 255
// and standard deviation 22.6; 400 is passed with probability 2e-8, so that the
// false-alarm rate over eight bytes is below 2e-7.
func TestElementsAreUniform(t *testing.T) {
	v := filled(mustNew(t, Key{5}), ChunkElements, 0)
	for shift := 0; shift < 64; shift += 8 {
		var counts [256]float64
		for _, e := range v {
			counts[byte(e>>shift)]++
		}
		statistic, expected := 0.0, float64(len(v))/256
		for _, c := range counts {
			statistic += (c - expected) * (c - expected) / expected
		}
		if statistic > 400 {
			t.Errorf("bits %d to %d: chi-square is %v", shift, shift+7, statistic)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	s := mustNew(t, Key{1})
	const chunks = 24
	got := make([]field.Vector, chunks)
	var wg sync.WaitGroup
	for c := range got {
		wg.Go(func() { got[c] = filled(s, batch+c, uint64(c)) })
	}
	wg.Wait()
	for c, v := range got {
		if !v.Equal(oracle(Key{1}, uint64(c), batch+c)) {
			t.Errorf("chunk %d differs from the definition", c)
		}
	}
}

func TestScratchIsWiped(t *testing.T) {
	buf := new(scratch)
	s := mustNew(t, Key{1})
	s.expand(make(field.Vector, batch), 0, buf, set())
	if *buf != (scratch{}) {
		t.Error("keystream is left in the buffer")
	}
}

func TestTooManyElementsPanic(t *testing.T) {
	s := mustNew(t, Key{1})
	for name, f := range map[string]func(field.Vector, uint64){
		"Fill": s.Fill, "AddTo": s.AddTo, "SubFrom": s.SubFrom,
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f(make(field.Vector, ChunkElements+1), 0)
		})
	}
}

func TestChunks(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, ChunkElements: 1, ChunkElements + 1: 2, 3 * ChunkElements: 3} {
		if got := Chunks(n); got != want {
			t.Errorf("Chunks(%d) = %d, want %d", n, got, want)
		}
	}
	v := make(field.Vector, 2*ChunkElements+5)
	total := 0
	for c := range uint64(Chunks(len(v))) {
		part := Chunk(v, c)
		if &part[0] != &v[total] || cap(part) != len(part) {
			t.Errorf("chunk %d is at the wrong place", c)
		}
		total += len(part)
	}
	if total != len(v) {
		t.Errorf("chunks have %d elements, want %d", total, len(v))
	}
	for _, beyond := range []uint64{3, 1 << 48, 1<<64 - 1} {
		if part := Chunk(v, beyond); len(part) != 0 {
			t.Errorf("chunk %d has %d elements", beyond, len(part))
		}
	}
}
