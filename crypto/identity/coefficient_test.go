package identity

import (
	"math/big"
	"slices"
	"testing"

	"filippo.io/edwards25519"

	"choir/crypto/internal/msm"
)

// integer decodes b, little endian.
func integer(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// TestCoefficients: 16 bytes encode an integer in [-2^127, 2^127), and both forms of a coefficient
// have its magnitude and sign.
func TestCoefficients(t *testing.T) {
	order, ok := new(big.Int).SetString("27742317777372353535851937790883648493", 10)
	if !ok {
		t.Fatal("not a number")
	}
	order.Add(order, new(big.Int).Lsh(big.NewInt(1), 252))
	r := testRand(40)
	samples := [][16]byte{{}, {1}, {15: 0x80}, {0: 1, 15: 0x80}, {15: 0x7f}, {8: 1}, {15: 0xff}}
	all := [16]byte{}
	for i := range all {
		all[i] = 0xff
	}
	samples = append(samples, all)
	for range 500 {
		var b [16]byte
		r.Read(b[:])
		samples = append(samples, b)
	}
	for _, b := range samples {
		var z coefficient
		if err := z.set(&b); err != nil {
			t.Fatal(err)
		}
		want := integer(b[:])
		if b[15] >= 0x80 {
			want.Sub(want, new(big.Int).Lsh(big.NewInt(1), 128))
		}
		got := integer(z.magnitude[:])
		if z.negative {
			got.Neg(got)
		}
		if got.Cmp(want) != 0 {
			t.Errorf("%x encodes %v, want %v", b, got, want)
		}
		if modulo := integer(z.value.Bytes()); modulo.Cmp(want.Mod(want, order)) != 0 {
			t.Errorf("%x is %v modulo the order, want %v", b, modulo, want)
		}
	}
}

// TestCombinationsBySize verifies batches of each size around the thresholds between methods: an
// invalid signature at the end is found, and no other is rejected.
func TestCombinationsBySize(t *testing.T) {
	items, r := benchmarkItems(bucketsFrom+4), testRand(41)
	for n := range len(items) {
		if n > 24 && n < bucketsFrom-4 {
			continue
		}
		batch := slices.Clone(items[:n])
		if bad := VerifyBatch(batch, r); bad != nil {
			t.Errorf("%d good signatures: rejected %v", n, bad)
		}
		if n == 0 {
			continue
		}
		batch[n-1].Msg = []byte("another")
		if bad := VerifyBatch(batch, r); !slices.Equal(bad, []int{n - 1}) {
			t.Errorf("%d signatures: rejected %v, want the last", n, bad)
		}
	}
}

// TestKeysOfABatch: the keys of a batch are accepted if and only if each is accepted alone, and a
// Keys caches each of those once.
func TestKeysOfABatch(t *testing.T) {
	var items []Item
	for n := range byte(60) {
		items = append(items, signedItem(n%40, "x")) // some twice
	}
	for n := range nonCanonical() {
		items = append(items, Item{Key: PublicKey(nonCanonicalSample(byte(n)))})
	}
	for _, p := range torsion(t) {
		items = append(items, Item{Key: PublicKey(p.Bytes())})
	}
	for n := range byte(60) { // half of them are not points
		items = append(items, Item{Key: PublicKey{n, 0, 7}})
	}
	k, acceptable := new(Keys), map[PublicKey]bool{}
	for range 2 {
		k.VerifyBatch(items, testRand(42))
		for i := range items {
			want, err := items[i].Key.point()
			v := k.known[items[i].Key]
			if (v == nil) != (err != nil) {
				t.Fatalf("key %x: cached %v, alone %v", items[i].Key, v != nil, err)
			}
			if err != nil {
				continue
			}
			acceptable[items[i].Key] = true
			prepared, err := msm.Sum([]msm.Term{{Point: &v.prepared, Scalar: [32]byte{1}}})
			isIdentity := want.Equal(edwards25519.NewIdentityPoint()) == 1
			if err != nil || isIdentity || v.point.Equal(want)&prepared.Equal(want) != 1 {
				t.Fatalf("key %x is another point, %v", items[i].Key, err)
			}
		}
	}
	if k.Len() != len(acceptable) || len(acceptable) < 50 {
		t.Errorf("%d keys cached, %d acceptable", k.Len(), len(acceptable))
	}
}
