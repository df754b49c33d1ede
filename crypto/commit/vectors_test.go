package commit

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"choir/internal/vectortest"
)

type commitVectors struct {
	Version    int      `json:"version"`
	Values     []int64  `json:"values"`
	Blinding   string   `json:"blinding"`
	H          string   `json:"h"`
	G          []string `json:"g"`
	Commitment string   `json:"commitment"`
}

func TestVectors(t *testing.T) {
	v := commitVectors{Version: 1, Values: []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 123456789}}
	g := testGenerators(t, len(v.Values))
	r := testScalar(t, bytes.NewReader(bytes.Repeat([]byte{7}, 64)))
	c, err := g.Commit(v.Values, r)
	if err != nil {
		t.Fatal(err)
	}
	v.Blinding, v.Commitment = fmt.Sprintf("%x", r.Bytes()), c.String()
	v.H = encode(g.blinding).String()
	for i := range g.values {
		v.G = append(v.G, encode(edwards(t, &g.values[i])).String())
	}
	vectortest.Hold(t, "../../testdata/commit/vectors.json", v)
}
