package pvi

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

func TestDampingUnits(t *testing.T) {
	c := logisticConfig()
	// a / (1 + r (s-1)) in units of 2^-16, by hand.
	for round, want := range map[int]int64{1: 6554, 2: 5958, 11: 3277, 101: 596} {
		if got := c.DampingUnits(round); got != want {
			t.Errorf("round %d: %d, want %d", round, got, want)
		}
	}
	c.DampingDecay = 1e9
	if got := c.DampingUnits(100); got != 1 {
		t.Errorf("a vanishing damping is %d units, want 1", got)
	}
	c.Damping, c.DampingDecay = 1, 0
	if got := c.DampingUnits(50); got != 1<<16 {
		t.Errorf("no damping is %d units, want 2^16", got)
	}
}

func TestInitialIsThePrior(t *testing.T) {
	for _, f := range []gauss.Family{gauss.MeanField, gauss.Full} {
		c := linearConfig(f)
		c.PriorPrecision, c.PrecisionFloor = 3, 3
		post, err := c.Posterior(c.Initial())
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, c.Dim())
		c.space().Prior(want, 3)
		if _, lifted, err := c.repair(c.Initial()); err != nil || lifted != 0 {
			t.Errorf("%s: %d directions of the prior were lifted, %v", f, lifted, err)
		}
		if !slices.Equal(post.Natural(), want) {
			t.Errorf("%s: the prior is %v, want %v exactly", f, post.Natural(), want)
		}
	}
}

// int64s are weighted to the ends, where the mistakes are.
func int64s() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1000, 1000), rapid.Int64Range(-1<<48, 1<<48),
		rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, 1 << 46,
			-1 << 47}))
}

func TestFoldAgainstBigIntegers(t *testing.T) {
	c := logisticConfig()
	overflows, fits := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		round := rapid.IntRange(1, 40).Draw(t, "round")
		raw := rapid.SliceOfN(int64s(), c.Dim(), c.Dim()).Draw(t, "raw")
		sum := rapid.SliceOfN(int64s(), c.Dim(), c.Dim()).Draw(t, "sum")
		rawBefore, sumBefore := slices.Clone(raw), slices.Clone(sum)
		got, err := c.Fold(round, raw, sum)
		if !slices.Equal(raw, rawBefore) || !slices.Equal(sum, sumBefore) {
			t.Fatal("arguments changed")
		}
		want, ok := foldBig(c.DampingUnits(round), raw, sum)
		if !ok {
			overflows++
			if !errors.Is(err, ErrOverflow) || got != nil {
				t.Fatalf("result %v, error %v, want ErrOverflow", got, err)
			}
			return
		}
		fits++
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("result %v, error %v, want %v", got, err, want)
		}
	})
	if overflows == 0 || fits == 0 {
		t.Errorf("%d cases overflowed and %d fitted: one kind was never tried", overflows, fits)
	}
}

// foldBig is the reference. A product k sum that overflows counts as an overflow even if
// adding raw would undo it, and so does the least int64 as a product.
func foldBig(k int64, raw, sum []int64) ([]int64, bool) {
	out := make([]int64, len(raw))
	most := big.NewInt(math.MaxInt64)
	for i := range raw {
		p := new(big.Int).Mul(big.NewInt(k), big.NewInt(sum[i]))
		total := new(big.Int).Add(p, big.NewInt(raw[i]))
		if p.CmpAbs(most) > 0 || !total.IsInt64() {
			return nil, false
		}
		out[i] = total.Int64()
	}
	return out, true
}

func TestFoldRefuses(t *testing.T) {
	c := logisticConfig()
	v := make([]int64, c.Dim())
	for _, round := range []int{0, -1, MaxRounds + 1} {
		if _, err := c.Fold(round, v, v); !errors.Is(err, ErrRound) {
			t.Errorf("round %d: %v, want ErrRound", round, err)
		}
	}
	if _, err := c.Fold(1, v[1:], v); !errors.Is(err, bayes.ErrShape) {
		t.Errorf("a short state: %v, want ErrShape", err)
	}
	if _, err := c.Fold(1, v, v[1:]); !errors.Is(err, bayes.ErrShape) {
		t.Errorf("a short sum: %v, want ErrShape", err)
	}
}

func TestRepairMeanField(t *testing.T) {
	c := logisticConfig()
	c.PrecisionFloor = 0.5
	unit := math.Ldexp(1, c.rawBits())
	at := func(precision float64) int64 { return -int64(precision / 2 * unit) }
	raw := append([]int64{7, -8, 9, 1 << 40}, at(0.5), at(0.5)+1, at(-3), at(9))
	before := slices.Clone(raw)
	q, lifted, err := c.repair(raw)
	want := append([]int64{7, -8, 9, 1 << 40}, at(0.5), at(0.5), at(0.5), at(9))
	if err != nil || lifted != 2 || !slices.Equal(q, want) {
		t.Errorf("repaired to %v, %d lifted, %v, want %v, 2", q, lifted, err, want)
	}
	if !slices.Equal(raw, before) {
		t.Error("the raw state changed")
	}
	if _, _, err := c.repair(raw[1:]); !errors.Is(err, bayes.ErrShape) {
		t.Errorf("a short state: %v, want ErrShape", err)
	}
}

func TestRepairFull(t *testing.T) {
	c := linearConfig(gauss.Full)
	c.PrecisionFloor = 0.25
	r := rand.New(rand.NewPCG(5, 5))
	kinds := map[bool]int{}
	for range 200 {
		raw := c.Initial()
		scale := r.Float64() * 2
		for i := range raw {
			raw[i] += int64(r.NormFloat64() * scale * math.Ldexp(1, c.rawBits()))
		}
		q, lifted, err := c.repair(raw)
		if err != nil {
			t.Fatal(err)
		}
		kinds[lifted > 0]++
		if (lifted > 0) == slices.Equal(q, raw) {
			t.Fatalf("%d lifted, but changed is %v", lifted, !slices.Equal(q, raw))
		}
		if !slices.Equal(q[:c.Features], raw[:c.Features]) {
			t.Fatal("the linear part changed")
		}
		again, more, err := c.repair(q)
		if err != nil || more != 0 || !slices.Equal(again, q) {
			t.Fatalf("repairing twice lifts %d again, %v", more, err)
		}
		if _, err := c.Posterior(raw); err != nil {
			t.Fatalf("no posterior after the repair: %v", err)
		}
	}
	if kinds[true] < 20 || kinds[false] < 20 {
		t.Errorf("proper and improper states weren't both tried: %v", kinds)
	}
}

// With local noise a fold is total: each coordinate is the exact one, or the end of its range.
func TestFoldOfLocalNoiseIsTotal(t *testing.T) {
	c := logisticConfig()
	c.Beta = 0
	c.Strategy = Optimisation{Steps: 2, LearningRate: 0.1}
	ends := 0
	rapid.Check(t, func(t *rapid.T) {
		round := rapid.IntRange(1, 40).Draw(t, "round")
		raw := rapid.SliceOfN(int64s(), c.Dim(), c.Dim()).Draw(t, "raw")
		sum := rapid.SliceOfN(int64s(), c.Dim(), c.Dim()).Draw(t, "sum")
		got, err := c.Fold(round, raw, sum)
		if err != nil {
			t.Fatal(err)
		}
		end := big.NewInt(math.MaxInt64)
		for i, x := range sum {
			want := new(big.Int).Mul(big.NewInt(c.DampingUnits(round)), big.NewInt(x))
			step := want.CmpAbs(end) <= 0
			want.Add(want, big.NewInt(raw[i]))
			if !step || !want.IsInt64() {
				ends++
				want.SetInt64(math.MaxInt64)
				if x < 0 {
					want.Neg(want)
				}
			}
			if got[i] != want.Int64() {
				t.Fatalf("coordinate %d: %d, want %d", i, got[i], want)
			}
		}
	})
	if ends == 0 {
		t.Error("no coordinate reached its end")
	}
}

// Sums are exact or rejected, and never wrap.
func TestAddIntoAgainstBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := int64s().Draw(t, "a"), int64s().Draw(t, "b")
		want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		sum := []int64{a}
		if err := addInto(sum, []int64{b}); want.IsInt64() {
			if err != nil || sum[0] != want.Int64() {
				t.Fatalf("%d + %d: %d, %v", a, b, sum[0], err)
			}
		} else if !errors.Is(err, ErrOverflow) || sum[0] != a {
			t.Fatalf("%d + %d: %d, %v", a, b, sum[0], err)
		}
	})
}
