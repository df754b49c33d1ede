package noise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/blake3"
)

// TestChunksAreFillsUnderTheirOwnKeys: a chunk is what Fill makes of the key that the
// definition gives, computed here from it.
func TestChunksAreFillsUnderTheirOwnKeys(t *testing.T) {
	g := mustNew(t, integer(1<<20))
	seed := Seed{1, 2, 3}
	for _, chunk := range []uint64{0, 1, 255, 1 << 40} {
		h := blake3.NewDeriveKey("choir v1 noise chunk")
		_, _ = h.Write(append(seed[:], bigEndian(chunk)...))
		key := h.Sum(nil)
		want, got := make([]int64, 500), make([]int64, 500)
		if err := g.Fill(want, bytes.NewReader(key)); err != nil {
			t.Fatal(err)
		}
		if err := g.FillChunk(got, seed, chunk); err != nil || !slices.Equal(got, want) {
			t.Errorf("chunk %d differs from its definition (%v)", chunk, err)
		}
	}
}

func bigEndian(x uint64) []byte {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(x >> (56 - 8*i))
	}
	return b
}

// TestSeededIsChunkByChunk: the vector consists of the chunks, drawn in any order, and the first
// samples of a chunk do not depend on how many are drawn.
func TestSeededIsChunkByChunk(t *testing.T) {
	g, seed := mustNew(t, integer(1<<10)), Seed{9}
	whole := make([]int64, 2*ChunkSamples+77)
	if err := g.FillSeeded(whole, seed); err != nil {
		t.Fatal(err)
	}
	for _, c := range []int{2, 0, 1} {
		part := whole[c*ChunkSamples : min(len(whole), (c+1)*ChunkSamples)]
		again := make([]int64, min(len(part), 1000))
		if err := g.FillChunk(again, seed, uint64(c)); err != nil || !slices.Equal(again, part[:len(again)]) {
			t.Errorf("chunk %d came out otherwise (%v)", c, err)
		}
	}
	if slices.Equal(whole[:100], whole[ChunkSamples:ChunkSamples+100]) {
		t.Error("two chunks have the same noise")
	}
	other := make([]int64, 100)
	if err := g.FillChunk(other, Seed{10}, 0); err != nil || slices.Equal(other, whole[:100]) {
		t.Errorf("two seeds have the same noise (%v)", err)
	}
}

// TestSeededVariance: over 40 seeds of 1000 samples in chunks of their own, the mean
// square is the variance. Its relative standard error is sqrt(2/40000) = 0.0071; at
// six of them a true sampler fails with probability 2e-9.
func TestSeededVariance(t *testing.T) {
	const s2 = 1 << 24
	g, sum := mustNew(t, integer(s2)), 0.0
	for i := range 40 {
		x := make([]int64, 1000)
		if err := g.FillChunk(x, Seed{byte(i), 1}, uint64(i)); err != nil {
			t.Fatal(err)
		}
		for _, v := range x {
			sum += float64(v) * float64(v)
		}
	}
	if ratio := sum / 40_000 / s2; math.Abs(ratio-1) > 6*0.0071 {
		t.Errorf("the variance is %.4f times what it should be", ratio)
	}
}

func TestNewSeed(t *testing.T) {
	if s, err := NewSeed(bytes.NewReader(bytes.Repeat([]byte{4}, 32))); !errors.Is(err, ErrRandomness) ||
		s != (Seed{}) {
		t.Errorf("32 equal bytes: %v, want ErrRandomness", err)
	}
	if _, err := NewSeed(bytes.NewReader(make([]byte, 31))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("31 bytes: %v", err)
	}
	one, err := NewSeed(seeded(3))
	if err != nil {
		t.Fatal(err)
	}
	two, err := NewSeed(seeded(4))
	if err != nil || one == two {
		t.Errorf("two readers give one seed (%v)", err)
	}
}

func TestSeedsDontPrint(t *testing.T) {
	s := Seed{0xab, 0xab, 0xab}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "seed", s)
	j, err := json.Marshal(map[string]any{"seed": s})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%x %d %#v %s %+v", s, s, s, s, &s), log.String(),
		string(j)} {
		if strings.Contains(text, "ab, ab") || strings.Contains(text, "abab") || strings.Contains(text, "171") ||
			!strings.Contains(text, "redacted") {
			t.Errorf("a seed prints as %s", text)
		}
	}
}
