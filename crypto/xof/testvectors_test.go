package xof

import (
	"encoding/hex"
	"testing"

	"choir/crypto/field"
	"choir/internal/vectortest"
)

const (
	vectorsPath = "../../testdata/xof/v2.json"
	vectorCases = 12
)

// vectorCase is the beginning of a chunk.
type vectorCase struct {
	Key      string `json:"key"` // hexadecimal, like everything without a number in it
	Chunk    uint64 `json:"chunk,string"`
	Elements int    `json:"elements"`
	Encoding string `json:"encoding"`
}

type vectorFile struct {
	Version int          `json:"version"`
	Cases   []vectorCase `json:"cases"`
}

// encoding computes the encoded elements from the inputs.
func (c vectorCase) encoding(t *testing.T) string {
	t.Helper()
	raw, err := hex.DecodeString(c.Key)
	if err != nil || len(raw) != KeySize {
		t.Fatalf("key of %d bytes: %v", len(raw), err)
	}
	s := mustNew(t, Key(raw))
	return hex.EncodeToString(field.AppendVector(nil, filled(s, c.Elements, c.Chunk)))
}

func TestVectors(t *testing.T) {
	file := vectortest.Load(t, vectorsPath, func() vectorFile { return freshVectors(t) })
	if file.Version != 2 || len(file.Cases) != vectorCases {
		t.Fatalf("version %d, %d cases", file.Version, len(file.Cases))
	}
	for i, c := range file.Cases {
		if len(c.Encoding) == 0 || c.encoding(t) != c.Encoding {
			t.Errorf("case %d: the stream is not the recorded one", i)
		}
	}
}

func freshVectors(t *testing.T) vectorFile {
	t.Helper()
	file := vectorFile{Version: 2}
	for i := range vectorCases {
		key := make([]byte, KeySize)
		for j := range key {
			key[j] = byte(i*KeySize + j)
		}
		c := vectorCase{
			Key:      hex.EncodeToString(key),
			Chunk:    []uint64{0, 1, 2, 1<<64 - 1}[i%4],
			Elements: 1 + i,
		}
		c.Encoding = c.encoding(t)
		file.Cases = append(file.Cases, c)
	}
	return file
}
