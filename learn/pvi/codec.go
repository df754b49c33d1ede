package pvi

import (
	"encoding/binary"
	"errors"
	"fmt"

	"choir/crypto/fixedpoint"
)

// ErrEncoding: the bytes are not a state or a memo of this configuration.
var ErrEncoding = errors.New("not a state of this configuration")

const (
	codecVersion = 1
	kindState    = 1
	kindMemo     = 2
	headerLen    = 16
)

// block is a number for each row and coordinate, with a row for every shard or, if factors
// are the party's released updates, a single row. A state has the factors in raw units, and
// round is the last one that was settled, 0 for none. A memo has the updates that the
// factors will include, in units of 2^-f, and round is its own.
//
// Layout, little endian: u8 version | u8 kind | u8 f | u8 D | u32 round | u32 rows | u32
// dim | rows*dim i64.
type block struct {
	kind  byte
	round int
	rows  [][]int64
}

func (c Config) newBlock(kind byte, round int) block {
	return block{kind: kind, round: round, rows: c.newVectors(c.rows())}
}

// newVectors returns n zero vectors in one allocation.
func (c Config) newVectors(n int) [][]int64 {
	dim := c.Dim()
	flat, rows := make([]int64, n*dim), make([][]int64, n)
	for k := range rows {
		rows[k] = flat[k*dim : (k+1)*dim : (k+1)*dim]
	}
	return rows
}

func (c Config) header(kind byte, round int) []byte {
	h := []byte{codecVersion, kind, c.FracBits, c.DampingBits}
	h = binary.LittleEndian.AppendUint32(h, uint32(round))
	h = binary.LittleEndian.AppendUint32(h, uint32(c.rows()))
	return binary.LittleEndian.AppendUint32(h, uint32(c.Dim()))
}

func (c Config) blockLen() int { return headerLen + 8*c.rows()*c.Dim() }

func (c Config) encode(b block) []byte {
	out := make([]byte, 0, c.blockLen())
	out = append(out, c.header(b.kind, b.round)...)
	for _, row := range b.rows {
		for _, x := range row {
			out = binary.LittleEndian.AppendUint64(out, uint64(x))
		}
	}
	return out
}

// decode accepts what encode emits for this configuration and nothing else.
func (c Config) decode(kind byte, data []byte) (block, error) {
	if len(data) != c.blockLen() {
		return block{}, fmt.Errorf("%w: %d bytes, want %d", ErrEncoding, len(data), c.blockLen())
	}
	round := binary.LittleEndian.Uint32(data[4:])
	if round > MaxRounds || (kind == kindMemo && round == 0) {
		return block{}, fmt.Errorf("%w: round %d", ErrEncoding, round)
	}
	if string(data[:headerLen]) != string(c.header(kind, int(round))) {
		return block{}, fmt.Errorf("%w: header differs", ErrEncoding)
	}
	b := c.newBlock(kind, int(round))
	for k, row := range b.rows {
		at := data[headerLen+8*k*len(row):]
		for i := range row {
			row[i] = int64(binary.LittleEndian.Uint64(at[8*i:]))
		}
	}
	if kind == kindMemo {
		return b, c.checkMemo(b)
	}
	return b, nil
}

// checkMemo rejects updates beyond the clip, which no proposal has.
func (c Config) checkMemo(b block) error {
	bound, err := c.clipUnits()
	if c.Released() {
		bound, err = c.grid().IntBound(c.updateClip())
	} else if c.Clip == 0 || c.Factors == FactorsNoisy {
		return nil
	}
	if err != nil {
		return err
	}
	for k, row := range b.rows {
		if c.spare.kept && k == len(b.rows)-1 {
			if bound, err = c.bound(c.spare.clips); err != nil {
				return err
			}
		}
		if !fixedpoint.NormSquaredAtMost(row, bound) {
			return fmt.Errorf("%w: update of row %d is beyond the clip", ErrEncoding, k)
		}
	}
	return nil
}
