package commit

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"filippo.io/edwards25519"
	"pgregory.net/rapid"
)

// TestHomomorphism: the sum of commitments is the commitment to the sum.
func TestHomomorphism(t *testing.T) {
	const d = 4
	g, r := testGenerators(t, d), testRand(3)
	rapid.Check(t, func(rt *rapid.T) {
		half := rapid.Int64Range(math.MinInt64/2, math.MaxInt64/2)
		a := rapid.SliceOfN(half, d, d).Draw(rt, "a")
		b := rapid.SliceOfN(half, d, d).Draw(rt, "b")
		ra, rb := testScalar(t, r), testScalar(t, r)
		sum := make([]int64, d)
		for i := range sum {
			sum[i] = a[i] + b[i]
		}
		ca, errA := g.Commit(a, ra)
		cb, errB := g.Commit(b, rb)
		want, errC := g.Commit(sum, SumScalars([]*Scalar{ra, rb}))
		got, errD := Sum([]Commitment{ca, cb})
		if err := errors.Join(errA, errB, errC, errD); err != nil || got != want {
			rt.Fatalf("%v, want %v (%v)", got, want, err)
		}
		if parsed, err := ParseCommitment(got[:]); err != nil || parsed != got {
			rt.Fatalf("%v parsed as %v, %v", got, parsed, err)
		}
	})
}

// TestBlindingHides: the same values under two blinding scalars look different,
// and a zero vector's commitment is not the identity.
func TestBlindingHides(t *testing.T) {
	g, r := testGenerators(t, 3), testRand(4)
	seen := map[Commitment]bool{}
	for range 20 {
		c, err := g.Commit(make([]int64, 3), testScalar(t, r))
		if err != nil {
			t.Fatal(err)
		}
		seen[c] = true
	}
	identity, err := Sum(nil)
	if err != nil || len(seen) != 20 || seen[identity] {
		t.Errorf("%d commitments of 20, identity among them: %v (%v)", len(seen), seen[identity], err)
	}
}

func TestBadCommitments(t *testing.T) {
	torsion := [32]byte(bytes.Repeat([]byte{0xff}, 32)) // y = -1, order 2
	torsion[0], torsion[31] = 0xec, 0x7f
	p, err := new(edwards25519.Point).SetBytes(torsion[:])
	if err != nil {
		t.Fatal(err)
	}
	mixed := p.Add(p, edwards25519.NewGeneratorPoint()).Bytes()
	bad := map[string][]byte{
		"empty": nil, "short": make([]byte, 31), "long": make([]byte, 33),
		"no point":              append([]byte{2}, make([]byte, 31)...),
		"small order":           torsion[:],
		"mixed order":           mixed,
		"sign on x = 0":         append(append([]byte{1}, make([]byte, 30)...), 0x80),
		"y above p":             append(append([]byte{0xee}, bytes.Repeat([]byte{0xff}, 30)...), 0x7f),
		"all ones":              bytes.Repeat([]byte{0xff}, 32),
		"zero value, order 4":   make([]byte, 32),
		"y = p, non-canonical ": append(append([]byte{0xed}, bytes.Repeat([]byte{0xff}, 30)...), 0x7f),
	}
	for name, b := range bad {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseCommitment(b); !errors.Is(err, ErrCommitment) {
				t.Errorf("%v, want ErrCommitment", err)
			}
		})
	}
	if _, err := Sum([]Commitment{Commitment(bad["all ones"])}); !errors.Is(err, ErrCommitment) {
		t.Errorf("sum: %v, want ErrCommitment", err)
	}
}

func FuzzParseCommitment(f *testing.F) {
	f.Add(edwards25519.NewGeneratorPoint().Bytes())
	f.Add(edwards25519.NewIdentityPoint().Bytes())
	f.Add(make([]byte, 32))
	f.Add(bytes.Repeat([]byte{0xff}, 32))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseCommitment(b)
		if err != nil {
			return
		}
		if sum, err := Sum([]Commitment{c}); err != nil || sum != c || !bytes.Equal(c[:], b) {
			t.Fatalf("%x parsed as %v, sum %v, %v", b, c, sum, err)
		}
	})
}
