package protocol

import (
	"errors"
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
		{1, 1, [2]int{0, 1}, 1},
		{2, 1, [2]int{0, 2}, 1},
		{3, 2, [2]int{0, 3}, 1},
		{131_071, 65_536, [2]int{0, 131_071}, 1},
		{131_072, 65_536, [2]int{0, 131_072}, 1},
		{131_073, 65_537, [2]int{131_072, 1}, 2},
		{131_074, 65_537, [2]int{131_072, 2}, 2},
		{262_145, 131_073, [2]int{262_144, 1}, 3},
	} {
		s := Bind(pairs(row.dim))
		if s.Plan.Elements() != row.elements || s.Chunks() != row.chunks {
			t.Errorf("%d coordinates are %d elements in %d chunks, want %d in %d", row.dim, s.Plan.Elements(),
				s.Chunks(), row.elements, row.chunks)
		}
		if from, n := s.ChunkCoordinates(row.chunks - 1); from != row.last[0] || n != row.last[1] {
			t.Errorf("of %d coordinates the last chunk has %d from %d on, want %v", row.dim, n, from, row.last)
		}
		if from, n := s.ChunkCoordinates(0); from != 0 || n != min(int(row.dim), 131_072) {
			t.Errorf("of %d coordinates the first chunk has %d from %d on", row.dim, n, from)
		}
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
		{3, []int64{5 + 7<<32, -9}, []int64{5, 7, -9}, nil},
		{3, []int64{-5 - 7<<32, 9}, []int64{-5, -7, 9}, nil},
		{3, []int64{-limit + limit<<32, -limit}, []int64{-limit, limit, -limit}, nil},
		{4, []int64{limit - limit<<32, -1 + 1<<32}, []int64{limit, -limit, -1, 1}, nil},
		{1, []int64{-limit}, []int64{-limit}, nil},
		{3, []int64{limit + 1, 0}, nil, ErrMismatch},
		{3, []int64{-limit - 1, 0}, nil, ErrMismatch},
		{3, []int64{(limit + 1) << 32, 0}, nil, ErrMismatch},
		{3, []int64{-(limit + 1) << 32, 0}, nil, ErrMismatch},
		{3, []int64{0, limit + 1}, nil, ErrMismatch},
		{2, []int64{math.MaxInt64}, nil, ErrMismatch},
		{2, []int64{math.MinInt64}, nil, ErrMismatch},
		{2, []int64{field.MaxSigned}, nil, ErrMismatch},
		{3, []int64{0, 1 << 32}, nil, fixedpoint.ErrPadding},
		{3, []int64{0, 9 - 1<<32}, nil, fixedpoint.ErrPadding},
		{1, []int64{1 << 31}, nil, fixedpoint.ErrPadding}, // -2^31, and 1 after it
		{1, []int64{math.MinInt64}, nil, fixedpoint.ErrPadding},
	} {
		got, err := pairs(row.dim).OpenSum(row.sum, limit)
		if !errors.Is(err, row.err) || row.want != nil && !slices.Equal(got, row.want) {
			t.Errorf("%d coordinates in %d are %d, %v; want %d, %v", row.dim, row.sum, got, err, row.want, row.err)
		}
	}
	whole := []int64{5 + 7<<32, -9, 0}
	if got, err := testPlan().OpenSum(whole, math.MaxInt64); err != nil || !slices.Equal(got, whole) {
		t.Errorf("without pairs %d are %d, %v", whole, got, err)
	}
	if _, err := testPlan().OpenSum(whole, limit); !errors.Is(err, ErrMismatch) {
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
	if most, err := p.MaxSum(); err != nil || most != 2_147_483_646 {
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
