package protocol

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
)

// pairs returns the test plan with two coordinates in an element.
func pairs(dim uint32) *Plan {
	p := testPlan()
	p.Dim, p.Paired = dim, true
	return p
}

// TestChunksOfPairs: the numbers of elements and chunks, and the coordinates of a chunk.
func TestChunksOfPairs(t *testing.T) {
	for _, row := range []struct {
		dim      uint32
		elements int
		last     [2]int // first coordinate of the last chunk, and their number
		chunks   int
	}{
		{dim: 1, elements: 1, last: [2]int{0, 1}, chunks: 1},
		{dim: 2, elements: 1, last: [2]int{0, 2}, chunks: 1},
		{dim: 3, elements: 2, last: [2]int{0, 3}, chunks: 1},
		{dim: 131_071, elements: 65_536, last: [2]int{0, 131_071}, chunks: 1},
		{dim: 131_072, elements: 65_536, last: [2]int{0, 131_072}, chunks: 1},
		{dim: 131_073, elements: 65_537, last: [2]int{131_072, 1}, chunks: 2},
		{dim: 131_074, elements: 65_537, last: [2]int{131_072, 2}, chunks: 2},
		{dim: 262_145, elements: 131_073, last: [2]int{262_144, 1}, chunks: 3},
	} {
		t.Run(fmt.Sprintf("dim=%d", row.dim), func(t *testing.T) {
			s := Bind(pairs(row.dim))
			if s.Plan.Elements() != row.elements || s.Chunks() != row.chunks {
				t.Errorf("%d elements in %d chunks, want %d in %d", s.Plan.Elements(), s.Chunks(),
					row.elements, row.chunks)
			}
			if from, n := s.ChunkCoordinates(row.chunks - 1); from != row.last[0] || n != row.last[1] {
				t.Errorf("the last chunk has %d from %d on, want %v", n, from, row.last)
			}
			if from, n := s.ChunkCoordinates(0); from != 0 || n != min(int(row.dim), 131_072) {
				t.Errorf("the first chunk has %d from %d on", n, from)
			}
		})
	}
}

// TestOpenSumOfPairs: a sum of pairs opens to its coordinates up to the limit. It is rejected with
// a coordinate beyond the limit, first or second in its pair, and with a second coordinate after
// the last one.
func TestOpenSumOfPairs(t *testing.T) {
	const limit = 1_000
	for _, row := range []struct {
		dim  uint32
		sum  []int64
		want []int64 // nil: rejected
		err  error
	}{
		{dim: 3, sum: []int64{5 + 7<<32, -9}, want: []int64{5, 7, -9}},
		{dim: 3, sum: []int64{-5 - 7<<32, 9}, want: []int64{-5, -7, 9}},
		{dim: 3, sum: []int64{-limit + limit<<32, -limit}, want: []int64{-limit, limit, -limit}},
		{dim: 4, sum: []int64{limit - limit<<32, -1 + 1<<32}, want: []int64{limit, -limit, -1, 1}},
		{dim: 1, sum: []int64{-limit}, want: []int64{-limit}},
		{dim: 3, sum: []int64{limit + 1, 0}, err: ErrMismatch},
		{dim: 3, sum: []int64{-limit - 1, 0}, err: ErrMismatch},
		{dim: 3, sum: []int64{(limit + 1) << 32, 0}, err: ErrMismatch},
		{dim: 3, sum: []int64{-(limit + 1) << 32, 0}, err: ErrMismatch},
		{dim: 3, sum: []int64{0, limit + 1}, err: ErrMismatch},
		{dim: 2, sum: []int64{math.MaxInt64}, err: ErrMismatch},
		{dim: 2, sum: []int64{math.MinInt64}, err: ErrMismatch},
		{dim: 2, sum: []int64{field.MaxSigned}, err: ErrMismatch},
		{dim: 3, sum: []int64{0, 1 << 32}, err: fixedpoint.ErrPadding},
		{dim: 3, sum: []int64{0, 9 - 1<<32}, err: fixedpoint.ErrPadding},
		{dim: 1, sum: []int64{1 << 31}, err: fixedpoint.ErrPadding}, // -2^31, and 1 after it
		{dim: 1, sum: []int64{math.MinInt64}, err: fixedpoint.ErrPadding},
	} {
		t.Run(fmt.Sprintf("dim=%d/%d", row.dim, row.sum), func(t *testing.T) {
			got, err := pairs(row.dim).OpenSum(row.sum, SumLimit{limit, math.MaxUint64})
			if !errors.Is(err, row.err) || row.want != nil && !slices.Equal(got, row.want) {
				t.Errorf("%d, %v; want %d, %v", got, err, row.want, row.err)
			}
		})
	}
	whole := []int64{5 + 7<<32, -9, 0}
	if got, err := testPlan().OpenSum(whole, AnySum); err != nil || !slices.Equal(got, whole) {
		t.Errorf("without pairs %d are %d, %v", whole, got, err)
	}
	if _, err := testPlan().OpenSum(whole, SumLimit{limit, math.MaxUint64}); !errors.Is(err, ErrMismatch) {
		t.Errorf("without pairs nothing is beyond the limit: %v", err)
	}
}

// TestPairedPlanHeadroom: three parties' bounds and the noise of their sum must stay within
// 2^31 - 1 = 3 * 715,827,882 + 1, and the sum's bound is that of the coordinates.
func TestPairedPlanHeadroom(t *testing.T) {
	p := pairs(3)
	p.PerParty = 715_827_882
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if most, err := p.MaxSum(); err != nil || most != (SumLimit{2_147_483_646, 2_147_483_646}) {
		t.Errorf("the bound of the sum is %d, %v", most, err)
	}
	p.Noise, p.Variance = NoiseParty, 1
	if err := p.Validate(); !errors.Is(err, fixedpoint.ErrHeadroom) {
		t.Errorf("no headroom for noise: %v", err)
	}
	p.Noise, p.Variance, p.PerParty = NoiseNone, 0, 715_827_883
	if err := p.Validate(); !errors.Is(err, fixedpoint.ErrHeadroom) {
		t.Errorf("no headroom for pairs: %v", err)
	}
	if p.Paired = false; p.Validate() != nil {
		t.Error("an element for each coordinate has no headroom")
	}
}

// TestAuditOfPairsCountsElements: the limit on the dimension of commitments is a limit on
// elements.
func TestAuditOfPairsCountsElements(t *testing.T) {
	p := pairs(2 * commit.MaxDimension)
	p.Audit = true
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	if p.Dim++; p.Validate() == nil {
		t.Error("more elements than commitments allow")
	}
	p.Dim, p.Paired = commit.MaxDimension+1, false
	if p.Validate() == nil {
		t.Error("more coordinates than commitments allow")
	}
}

// TestLargeNoiseIsSummed: coordinates far beyond the headroom, which noise could draw, are encoded
// and committed to all the same, and the sum is right when it is small again: what is published is a
// function of the sum of the coordinates alone.
func TestLargeNoiseIsSummed(t *testing.T) {
	for _, paired := range []bool{false, true} {
		for _, dim := range []int{1, 2, 3, 4, 7} {
			p := &Plan{Dim: uint32(dim), Paired: paired, Audit: true}
			terms, want := make([][]int64, 3), make([]int64, dim)
			for j := range terms {
				terms[j] = make([]int64, dim)
			}
			for i := range want {
				large := int64(math.MaxInt64) - int64(i)<<20
				terms[0][i], terms[1][i], terms[2][i] = large, -large-1, int64(i)
				want[i] = int64(i) - 1
			}
			g, err := p.Generators()
			if err != nil {
				t.Fatal(err)
			}
			sum, commitments := make(field.Vector, p.Elements()), []commit.Commitment{}
			for j, x := range terms {
				v := make(field.Vector, p.Elements())
				p.ToField(v, x)
				sum.Add(v)
				r, err := commit.ParseScalar(append([]byte{byte(j)}, make([]byte, 31)...))
				if err != nil {
					t.Fatal(err)
				}
				c, err := p.Commit(g, x, r)
				if err != nil {
					t.Fatal(err)
				}
				commitments = append(commitments, c)
			}
			ints := make([]int64, len(sum))
			fixedpoint.FromField(ints, sum)
			if got, err := p.OpenSum(ints, SumLimit{1 << 20, 1 << 30}); err != nil || !slices.Equal(got, want) {
				t.Errorf("pairs %t, dim %d: the sum is %d, %v; want %d", paired, dim, got, err, want)
			}
			if err := CheckOpening(g, commitments, [][32]byte{{3}}, ints); err != nil {
				t.Errorf("pairs %t, dim %d: %v", paired, dim, err)
			}
		}
	}
}
