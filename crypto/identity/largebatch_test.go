package identity

import (
	"slices"
	"testing"

	"filippo.io/edwards25519"
	"pgregory.net/rapid"
)

// TestLargeBatchEqualsSingle is TestBatchEqualsSingle for batches that package msm sums, with and
// without cached keys. A difference arises by chance with probability 2^-128.
func TestLargeBatchEqualsSingle(t *testing.T) {
	points, r, keys := torsion(t), testRand(11), new(Keys)
	var honest []Item
	for i := range bucketsFrom + 10 {
		honest = append(honest, signedItem(byte(i), "honest"))
		if it := honest[i]; !Verify(it.Key, it.Msg, it.Sig) {
			t.Fatal("an honest signature is rejected")
		}
	}
	buckets := 0
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.IntRange(-8, 2), 0, 4).Draw(rt, "kinds")
		items := slices.Clone(honest[:rapid.IntRange(bucketsFrom, len(honest)).Draw(rt, "honest")])
		crafted := map[int]bool{}
		for _, kind := range kinds {
			place := rapid.IntRange(0, len(items)-1).Draw(rt, "place")
			items[place], crafted[place] = adversarial(t, points, kind, rapid.Byte().Draw(rt, "n")), true
		}
		var want []int
		for i, it := range items {
			if crafted[i] && !Verify(it.Key, it.Msg, it.Sig) {
				want = append(want, i)
			}
		}
		if len(items)-len(want) >= bucketsFrom {
			buckets++
		}
		if got := VerifyBatch(items, r); !slices.Equal(got, want) {
			rt.Fatalf("batch rejects %v, one by one %v", got, want)
		}
		if got := keys.VerifyBatch(items, r); !slices.Equal(got, want) {
			rt.Fatalf("with known keys the batch rejects %v, one by one %v", got, want)
		}
	})
	if buckets == 0 {
		t.Error("no batch was large")
	}
}

// TestCulpritAtEachPlace puts an invalid signature at each index of a batch that package msm sums.
func TestCulpritAtEachPlace(t *testing.T) {
	items := make([]Item, bucketsFrom+3)
	for i := range items {
		items[i] = signedItem(byte(i), "yes")
	}
	r, keys := testRand(12), new(Keys)
	for i := range items {
		was := items[i]
		items[i].Msg = []byte("no")
		if got := keys.VerifyBatch(items, r); !slices.Equal(got, []int{i}) {
			t.Fatalf("rejected %v, want [%d]", got, i)
		}
		items[i] = was
	}
	if got := keys.VerifyBatch(items, r); got != nil {
		t.Errorf("rejected %v of good ones", got)
	}
}

// TestBothCombinationsAgree: tables and buckets give the same point, up to a component of small
// order, for claims that hold only with the cofactor and for claims that do not hold.
func TestBothCombinationsAgree(t *testing.T) {
	points, zero := torsion(t), 0
	for n := range 12 {
		var items []Item
		for i := range n {
			items = append(items, adversarial(t, points, 1, byte(17*i+n)))
		}
		claims, _ := new(Keys).claims(items)
		if len(claims) != n {
			t.Fatal("not all are well-formed signatures")
		}
		z, err := coefficients(testRand(13), n)
		if err != nil {
			t.Fatal(err)
		}
		var base edwards25519.Scalar
		for i := range claims {
			base.MultiplyAdd(&z[i].value, &claims[i].s, &base)
		}
		base.Negate(&base)
		if n%3 == 2 {
			base.Add(&base, one(t)) // now it does not hold
		}
		want := straus(claims, z, &base)
		got, err := buckets(claims, z, &base)
		if err != nil || new(edwards25519.Point).MultByCofactor(got).Equal(want.MultByCofactor(want)) != 1 {
			t.Fatalf("%d claims: buckets give another point: %v", n, err)
		}
		if isSmallOrder(got) {
			zero++
		} else if n%3 != 2 {
			t.Errorf("%d claims that hold do not combine to zero", n)
		}
	}
	if zero != 8 {
		t.Errorf("%d of 12 combinations are zero, want 8", zero)
	}
}

// TestKeysRemembersGoodKeysOnly: an unacceptable key is rejected each time and never cached.
func TestKeysRemembersGoodKeysOnly(t *testing.T) {
	k, good := new(Keys), testKey(1).Public()
	for range 3 {
		for n := range nonCanonical() {
			if _, err := k.verifier(PublicKey(nonCanonicalSample(byte(n)))); err == nil {
				t.Fatal("a key that is not canonical is accepted")
			}
		}
		for _, p := range torsion(t) {
			if _, err := k.verifier(PublicKey(p.Bytes())); err == nil {
				t.Fatal("a key of small order is accepted")
			}
		}
		v, err := k.verifier(good)
		if err != nil || PublicKey(v.point.Bytes()) != good {
			t.Fatalf("a good key is another point or rejected: %v", err)
		}
	}
	if k.Len() != 1 {
		t.Errorf("%d keys cached, want 1", k.Len())
	}
	if (*Keys)(nil).VerifyBatch([]Item{signedItem(2, "x")}, testRand(1)) != nil {
		t.Error("no keys: a good signature is rejected")
	}
}
