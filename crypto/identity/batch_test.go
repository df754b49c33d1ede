package identity

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"filippo.io/edwards25519"
	"pgregory.net/rapid"
)

// signedItem is an honest signature by one of 256 keys.
func signedItem(n byte, msg string) Item {
	key := testKey(n)
	return Item{Key: key.Public(), Msg: []byte(msg), Sig: key.Sign([]byte(msg))}
}

// adversarial returns an item of a given kind. Kinds from 0 on are valid, crafted or not; kinds below
// zero are invalid.
func adversarial(t testing.TB, points [8]*edwards25519.Point, kind int, n byte) Item {
	ta, tr := points[n%8], points[n/8%8]
	it := signedItem(n, fmt.Sprint("message ", n))
	switch kind {
	case 1:
		it = mixed(scalar(t, n|1), scalar(t, n^7), ta, tr, []byte{n})
	case 2:
		it = mixed(scalar(t, n|1), edwards25519.NewScalar(), ta, tr, []byte{n})
	case -1:
		it.Msg = append(it.Msg, '!')
	case -2:
		it.Sig[32+n%31] ^= 1 << (n % 8)
	case -3:
		it.Sig[n%32] ^= 1 << (n % 8)
	case -4:
		it = mixed(edwards25519.NewScalar(), scalar(t, n), ta, tr, []byte{n})
	case -5:
		copy(it.Sig[:32], nonCanonicalSample(n))
	case -6:
		it.Key = PublicKey(nonCanonicalSample(n))
	case -7:
		it.Sig[63] |= 0x80
	case -8:
		it.Key = testKey(n + 1).Public()
	}
	return it
}

func nonCanonicalSample(n byte) []byte {
	all := nonCanonical()
	e := all[int(n)%len(all)]
	return e[:]
}

// TestBatchEqualsSingle compares batches with single verification for mixes of honest, crafted and
// invalid signatures. A difference arises by chance with probability 2^-128.
func TestBatchEqualsSingle(t *testing.T) {
	points, r := torsion(t), testRand(1)
	good, bad := 0, 0
	tabled := new(Keys) // with tables of as many keys as have one
	for n := range byte(maxTables) {
		it := signedItem(n, "table")
		for range manyAlone + 1 {
			tabled.Verify(it.Key, it.Msg, it.Sig)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.IntRange(-8, 2), 0, 12).Draw(rt, "kinds")
		honest := rapid.IntRange(0, 8).Draw(rt, "honest")
		items := make([]Item, 0, len(kinds)+honest)
		for _, kind := range append(make([]int, honest), kinds...) {
			items = append(items, adversarial(t, points, kind, rapid.Byte().Draw(rt, "n")))
		}
		var want []int
		for i, it := range items {
			if Verify(it.Key, it.Msg, it.Sig) {
				good++
				continue
			}
			want = append(want, i)
			bad++
		}
		if got := VerifyBatch(items, r); !slices.Equal(got, want) {
			rt.Fatalf("batch rejects %v, one by one %v", got, want)
		}
		if got := tabled.VerifyBatch(items, r); !slices.Equal(got, want) {
			rt.Fatalf("with tables the batch rejects %v, one by one %v", got, want)
		}
	})
	enough := 100
	if testing.Short() { // a fifth of the mixes
		enough = 20
	}
	if good < enough || bad < enough {
		t.Errorf("only %d good and %d bad signatures", good, bad)
	}
}

// TestAdversarialKinds checks that the sign of each kind tells whether it is valid, which the mixes
// above rely on.
func TestAdversarialKinds(t *testing.T) {
	points := torsion(t)
	for kind := -8; kind <= 2; kind++ {
		for n := 0; n < 64; n += 3 {
			it := adversarial(t, points, kind, byte(n))
			if got := Verify(it.Key, it.Msg, it.Sig); got != (kind >= 0) {
				t.Errorf("kind %d, %d: accepted %v", kind, n, got)
			}
		}
	}
}

// TestCombinedIsCofactored tests the combination without the search, which would correct a wrong
// rejection: valid signatures with components of small order pass it, and one invalid signature among
// them fails it.
func TestCombinedIsCofactored(t *testing.T) {
	points := torsion(t)
	b := bisector{rand: testRand(5)}
	var items []Item
	for n := range 64 {
		items = append(items, adversarial(t, points, 1, byte(n)))
	}
	if b.claims, _ = new(Keys).claims(items); len(b.claims) != len(items) {
		t.Fatal("not all are well-formed signatures")
	}
	if good, err := b.combined(0, len(b.claims)); err != nil || !good {
		t.Errorf("good signatures: %v, %v", good, err)
	}
	for i := range b.claims {
		was := b.claims[i].k
		b.claims[i].k.Add(&was, one(t))
		if good, err := b.combined(0, len(b.claims)); err != nil || good {
			t.Errorf("signature %d is bad: %v, %v", i, good, err)
		}
		b.claims[i].k = was
	}
}

// TestCancellingForgeries has two invalid signatures whose errors cancel in a plain sum: S + 1 and
// S - 1. Only the random coefficients detect them.
func TestCancellingForgeries(t *testing.T) {
	items := make([]Item, 16)
	for i := range items {
		items[i] = signedItem(byte(i), "round 1")
	}
	shift := func(it *Item, by *edwards25519.Scalar) {
		s, err := edwards25519.NewScalar().SetCanonicalBytes(it.Sig[32:])
		if err != nil {
			t.Fatal(err)
		}
		copy(it.Sig[32:], s.Add(s, by).Bytes())
	}
	shift(&items[3], one(t))
	shift(&items[4], edwards25519.NewScalar().Negate(one(t)))
	if got := VerifyBatch(items, testRand(2)); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("rejected %v, want [3 4]", got)
	}
}

// TestCulprits puts invalid signatures at every index and pair of indices.
func TestCulprits(t *testing.T) {
	const n = 9
	good, bad := make([]Item, n), make([]Item, n)
	for i := range good {
		good[i] = signedItem(byte(i), "yes")
		bad[i] = good[i]
		bad[i].Msg = []byte("no")
	}
	r := testRand(3)
	for i := range n {
		for j := i; j < n; j++ {
			items := slices.Clone(good)
			items[i], items[j] = bad[i], bad[j]
			want := slices.Compact([]int{i, j})
			if got := VerifyBatch(items, r); !slices.Equal(got, want) {
				t.Fatalf("rejected %v, want %v", got, want)
			}
		}
	}
	if got := VerifyBatch(good, r); got != nil {
		t.Errorf("all good: rejected %v", got)
	}
	if got := VerifyBatch(bad, r); len(got) != n {
		t.Errorf("all bad: rejected %v", got)
	}
	if got := VerifyBatch(nil, r); got != nil {
		t.Errorf("empty batch: rejected %v", got)
	}
}

// TestPatience bounds the search if every signature is invalid, by the randomness that it draws: 16
// bytes for each signature in each combination. Halving to the end would draw 256·16 bytes on each of
// 7 levels.
func TestPatience(t *testing.T) {
	const n = 256
	items := make([]Item, n)
	for i := range items {
		items[i] = signedItem(byte(i), "yes")
		items[i].Msg = []byte("no")
	}
	r := &countingReader{r: testRand(6)}
	if got := VerifyBatch(items, r); len(got) != n {
		t.Errorf("rejected %d of %d", len(got), n)
	}
	if r.n < 16*n || r.n > 16*n*5/2 {
		t.Errorf("drew %d bytes, want between 1 and 2.5 times %d", r.n, 16*n)
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

// TestBatchWithoutRandomness: a batch is verified correctly without a source of randomness.
func TestBatchWithoutRandomness(t *testing.T) {
	items := make([]Item, 20)
	for i := range items {
		items[i] = signedItem(byte(i), "yes")
	}
	items[7].Msg = []byte("no")
	for name, r := range map[string]io.Reader{"nil": nil, "failing": iotest.ErrReader(io.ErrClosedPipe)} {
		t.Run(name, func(t *testing.T) {
			if got := VerifyBatch(items, r); !slices.Equal(got, []int{7}) {
				t.Errorf("%s reader: rejected %v, want [7]", name, got)
			}
		})
	}
}

func benchmarkItems(n int) []Item {
	items := make([]Item, n)
	for i := range items {
		seed := [32]byte{byte(i), byte(i >> 8), 1}
		key, msg := FromSeed(seed), fmt.Appendf(nil, "contribution of party %d, round 1", i)
		items[i] = Item{Key: key.Public(), Msg: msg, Sig: key.Sign(msg)}
	}
	return items
}

// BenchmarkOneKey verifies signatures of one key one by one: with a key that is decoded each time, with
// a cached one, and with a table.
func BenchmarkOneKey(b *testing.B) {
	it := benchmarkItems(1)[0]
	for _, c := range []struct {
		name string
		keys *Keys
	}{{"decoded", nil}, {"cached", &Keys{tables: maxTables}}, {"table", new(Keys)}} {
		b.Run(c.name, func(b *testing.B) {
			for range manyAlone + 1 {
				c.keys.Verify(it.Key, it.Msg, it.Sig)
			}
			for b.Loop() {
				if !c.keys.Verify(it.Key, it.Msg, it.Sig) {
					b.Fatal("rejected")
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		items := benchmarkItems(n)
		perSignature := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "us/signature")
		}
		b.Run(fmt.Sprintf("single/%d", n), func(b *testing.B) {
			for b.Loop() {
				for _, it := range items {
					if !Verify(it.Key, it.Msg, it.Sig) {
						b.Fatal("rejected")
					}
				}
			}
			perSignature(b)
		})
		verifyBatch := func(items []Item, want int) func(b *testing.B) {
			return func(b *testing.B) {
				r := testRand(4)
				for b.Loop() {
					if got := VerifyBatch(items, r); len(got) != want {
						b.Fatal("rejected", got)
					}
				}
				perSignature(b)
			}
		}
		b.Run(fmt.Sprintf("batch/%d", n), verifyBatch(items, 0))
		b.Run(fmt.Sprintf("batch-known-keys/%d", n), func(b *testing.B) {
			r, keys := testRand(4), new(Keys)
			keys.VerifyBatch(items, r)
			for b.Loop() {
				if bad := keys.VerifyBatch(items, r); bad != nil {
					b.Fatal("rejected", bad)
				}
			}
			perSignature(b)
		})
		all := slices.Clone(items)
		for i := range all {
			all[i].Msg = []byte("forged")
		}
		b.Run(fmt.Sprintf("batch-all-bad/%d", n), verifyBatch(all, n))
		one := slices.Clone(items)
		one[n/3].Msg = []byte("forged")
		b.Run(fmt.Sprintf("batch-one-bad/%d", n), verifyBatch(one, 1))
	}
}
