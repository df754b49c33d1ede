package share

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"choir/crypto/field"
	"choir/crypto/xof"

	"pgregory.net/rapid"
)

// streams returns n streams. Different runs give different streams.
func streams(t testing.TB, n int, run uint64) []*xof.Stream {
	t.Helper()
	out := make([]*xof.Stream, n)
	for i := range out {
		var key xof.Key
		binary.BigEndian.PutUint64(key[:], run)
		binary.BigEndian.PutUint64(key[8:], uint64(i))
		s, err := xof.New(key)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = s
	}
	return out
}

// shares splits x over nodes, the explicit share first.
func shares(t testing.TB, x field.Vector, nodes int, run uint64) []field.Vector {
	t.Helper()
	seeds := streams(t, nodes-1, run)
	explicit := slices.Clone(x)
	Explicit(explicit, seeds)
	out := []field.Vector{explicit}
	for _, s := range seeds {
		v := make(field.Vector, len(x))
		new(Adder).Add(v, s)
		out = append(out, v)
	}
	return out
}

// combine sets dst to the sum of the partial sums.
func combine(dst field.Vector, partials ...field.Vector) {
	clear(dst)
	for _, p := range partials {
		dst.Add(p)
	}
}

func vectors(n int) *rapid.Generator[[]field.Element] {
	element := rapid.Custom(func(t *rapid.T) field.Element {
		return field.Element(rapid.Uint64Range(0, field.Modulus-1).Draw(t, "element"))
	})
	return rapid.SliceOfN(element, n, n)
}

func TestSharesSumToTheSecret(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(rt, "n")
		x := field.Vector(vectors(n).Draw(rt, "x"))
		for _, nodes := range []int{2, 3, 10} {
			got := slices.Repeat(field.Vector{7}, n)
			combine(got, shares(t, x, nodes, rapid.Uint64().Draw(rt, "run"))...)
			if !got.Equal(x) {
				rt.Fatalf("%d nodes: %v became %v", nodes, x, got)
			}
		}
	})
}

// TestManyPartiesOverManyChunks is a round without transport: parties share long vectors, nodes
// accumulate, and the partial sums add up to the sum. The share of one party is subtracted again.
func TestManyPartiesOverManyChunks(t *testing.T) {
	const parties, nodes, n = 4, 3, xof.ChunkElements + 5
	partials := make([]field.Vector, nodes)
	for i := range partials {
		partials[i] = make(field.Vector, n)
	}
	want := make(field.Vector, n)
	for p := range parties {
		x := shares(t, make(field.Vector, n), 2, uint64(1000+p))[1] // an arbitrary vector
		explicitAt, all := ExplicitIndex(p, 2, nodes), streams(t, nodes, uint64(p))
		others := slices.Delete(slices.Clone(all), explicitAt, explicitAt+1)
		contribution := slices.Clone(x)
		Explicit(contribution, others)
		for i, s := range all {
			switch {
			case i == explicitAt:
				partials[i].Add(contribution)
			default:
				new(Adder).Add(partials[i], s)
			}
		}
		if p == 1 { // left out by the agreed set
			for i, s := range all {
				if i == explicitAt {
					partials[i].Sub(contribution)
				} else {
					SubSeeds(partials[i], s)
				}
			}
			continue
		}
		want.Add(x)
	}
	got := make(field.Vector, n)
	if combine(got, partials...); !got.Equal(want) {
		t.Fatal("the partial sums do not add up to the sum")
	}
}

func TestChunksMakeTheWhole(t *testing.T) {
	const n = 2*xof.ChunkElements + 3
	others := streams(t, 2, 1)
	whole, parts, windows := make(field.Vector, n), make(field.Vector, n), make(field.Vector, n)
	Explicit(whole, others)
	var explicit xof.Sweep                // reused
	for _, c := range []uint64{2, 0, 1} { // in any order
		explicitChunk(xof.Chunk(parts, c), c, others)
		ExplicitWindows(&explicit, c, others)
		for w := range slices.Chunk(xof.Chunk(windows, c), 1000) {
			explicit.SubFrom(w)
		}
	}
	if !whole.Equal(parts) || !whole.Equal(windows) {
		t.Fatal("sharing by chunks or windows differs from sharing the whole")
	}
}

func TestExplicitIndexIsEven(t *testing.T) {
	for nodes := 1; nodes <= 7; nodes++ {
		for round := range 9 {
			for parties := 1; parties <= 30; parties++ {
				load := make([]int, nodes)
				for p := range parties {
					load[ExplicitIndex(p, round, nodes)]++
				}
				if slices.Max(load)-slices.Min(load) > 1 {
					t.Fatalf("%d parties, round %d: load %v", parties, round, load)
				}
			}
		}
	}
	for party := range 5 { // and over the rounds for each party
		load := make([]int, 3)
		for round := range 30 {
			load[ExplicitIndex(party, round, 3)]++
		}
		if !slices.Equal(load, []int{10, 10, 10}) {
			t.Fatalf("party %d: load %v over the rounds", party, load)
		}
	}
	if got := ExplicitIndex(math.MaxInt, math.MaxInt, math.MaxInt-1); got != 2 {
		t.Errorf("largest arguments: %d, want 2", got)
	}
}

func TestMistakesPanic(t *testing.T) {
	for name, f := range map[string]func(){
		"no other streams":      func() { Explicit(make(field.Vector, 1), nil) },
		"no others for a chunk": func() { explicitChunk(make(field.Vector, 1), 0, nil) },
		"no others for windows": func() { ExplicitWindows(new(xof.Sweep), 0, nil) },
		"negative party":        func() { ExplicitIndex(-1, 0, 2) },
		"negative round":        func() { ExplicitIndex(0, -1, 2) },
		"no nodes":              func() { ExplicitIndex(0, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}
