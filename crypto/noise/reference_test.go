package noise

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"
)

// TestReferenceFillIsManySamples: reading ahead does not change a sample, for readers that return
// different numbers of bytes.
func TestReferenceFillIsManySamples(t *testing.T) {
	for _, variance := range testVariances() {
		g, r := mustNewReference(t, variance), seeded(1)
		want := make([]int64, 300)
		for i := range want {
			var err error
			if want[i], err = g.Sample(r); err != nil {
				t.Fatal(err)
			}
		}
		for name, r := range map[string]io.Reader{
			"whole reads":      seeded(1),
			"a byte at a time": iotest.OneByteReader(seeded(1)),
			"half reads":       iotest.HalfReader(seeded(1)),
		} {
			t.Run(name, func(t *testing.T) {
				got := make([]int64, len(want))
				if err := g.Fill(got, r); err != nil || !slices.Equal(got, want) {
					t.Errorf("variance %v, %s: Fill differs from Sample (%v)", variance, name, err)
				}
			})
		}
	}
}

func TestReferenceReadsOnlyWhatItNeeds(t *testing.T) {
	r := seeded(3)
	o := newOracle(t, integer(100), seeded(3))
	counted := &countingReader{r: r}
	g := mustNewReference(t, integer(100))
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

// TestReferenceNoticesBrokenRandomness: no constant source makes the sampler hang, and those
// that would make a loop endless end in ErrRandomness.
func TestReferenceNoticesBrokenRandomness(t *testing.T) {
	for _, variance := range testVariances() {
		g := mustNewReference(t, variance)
		if x, err := g.Sample(constantReader(0)); !errors.Is(err, ErrRandomness) || x != 0 {
			t.Errorf("variance %v, zeros: %d, %v, want ErrRandomness", variance, x, err)
		}
		for c := 0; c < 256; c += 5 {
			dst := []int64{7}
			if err := g.Fill(dst, constantReader(c)); err != nil && (!errors.Is(err, ErrRandomness) || dst[0] != 0) {
				t.Errorf("variance %v, bytes %d: %d, %v", variance, c, dst[0], err)
			}
		}
	}
}
