package pvi

import (
	"encoding/binary"
	"errors"
	"fmt"

	"choir/crypto/fixedpoint"
)

// ErrEncoding says that bytes aren't a state or memo of this configuration.
var ErrEncoding = errors.New("not a state of this configuration")

const (
	codecVersion = 1
	kindState    = 1
	kindMemo     = 2
	headerLen    = 16
)

// block is a number per shard and coordinate: the private factors in raw units (a
// state, round being the last one settled, 0 for none) or the clipped updates in
// units of 2^-f (a memo, round being theirs).
//
// Layout, little endian: u8 version | u8 kind | u8 f | u8 D | u32 round | u32
// shards | u32 dim | shards*dim i64.
type block struct {
	kind  byte
	round int
	rows  [][]int64
}

func (c Config) newBlock(kind byte, round int) block {
	flat := make([]int64, c.Shards*c.Dim())
	b := block{kind: kind, round: round, rows: make([][]int64, c.Shards)}
	for k := range b.rows {
		b.rows[k] = flat[k*c.Dim() : (k+1)*c.Dim() : (k+1)*c.Dim()]
	}
	return b
}

func (c Config) header(kind byte, round int) []byte {
	h := []byte{codecVersion, kind, c.FracBits, c.DampingBits}
	h = binary.LittleEndian.AppendUint32(h, uint32(round))
	h = binary.LittleEndian.AppendUint32(h, uint32(c.Shards))
	return binary.LittleEndian.AppendUint32(h, uint32(c.Dim()))
}

func (c Config) blockLen() int { return headerLen + 8*c.Shards*c.Dim() }

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

// checkMemo refuses updates that clipping would have changed.
func (c Config) checkMemo(b block) error {
	if c.Clip == 0 {
		return nil
	}
	bound, err := c.grid().IntBound(c.Clip)
	if err != nil {
		return err
	}
	for k, row := range b.rows {
		if !fixedpoint.NormSquaredAtMost(row, bound) {
			return fmt.Errorf("%w: update of shard %d is beyond the clip", ErrEncoding, k)
		}
	}
	return nil
}
