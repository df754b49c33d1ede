package identity

import (
	"math/big"
	"slices"
	"testing"

	"filippo.io/edwards25519"
)

// integer is b, little endian.
func integer(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// TestCoefficients: 16 bytes are an integer in [-2^127, 2^127), each another one, with the
// same magnitude and sign in both forms.
func TestCoefficients(t *testing.T) {
	order, ok := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	if !ok {
		t.Fatal("not the group's order")
	}
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
			t.Errorf("%x stands for %v, want %v", b, got, want)
		}
		if modulo := integer(z.value.Bytes()); modulo.Cmp(want.Mod(want, order)) != 0 {
			t.Errorf("%x is %v modulo the order, want %v", b, modulo, want)
		}
	}
}

// TestCombinationsBySize: each size of batch is verified by the method that is meant for
// it, a bad signature is found at its ends, and nothing else is refused.
func TestCombinationsBySize(t *testing.T) {
	items, r := benchmarkItems(2*fastFrom), testRand(41)
	for n := range len(items) {
		batch := slices.Clone(items[:n])
		if bad := VerifyBatch(batch, r); bad != nil {
			t.Errorf("%d good signatures: refused %v", n, bad)
		}
		if n == 0 {
			continue
		}
		batch[n-1].Msg = []byte("another")
		if bad := VerifyBatch(batch, r); !slices.Equal(bad, []int{n - 1}) {
			t.Errorf("%d signatures: refused %v, want the last", n, bad)
		}
	}
}

// TestKeysTogether: keys that are decoded together have the verdict of keys decoded one
// by one, and a Keys remembers those that are acceptable, once.
func TestKeysTogether(t *testing.T) {
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
	for n := range byte(60) { // half of them aren't points
		items = append(items, Item{Key: PublicKey{n, 0, 7}})
	}
	k, acceptable := new(Keys), map[PublicKey]bool{}
	for range 2 {
		for i, v := range k.verifiers(items) {
			want, err := items[i].Key.point()
			if (v == nil) != (err != nil) {
				t.Fatalf("key %x: %v together, alone %v", items[i].Key, v != nil, err)
			}
			if err != nil {
				continue
			}
			acceptable[items[i].Key] = true
			prepared, err := v.prepared.Edwards()
			if err != nil || v.point.Equal(want)&prepared.Equal(want) != 1 || v.point.Equal(edwards25519.NewIdentityPoint()) == 1 {
				t.Fatalf("key %x is another point, %v", items[i].Key, err)
			}
		}
	}
	if k.Len() != len(acceptable) || len(acceptable) < 50 {
		t.Errorf("%d keys remembered, %d acceptable", k.Len(), len(acceptable))
	}
}
