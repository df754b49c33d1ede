package main

import (
	"context"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/lab/bench"
)

// classic is the DCA as it was published: M explicit shares a party, each sealed for
// its node, without seeds; on Choir's field, keystream and boxes.
func classic(_ context.Context, cfg Config) (Row, error) {
	row := Row{Name: "classic DCA",
		Source: "[DCA], Algorithm 1: M explicit shares; same field and sealing", Parties: cfg.Parties,
		Servers: cfg.Computes, Messages: 1, Versus: choirName(cfg),
		UploadBytes: int64(cfg.Computes * (8*cfg.Dim + channel.Overhead)),
		Gives: "nothing; the secrecy against any M-1 nodes is the same (this row has no signatures, " +
			"digests and receipts, which cost Choir the difference)",
		Lacks: "an upload that doesn't grow with M (Choir: 8d bytes and a constant a node); as " +
			"published, also signatures, a signed set with one reveal a round, receipts"}
	in, sum, err := vectors(cfg)
	if err != nil {
		return row, err
	}
	accs := make([]field.Vector, cfg.Computes)
	for k := range accs {
		accs[k] = make(field.Vector, cfg.Dim)
	}
	for _, x := range in {
		var sealed [][]byte
		var keys []xof.Key
		for range cfg.Computes {
			k, err := fresh()
			if err != nil {
				return row, err
			}
			keys = append(keys, k)
		}
		c, err := bench.Measure(func() (err error) { sealed, err = classicShares(x, keys); return err })
		if err != nil {
			return row, err
		}
		row.ClientSeconds += c.CPUSeconds / float64(cfg.Parties)
		c, err = bench.Measure(func() error { return classicAdd(accs, sealed, keys) })
		if err != nil {
			return row, err
		}
		row.ServerSeconds += c.CPUSeconds / float64(cfg.Parties*cfg.Computes)
	}
	total := make(field.Vector, cfg.Dim)
	for _, acc := range accs {
		total.Add(acc)
	}
	return row, equal(total, sum)
}

// classicShares draws M-1 uniform shares, makes the last one the difference, and
// seals all of them. Each node's key seals one message.
func classicShares(x field.Vector, keys []xof.Key) ([][]byte, error) {
	rest, share := append(field.Vector(nil), x...), make(field.Vector, len(x))
	out := make([][]byte, len(keys))
	for k, key := range keys {
		s := rest
		if k < len(keys)-1 {
			seed, err := fresh()
			if err != nil {
				return nil, err
			}
			stream, err := xof.New(seed)
			if err != nil {
				return nil, err
			}
			each(share, stream.Fill)
			rest.Sub(share)
			s = share
		}
		box, err := channel.NewBox(key, nil)
		if err != nil {
			return nil, err
		}
		out[k] = box.Seal(nil, 0, true, field.AppendVector(make([]byte, 0, 8*len(s)), s))
	}
	return out, nil
}

func classicAdd(accs []field.Vector, sealed [][]byte, keys []xof.Key) error {
	v := make(field.Vector, len(accs[0]))
	for k, acc := range accs {
		box, err := channel.NewBox(keys[k], nil)
		if err != nil {
			return err
		}
		plain, err := box.Open(nil, 0, true, sealed[k])
		if err != nil {
			return err
		}
		if err := field.DecodeVector(v, plain); err != nil {
			return err
		}
		acc.Add(v)
	}
	return nil
}
