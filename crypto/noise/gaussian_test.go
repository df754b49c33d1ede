package noise

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"math"
	"slices"
	"testing"
	"testing/iotest"
)

func TestVarianceRange(t *testing.T) {
	for _, c := range []struct{ num, den, wantNum, wantDen uint64 }{
		{1, 1, 1, 1}, {2, 1, 2, 1}, {MaxVariance, 1, MaxVariance, 1}, {9, 100, 9, 100}, {18, 200, 9, 100}, {1 << 40, 1 << 20, 1 << 20, 1},
		{1 << 63, 2, MaxVariance, 1}, {1 << 63, 1 << 63, 1, 1}, {1, 1 << 32, 1, 1 << 32}, {1 << 30, 1 << 62, 1, 1 << 32}, {1<<30 + 1, MaxVariance, 1<<30 + 1, MaxVariance},
	} {
		g, err := NewRational(c.num, c.den)
		if err != nil {
			t.Errorf("%d/%d: %v", c.num, c.den, err)
		} else if num, den := g.Variance(); num != c.wantNum || den != c.wantDen {
			t.Errorf("%d/%d: got %d/%d, want %d/%d", c.num, c.den, num, den, c.wantNum, c.wantDen)
		}
	}
	for _, c := range [][2]uint64{
		{0, 1}, {1, 0}, {0, 0}, {MaxVariance + 1, 1}, {math.MaxUint64, 1}, {1, 1<<32 + 1}, {1<<30 - 1, MaxVariance}, {MaxVariance + 1, 3}, {MaxVariance, MaxVariance + 1},
	} {
		if g, err := NewRational(c[0], c[1]); !errors.Is(err, ErrVariance) || g != nil {
			t.Errorf("%d/%d: %v, want ErrVariance", c[0], c[1], err)
		}
	}
	if g, err := NewGaussian(0); !errors.Is(err, ErrVariance) || g != nil {
		t.Errorf("0: %v, want ErrVariance", err)
	}
}

// TestFillIsManySamples: reading ahead must not change a sample, whatever the
// reader's habits.
func TestFillIsManySamples(t *testing.T) {
	for _, variance := range testVariances() {
		g, r := mustNew(t, variance), seeded(1)
		want := make([]int64, 300)
		for i := range want {
			var err error
			if want[i], err = g.Sample(r); err != nil {
				t.Fatal(err)
			}
		}
		for name, r := range map[string]io.Reader{
			"whole reads": seeded(1), "a byte at a time": iotest.OneByteReader(seeded(1)), "half reads": iotest.HalfReader(seeded(1)),
		} {
			got := make([]int64, len(want))
			if err := g.Fill(got, r); err != nil || !slices.Equal(got, want) {
				t.Errorf("variance %v, %s: Fill differs from Sample (%v)", variance, name, err)
			}
		}
	}
}

func TestSampleReadsOnlyWhatItNeeds(t *testing.T) {
	r := seeded(3)
	o := newOracle(t, integer(100), seeded(3))
	counted := &countingReader{r: r}
	g := mustNew(t, integer(100))
	for range 50 {
		if _, err := g.Sample(counted); err != nil {
			t.Fatal(err)
		}
		o.sample()
	}
	if counted.n != o.word*wordSize {
		t.Errorf("read %d bytes for %d words", counted.n, o.word)
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
	cause := errors.New("no entropy today")
	for _, variance := range []variance{integer(1), integer(1 << 20), integer(MaxVariance), {9, 100}} {
		g := mustNew(t, variance)
		for n := range 100 {
			cut := func() io.Reader { return io.MultiReader(io.LimitReader(seeded(9), int64(n)), iotest.ErrReader(cause)) }
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
	if x, err := mustNew(t, integer(1)).Sample(bytes.NewReader(nil)); !errors.Is(err, io.EOF) || x != 0 {
		t.Errorf("empty reader: %d, %v, want EOF", x, err)
	}
	if x, err := mustNew(t, integer(1)).Sample(bytes.NewReader([]byte{1, 2, 3})); !errors.Is(err, io.ErrUnexpectedEOF) || x != 0 {
		t.Errorf("three bytes: %d, %v, want an unexpected EOF", x, err)
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

// TestBrokenRandomnessIsNoticed: no constant source makes the sampler hang, and those
// that would make a loop endless end in ErrRandomness.
func TestBrokenRandomnessIsNoticed(t *testing.T) {
	for _, variance := range testVariances() {
		g := mustNew(t, variance)
		if x, err := g.Sample(constantReader(0)); !errors.Is(err, ErrRandomness) || x != 0 {
			t.Errorf("variance %v, zeros: %d, %v, want ErrRandomness", variance, x, err)
		}
		for c := range 256 {
			dst := []int64{7}
			if err := g.Fill(dst, constantReader(c)); err != nil && (!errors.Is(err, ErrRandomness) || dst[0] != 0) {
				t.Errorf("variance %v, bytes %d: %d, %v", variance, c, dst[0], err)
			}
		}
	}
}

func TestEndlessTiesAreNoticed(t *testing.T) {
	f := ratio(1, 3)
	words := slices.Repeat([]uint64{(1<<64 - 1) / 3}, 2*maxTies) // 1/3 for ever
	s := newSource(replay(words, 0), wordSize)
	if bernoulli(s, &f, 1) || !errors.Is(s.err, ErrRandomness) {
		t.Errorf("got %v, want ErrRandomness", s.err)
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
