package noise

import (
	"bytes"
	"crypto/aes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"testing"
	"testing/iotest"
)

func TestVarianceRange(t *testing.T) {
	for _, c := range []struct{ num, den, wantNum, wantDen uint64 }{
		{1, 1, 1, 1}, {2, 1, 2, 1}, {maxVariance, 1, maxVariance, 1}, {9, 100, 9, 100}, {18, 200, 9, 100},
		{1 << 40, 1 << 20, 1 << 20, 1},
		{1 << 63, 2, maxVariance, 1}, {1 << 63, 1 << 63, 1, 1}, {1, 1 << 32, 1, 1 << 32},
		{1 << 30, 1 << 62, 1, 1 << 32}, {1<<30 + 1, maxVariance, 1<<30 + 1, maxVariance},
	} {
		g, err := newRational(c.num, c.den)
		if err != nil {
			t.Errorf("%d/%d: %v", c.num, c.den, err)
		} else if num, den := g.Variance(); num != c.wantNum || den != c.wantDen {
			t.Errorf("%d/%d: got %d/%d, want %d/%d", c.num, c.den, num, den, c.wantNum, c.wantDen)
		}
		if num, den := mustNewReference(t, variance{c.num, c.den}).Variance(); num != c.wantNum ||
			den != c.wantDen {
			t.Errorf("%d/%d: the reference has %d/%d, want %d/%d", c.num, c.den, num, den, c.wantNum, c.wantDen)
		}
	}
	for _, c := range [][2]uint64{
		{0, 1}, {1, 0}, {0, 0}, {maxVariance + 1, 1}, {math.MaxUint64, 1}, {1, 1<<32 + 1},
		{1<<30 - 1, maxVariance}, {maxVariance + 1, 3}, {maxVariance, maxVariance + 1},
	} {
		if g, err := newRational(c[0], c[1]); !errors.Is(err, ErrVariance) || g != nil {
			t.Errorf("%d/%d: %v, want ErrVariance", c[0], c[1], err)
		}
		if g, err := NewReference(c[0], c[1]); !errors.Is(err, ErrVariance) || g != nil {
			t.Errorf("%d/%d: %v, want ErrVariance", c[0], c[1], err)
		}
	}
	if g, err := NewGaussian(0); !errors.Is(err, ErrVariance) || g != nil {
		t.Errorf("0: %v, want ErrVariance", err)
	}
}

// TestFillIsManySamples: taking words in runs must not change a sample, nor must the
// buffer's size, down to the smallest.
func TestFillIsManySamples(t *testing.T) {
	for _, v := range testVariances() {
		g, r := mustNew(t, v), seeded(1)
		want := make([]int64, 2000)
		for i := range want {
			var err error
			if want[i], err = g.Sample(r); err != nil {
				t.Fatal(err)
			}
		}
		for _, size := range []int{8, 24, 32, 40, 4096} {
			got := make([]int64, len(want))
			if err := g.fill(got, newSource(seeded(1), size)); err != nil || !slices.Equal(got, want) {
				t.Errorf("variance %v, buffer of %d: fill differs from Sample (%v)", v, size, err)
			}
		}
	}
}

// TestFillExpandsAKey: Fill reads 32 bytes and samples from their keystream, which is
// made here block by block.
func TestFillExpandsAKey(t *testing.T) {
	key := make([]byte, keySize)
	if _, err := seeded(5).Read(key); err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	var stream []byte
	for i := range uint64(8000) {
		var counter, out [16]byte
		binary.BigEndian.PutUint64(counter[8:], i)
		block.Encrypt(out[:], counter[:])
		stream = append(stream, out[:]...)
	}
	for _, v := range testVariances() {
		g, r, counted := mustNew(t, v), bytes.NewReader(stream), &countingReader{r: bytes.NewReader(key)}
		got := make([]int64, 1000)
		if err := g.Fill(got, counted); err != nil || counted.n != keySize {
			t.Fatalf("variance %v: read %d bytes, %v", v, counted.n, err)
		}
		for i := range got {
			if want, err := g.Sample(r); err != nil || got[i] != want {
				t.Fatalf("variance %v, sample %d: %d, want %d, %v", v, i, got[i], want, err)
			}
		}
	}
}

// TestBrokenRandomnessIsNoticed: no constant source makes the sampler hang or panic, and
// Fill rejects every one.
func TestBrokenRandomnessIsNoticed(t *testing.T) {
	for _, v := range testVariances() {
		g := mustNew(t, v)
		for c := range 256 {
			if x, err := g.Sample(constantReader(c)); err != nil && (!errors.Is(err, ErrRandomness) || x != 0) {
				t.Errorf("variance %v, bytes %d: %d, %v", v, c, x, err)
			}
			dst := []int64{7}
			if err := g.Fill(dst, constantReader(c)); !errors.Is(err, ErrRandomness) || dst[0] != 0 {
				t.Errorf("variance %v, bytes %d: %d, %v, want ErrRandomness", v, c, dst[0], err)
			}
		}
	}
}

type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// TestReaderErrors cuts the randomness off after every number of bytes.
func TestReaderErrors(t *testing.T) {
	for _, v := range []variance{integer(1), integer(1 << 20), integer(maxVariance), {9, 100}} {
		checkReaderErrors(t, mustNew(t, v), keySize)
		checkReaderErrors(t, mustNewReference(t, v), 100)
	}
}

// sampler is what both samplers are.
type sampler interface {
	Sample(r io.Reader) (int64, error)
	Fill(dst []int64, r io.Reader) error
}

func checkReaderErrors(t *testing.T, g sampler, upTo int) {
	t.Helper()
	cause := errors.New("no entropy today")
	for n := range upTo {
		cut := func() io.Reader {
			return io.MultiReader(io.LimitReader(seeded(9), int64(n)), iotest.ErrReader(cause))
		}
		dst := slices.Repeat([]int64{7}, 50)
		if err := g.Fill(dst, cut()); !errors.Is(err, cause) {
			t.Fatalf("Fill after %d bytes: %v, want the reader's error", n, err)
		}
		if slices.ContainsFunc(dst, func(x int64) bool { return x != 0 }) {
			t.Fatalf("Fill after %d bytes left samples: %v", n, dst)
		}
		if x, err := g.Sample(cut()); err != nil && (!errors.Is(err, cause) || x != 0) {
			t.Fatalf("Sample after %d bytes: %d, %v", n, x, err)
		}
	}
}

func TestShortReaders(t *testing.T) {
	if x, err := mustNew(t, integer(1)).Sample(bytes.NewReader(nil)); !errors.Is(err, io.EOF) || x != 0 {
		t.Errorf("empty reader: %d, %v, want EOF", x, err)
	}
	x, err := mustNew(t, integer(1)).Sample(bytes.NewReader([]byte{1, 2, 3}))
	if !errors.Is(err, io.ErrUnexpectedEOF) || x != 0 {
		t.Errorf("three bytes: %d, %v, want an unexpected EOF", x, err)
	}
	dst := make([]int64, 100)
	short := newSource(bytes.NewReader(make([]byte, 99)), 64)
	if err := mustNew(t, integer(1)).fill(dst, short); !errors.Is(err, io.EOF) {
		t.Errorf("99 bytes: %v, want EOF", err)
	}
}

// constantReader is a broken source of randomness.
type constantReader byte

func (c constantReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

func TestEndlessTiesAreNoticed(t *testing.T) {
	f := ratio(1, 3)
	words := slices.Repeat([]uint64{(1<<64 - 1) / 3}, 2*maxTies) // 1/3 for ever
	s := newSource(replay(words, 0), wordSize)
	if bernoulli(s, &f, 1) || !errors.Is(s.err, ErrRandomness) {
		t.Errorf("got %v, want ErrRandomness", s.err)
	}
}

// TestLongExponentsAreNoticed: zero and then ones make exp(-1) true every time.
func TestLongExponentsAreNoticed(t *testing.T) {
	words := slices.Repeat([]uint64{0, 1<<64 - 1}, maxWhole)
	if s := newSource(replay(words, 0), wordSize); !bernoulliExpInt(s, maxWhole) || s.err != nil {
		t.Errorf("exp(-%d): %v", maxWhole, s.err)
	}
	if s := newSource(replay(words, 0), wordSize); bernoulliExpInt(s, maxWhole+1) ||
		!errors.Is(s.err, ErrRandomness) {
		t.Errorf("exp(-%d): %v, want ErrRandomness", maxWhole+1, s.err)
	}
}

func TestEmptyFillReadsNothing(t *testing.T) {
	if err := mustNew(t, integer(5)).Fill(nil, iotest.ErrReader(io.EOF)); err != nil {
		t.Error(err)
	}
}

func TestWithTheSystemsRandomness(t *testing.T) {
	dst := make([]int64, 1000)
	if err := mustNew(t, integer(1<<60)).Fill(dst, rand.Reader); err != nil {
		t.Fatal(err)
	}
	slices.Sort(dst)
	if distinct := len(slices.Compact(dst)); distinct < 990 { // two agree with probability 1e-4
		t.Errorf("only %d of 1000 samples are distinct", distinct)
	}
}

func TestBuffersAreWiped(t *testing.T) {
	s := newSource(seeded(1), 64)
	s.word()
	s.wipe()
	if slices.ContainsFunc(s.buf, func(b byte) bool { return b != 0 }) || s.end != s.start {
		t.Error("randomness is left in the buffer")
	}
}
