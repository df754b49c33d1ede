package compute

import (
	"bytes"
	"slices"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/noise"
	"choir/protocol"
)

// TestNodeNoiseIsTheSeeds checks that a node adds the noise of its secret to its partial sum, each
// sample in one coordinate and in order, with one or two coordinates in an element and any number
// of chunks.
func TestNodeNoiseIsTheSeeds(t *testing.T) {
	for _, paired := range []bool{false, true} {
		for _, dim := range []int{1, 2, 5, 65536 + 3, 2 * 65536, 2*65536 + 1, 3*65536 + 2} {
			p := &protocol.Plan{Dim: uint32(dim), Paired: paired, Noise: protocol.NoiseCompute, Variance: 1 << 40}
			n := &Node{
				intake: intake{s: protocol.Bind(p), round: 2, attempt: 1, keys: protocol.NewKeyring()},
			}
			own, err := channel.NewSecret(bytes.Repeat([]byte{byte(dim)}, 32))
			if err != nil {
				t.Fatal(err)
			}
			n.keys.Add(protocol.Own, 1, own)
			before, after := make(field.Vector, p.Elements()), make(field.Vector, p.Elements())
			for i := range before {
				before[i] = field.Element(uint64(i) * 0x1_0000_0001) // the noise is added to it
			}
			copy(after, before)
			if err := n.addNoise(after); err != nil {
				t.Fatal(err)
			}
			after.Sub(before)
			ints := make([]int64, len(after))
			fixedpoint.FromField(ints, after)
			got, err := p.OpenSum(ints, protocol.AnySum)
			if err != nil {
				t.Fatal(err)
			}
			g, err := noise.NewGaussian(p.Variance)
			if err != nil {
				t.Fatal(err)
			}
			seed := noise.Seed(n.s.NoiseSeed(protocol.Next(own), 2, 1, protocol.Digest{}))
			want := make([]int64, dim)
			if err := g.FillSeeded(want, seed); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("dim %d, pairs %t: a node adds other noise than its seed's", dim, paired)
			}
		}
	}
}
