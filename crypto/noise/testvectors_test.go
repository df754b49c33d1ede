package noise

import (
	"bytes"
	"encoding/hex"
	"io"
	"slices"
	"testing"

	"choir/internal/vectortest"
)

const (
	referencePath  = "../../testdata/noise/v1.json"
	vectorSamples  = 8
	vectorVariants = 16
)

// vectorCase is, for [Reference], randomness and the samples that it gives: all of its bytes, and no
// more, are read.
type vectorCase struct {
	Variance   uint64  `json:"variance,string"`
	Randomness string  `json:"randomness"` // hexadecimal
	Samples    []int64 `json:"samples"`
}

type vectorFile struct {
	Version int          `json:"version"`
	Cases   []vectorCase `json:"cases"`
}

func TestReferenceVectors(t *testing.T) {
	file := vectortest.Load(t, referencePath, func() vectorFile { return freshVectors(t) })
	if file.Version != 1 || len(file.Cases) != vectorVariants {
		t.Fatalf("version %d, %d cases", file.Version, len(file.Cases))
	}
	for i, c := range file.Cases {
		replayVector(t, i, c)
	}
}

// replayVector replays a case through Sample, Fill and the oracle.
func replayVector(t *testing.T, i int, c vectorCase) {
	t.Helper()
	randomness, err := hex.DecodeString(c.Randomness)
	if err != nil || len(c.Samples) != vectorSamples {
		t.Fatalf("case %d: %d samples, %v", i, len(c.Samples), err)
	}
	g := mustNewReference(t, integer(c.Variance))
	r := bytes.NewReader(randomness)
	o := newOracle(t, integer(c.Variance), bytes.NewReader(randomness))
	for j, want := range c.Samples {
		got, err := g.Sample(r)
		if dumb := o.sample(); err != nil || got != want || dumb != want {
			t.Errorf("case %d, sample %d: %d, %v, the oracle %d; recorded %d", i, j, got, err, dumb, want)
		}
	}
	if r.Len() != 0 {
		t.Errorf("case %d: %d bytes are left", i, r.Len())
	}
	filled := make([]int64, len(c.Samples))
	if err := g.Fill(filled, bytes.NewReader(randomness)); err != nil || !slices.Equal(filled, c.Samples) {
		t.Errorf("case %d: Fill gives %v, %v", i, filled, err)
	}
}

func freshVectors(t *testing.T) vectorFile {
	t.Helper()
	file := vectorFile{Version: 1}
	for i, variance := range integerVariances {
		var read bytes.Buffer
		c := vectorCase{Variance: variance}
		g, r := mustNewReference(t, integer(variance)), io.TeeReader(seeded(byte(100+i)), &read)
		for range vectorSamples {
			x, err := g.Sample(r)
			if err != nil {
				t.Fatal(err)
			}
			c.Samples = append(c.Samples, x)
		}
		c.Randomness = hex.EncodeToString(read.Bytes())
		file.Cases = append(file.Cases, c)
	}
	return file
}
