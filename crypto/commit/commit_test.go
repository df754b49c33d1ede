package commit

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"

	"filippo.io/edwards25519"
)

func testRand(n byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{n}) }

func testGenerators(t testing.TB, dimension int) *Generators {
	t.Helper()
	g, err := NewGenerators(dimension)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func testScalar(t testing.TB, r io.Reader) *Scalar {
	t.Helper()
	s, err := RandomScalar(r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// auditedRound is the public result of a round.
type auditedRound struct {
	generators  *Generators
	commitments []Commitment
	aggregate   []int64
	blinding    []*Scalar // the sum of the shares of each node
}

// newAuditedRound has parties commit to random updates and split their blinding scalars over nodes.
func newAuditedRound(t *testing.T, d, parties, nodes int) auditedRound {
	t.Helper()
	r, rng := testRand(1), rand.New(testRand(2))
	round := auditedRound{generators: testGenerators(t, d), aggregate: make([]int64, d)}
	shares := make([][]*Scalar, nodes)
	for range parties {
		update := make([]int64, d)
		for i := range update {
			update[i] = rng.Int64N(1<<60) - 1<<59
			round.aggregate[i] += update[i]
		}
		blinding := testScalar(t, r)
		c, err := round.generators.Commit(update, blinding)
		if err != nil {
			t.Fatal(err)
		}
		round.commitments = append(round.commitments, c)
		split, err := blinding.Split(nodes, r)
		if err != nil {
			t.Fatal(err)
		}
		for j, s := range split {
			shares[j] = append(shares[j], s)
		}
	}
	for _, s := range shares {
		round.blinding = append(round.blinding, SumScalars(s))
	}
	return round
}

// opens reports whether the sum of commitments opens to values with the sum of blinding scalars.
func (a auditedRound) opens(t *testing.T, commitments []Commitment, values []int64, blinding []*Scalar) bool {
	t.Helper()
	total, err := Sum(commitments)
	if err != nil {
		t.Fatal(err)
	}
	ok, err := a.generators.Opens(total, values, SumScalars(blinding))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestAuditedRound(t *testing.T) {
	const d = 12
	a := newAuditedRound(t, d, 5, 3)
	if !a.opens(t, a.commitments, a.aggregate, a.blinding) {
		t.Error("an honest round does not open")
	}
	for i := range d {
		altered := slices.Clone(a.aggregate)
		altered[i]++
		if a.opens(t, a.commitments, altered, a.blinding) {
			t.Errorf("coordinate %d can be changed", i)
		}
	}
	swapped := slices.Clone(a.aggregate)
	swapped[0], swapped[1] = swapped[1], swapped[0]
	if a.opens(t, a.commitments, swapped, a.blinding) {
		t.Error("coordinates can be swapped")
	}
	if a.opens(t, a.commitments, a.aggregate, a.blinding[1:]) {
		t.Error("the blinding sum of a node can be omitted")
	}
	if a.opens(t, a.commitments[1:], a.aggregate, a.blinding) {
		t.Error("the commitment of a party can be omitted")
	}
}

// TestGenerators: generators are distinct, of prime order, and independent of the dimension.
func TestGenerators(t *testing.T) {
	const d = 600 // more than two blocks
	long, short := testGenerators(t, d), testGenerators(t, d-100)
	seen := map[Commitment]bool{encode(long.blinding): true,
		encode(edwards25519.NewIdentityPoint()): true, encode(edwards25519.NewGeneratorPoint()): true}
	for i := range d {
		p := edwards(t, &long.values[i])
		seen[encode(p)] = true
		if !inPrimeSubgroup(p) {
			t.Errorf("generator %d is not of prime order", i)
		}
		if i < d-100 && p.Equal(edwards(t, &short.values[i])) != 1 {
			t.Errorf("generator %d depends on the dimension", i)
		}
	}
	if len(seen) != d+3 {
		t.Errorf("%d distinct points, want %d", len(seen), d+3)
	}
}

func TestRejections(t *testing.T) {
	for _, d := range []int{-1, 0, MaxDimension + 1} {
		if _, err := NewGenerators(d); err == nil {
			t.Errorf("dimension %d is accepted", d)
		}
	}
	g, s := testGenerators(t, 2), testScalar(t, testRand(1))
	for _, n := range []int{0, 1, 3} {
		_, commit := g.Commit(make([]int64, n), s)
		_, opens := g.Opens(Commitment{}, make([]int64, n), s)
		if !errors.Is(commit, ErrLength) || !errors.Is(opens, ErrLength) {
			t.Errorf("%d values: %v, %v, want ErrLength", n, commit, opens)
		}
	}
	for _, m := range []int{-1, 0, MaxShares + 1} {
		if _, err := s.Split(m, testRand(1)); err == nil {
			t.Errorf("%d shares are made", m)
		}
	}
	broken := iotest.ErrReader(io.ErrClosedPipe)
	_, random := RandomScalar(broken)
	_, split := s.Split(2, broken)
	if !errors.Is(random, io.ErrClosedPipe) || !errors.Is(split, io.ErrClosedPipe) {
		t.Errorf("failing randomness: %v, %v", random, split)
	}
}
