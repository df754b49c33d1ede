package noise

import (
	"bytes"
	"encoding/hex"
	"io"
	"slices"
	"testing"

	"choir/internal/vectortest"
)

const vectors2Path = "../../testdata/noise/v2.json"

// vector2Case is, for [Gaussian], randomness and the samples that Sample makes of all
// of it, and a key and the samples that Fill makes of its keystream.
type vector2Case struct {
	Num        uint64  `json:"num,string"`
	Den        uint64  `json:"den,string"`
	Randomness string  `json:"randomness"` // hexadecimal
	Samples    []int64 `json:"samples"`
	Key        string  `json:"key"` // hexadecimal
	Filled     []int64 `json:"filled"`
}

type vector2File struct {
	Version int           `json:"version"`
	Cases   []vector2Case `json:"cases"`
}

func TestVectors(t *testing.T) {
	file := vectortest.Load(t, vectors2Path, func() vector2File { return freshVectors2(t) })
	if file.Version != 2 || len(file.Cases) != len(testVariances()) {
		t.Fatalf("version %d, %d cases", file.Version, len(file.Cases))
	}
	for i, c := range file.Cases {
		replayVector2(t, i, c)
	}
}

// replayVector2 replays a case through Sample, Fill and the oracle.
func replayVector2(t *testing.T, i int, c vector2Case) {
	t.Helper()
	randomness, err := hex.DecodeString(c.Randomness)
	key, keyErr := hex.DecodeString(c.Key)
	if err != nil || keyErr != nil || len(c.Samples) != vectorSamples || len(c.Filled) != vectorSamples {
		t.Fatalf("case %d: %v, %v, %d and %d samples", i, err, keyErr, len(c.Samples), len(c.Filled))
	}
	g, r := mustNew(t, variance{c.Num, c.Den}), bytes.NewReader(randomness)
	o := newFastOracle(t, g, bytes.NewReader(randomness))
	for j, want := range c.Samples {
		got, err := g.Sample(r)
		if dumb := o.sample(); err != nil || got != want || dumb != want {
			t.Errorf("case %d, sample %d: %d, %v, the oracle %d; recorded %d", i, j, got, err, dumb, want)
		}
	}
	if r.Len() != 0 {
		t.Errorf("case %d: %d bytes are left", i, r.Len())
	}
	filled := make([]int64, len(c.Filled))
	if err := g.Fill(filled, bytes.NewReader(key)); err != nil || !slices.Equal(filled, c.Filled) {
		t.Errorf("case %d: Fill gives %v, %v", i, filled, err)
	}
}

func freshVectors2(t *testing.T) vector2File {
	t.Helper()
	file := vector2File{Version: 2}
	for i, v := range testVariances() {
		var read bytes.Buffer
		c := vector2Case{Num: v.num, Den: v.den, Filled: make([]int64, vectorSamples)}
		g, r := mustNew(t, v), io.TeeReader(seeded(byte(100+i)), &read)
		for range vectorSamples {
			x, err := g.Sample(r)
			if err != nil {
				t.Fatal(err)
			}
			c.Samples = append(c.Samples, x)
		}
		key := make([]byte, keySize)
		if _, err := seeded(byte(200 + i)).Read(key); err != nil {
			t.Fatal(err)
		}
		if err := g.Fill(c.Filled, bytes.NewReader(key)); err != nil {
			t.Fatal(err)
		}
		c.Randomness, c.Key = hex.EncodeToString(read.Bytes()), hex.EncodeToString(key)
		file.Cases = append(file.Cases, c)
	}
	return file
}
