package aggregator

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/xof"
	"choir/protocol"
)

// drawSum draws a sum of n integers and the nodes' vectors that add up to it.
func drawSum(t *testing.T, rng *rand.Rand, n, nodes int) (sum []int64, vectors []field.Vector) {
	t.Helper()
	sum = make([]int64, n)
	for i := range sum {
		sum[i] = rng.Int64N(1<<20) - 1<<19
	}
	rest := make(field.Vector, n)
	if err := fixedpoint.ToField(rest, sum); err != nil {
		t.Fatal(err)
	}
	for range nodes - 1 {
		v := make(field.Vector, n)
		for i := range v {
			v[i] = field.Element(rng.Uint64N(field.Modulus))
		}
		rest.Sub(v)
		vectors = append(vectors, v)
	}
	return sum, append(vectors, rest)
}

// TestTotal checks that the total does not depend on the order of the nodes' chunks: it is the sum of
// the vectors that they share, with its digest and packed form. A chunk that is not an encoding
// of elements changes nothing.
func TestTotal(t *testing.T) {
	const nodes = 3
	rng := rand.New(rand.NewChaCha8([32]byte{7}))
	type piece struct{ node, chunk int }
	for _, n := range []int{1, xof.ChunkElements, xof.ChunkElements + 1, 3*xof.ChunkElements + 4097} {
		want, vectors := drawSum(t, rng, n, nodes)
		var pieces []piece
		for k := range nodes {
			for c := range xof.Chunks(n) {
				pieces = append(pieces, piece{k, c})
			}
		}
		for range 5 {
			rng.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
			total := newTotal(n)
			for i, p := range pieces {
				encoded := field.AppendVector(nil, xof.Chunk(vectors[p.node], uint64(p.chunk)))
				if i%4 == 1 {
					junk := bytes.Repeat([]byte{0xff}, len(encoded))
					if err := total.add(p.chunk, junk, nodes); err == nil {
						t.Fatal("elements of p and more were added")
					}
				}
				if err := total.add(p.chunk, encoded, nodes); err != nil {
					t.Fatal(err)
				}
			}
			ints, d, packed := total.end(protocol.DigestKey{1})
			if !slices.Equal(ints, want) || d != protocol.IntDigest(protocol.DigestKey{1}, want) {
				t.Fatalf("%d elements: another total", n)
			}
			if !bytes.Equal(packed, protocol.PackInts(want)) {
				t.Fatalf("%d elements: another packed form", n)
			}
		}
	}
}

// TestChunkCountsOnce checks that the first chunk of a partial sum is in the total, once. Another
// one with its index is equivocation, and one that the node did not seal is refused.
func TestChunkCountsOnce(t *testing.T) {
	r := newRig(t)
	encode := func(v field.Vector) []byte { return field.AppendVector(nil, v) }
	first := r.chunk(1, 1, encode(field.Vector{1, 1})) // as in round 1
	other := r.chunk(1, 1, encode(field.Vector{5, 5}))
	forged := bytes.Clone(other)
	forged[len(forged)-1] ^= 1
	for _, c := range []struct {
		name   string
		data   []byte
		want   error
		stored bool
	}{
		{name: "the first", data: first, stored: true},
		{name: "the same", data: first},
		{name: "another", data: other, want: protocol.ErrEquivocate},
		{name: "a forged one", data: forged, want: protocol.ErrSealed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.join()
			if !c.stored {
				r.Deliver(first)
			}
			eff := r.Deliver(c.data)
			var got error
			if len(eff.Notices) > 0 {
				got = eff.Notices[0].Err
			}
			if !errors.Is(got, c.want) || (len(eff.Persist) > 0) != c.stored {
				t.Errorf("error %v, %d records", got, len(eff.Persist))
			}
			r.round(1)
			if want := []int64{2, 3}; !slices.Equal(r.a.model, want) {
				t.Errorf("the sum is %v, want %v", r.a.model, want)
			}
		})
	}
}

// TestSetIsTheIntersection checks that sums over another set than the intersection of the nodes' lists
// end the session, though the nodes agree on it.
func TestSetIsTheIntersection(t *testing.T) {
	for name, agreed := range map[string]func([]protocol.Entry) []protocol.Entry{
		"another contribution": func(set []protocol.Entry) []protocol.Entry {
			set[0].Bundle[0] ^= 1
			return set
		},
		"one more": func(set []protocol.Entry) []protocol.Entry {
			return append(set, protocol.Entry{Party: 1})
		},
		"none": func([]protocol.Entry) []protocol.Entry { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.join()
			eff := r.sums(1, agreed)
			if !eff.Done || protocol.ClassOf(eff.Err) != protocol.ClassIntegrity ||
				!strings.Contains(eff.Err.Error(), "another set than the intersection") {
				t.Errorf("done: %t, error %v", eff.Done, eff.Err)
			}
			if r.Store["model"] != nil || r.Store["result"] != nil {
				t.Error("there is a result")
			}
		})
	}
}
