package main

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/xof"
	"choir/lab/bench"
)

// secagg is the protocol of Bonawitz et al. (CCS 2017, Figure 4, honest but curious
// server): a mask for every pair of clients and one of each client's own, both
// recoverable from Shamir shares that the clients hold for each other. On Choir's
// field, keystream and boxes, with X25519. A tenth of the clients drops out after the
// sharing, so that both kinds of recovery are paid for.
func secagg(_ context.Context, cfg Config) (Row, error) {
	row := Row{Name: "pairwise-mask SecAgg", Source: "[BIK17]; same primitives, a " +
		"tenth of the clients drops out", Parties: cfg.Parties, Servers: 1, Messages: 3,
		Versus: choirName(cfg),
		Gives: "one server instead of M nodes of which one is honest; any client set up to the " +
			"threshold drops out between its messages and the sum is still found",
		Lacks: "a client that speaks once a sum (here three times, and it must stay for the others), " +
			"work that doesn't grow with N at the client, a set that the server can't choose, noise that " +
			"survives colluders by plan, receipts and transcripts"}
	in, _, err := vectors(cfg)
	if err != nil {
		return row, err
	}
	s := &secaggRun{cfg: cfg, threshold: 2*cfg.Parties/3 + 1, dropped: cfg.Parties / 10}
	want := make([]int64, cfg.Dim)
	for i := range cfg.Parties - s.dropped { // the last ones drop out
		for j, e := range in[i] {
			want[j] += e.Int64()
		}
	}
	c, err := bench.Measure(func() error { return s.shareKeys() })
	if err != nil {
		return row, err
	}
	client := c.CPUSeconds
	masked := make([]field.Vector, cfg.Parties-s.dropped)
	c, err = bench.Measure(func() (err error) {
		for i := range masked {
			if masked[i], err = s.mask(i, in[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return row, err
	}
	row.ClientSeconds = client/float64(cfg.Parties) + c.CPUSeconds/float64(len(masked))
	var sum field.Vector
	c, err = bench.Measure(func() (err error) { sum, err = s.unmask(masked); return err })
	if err != nil {
		return row, err
	}
	row.ServerSeconds = c.CPUSeconds / float64(cfg.Parties)
	row.UploadBytes = int64(2*32 + (cfg.Parties-1)*(2*8*limbs+channel.Overhead) + 8*cfg.Dim +
		len(masked)*8*limbs)
	return row, equal(sum, want)
}

type secaggRun struct {
	cfg                Config
	threshold, dropped int

	sealKeys, maskKeys []*ecdh.PrivateKey
	self               []xof.Key    // b_u
	shards             [][2][]shard // by owner: of the mask key and of b_u, as the others opened them
}

// shareKeys is rounds 0 and 1: key pairs, and shares of what recovery needs, sealed
// for each other client, who opens them.
func (s *secaggRun) shareKeys() error {
	n := s.cfg.Parties
	for range n {
		for _, keys := range []*[]*ecdh.PrivateKey{&s.sealKeys, &s.maskKeys} {
			k, err := ecdh.X25519().GenerateKey(rand.Reader)
			if err != nil {
				return err
			}
			*keys = append(*keys, k)
		}
		b, err := fresh()
		if err != nil {
			return err
		}
		s.self = append(s.self, b)
	}
	s.shards = make([][2][]shard, n)
	for u := range n {
		for kind, secret := range [][32]byte{[32]byte(s.maskKeys[u].Bytes()), s.self[u]} {
			random, err := coefficients(s.threshold - 1)
			if err != nil {
				return err
			}
			s.shards[u][kind] = split(secret, n, random)
		}
		for v := range n {
			if u == v {
				continue
			}
			if err := s.handOver(u, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// coefficients are uniform field elements.
func coefficients(n int) ([]shard, error) {
	key, err := fresh()
	if err != nil {
		return nil, err
	}
	stream, err := xof.New(key)
	if err != nil {
		return nil, err
	}
	flat, out := make(field.Vector, n*limbs), make([]shard, n)
	each(flat, stream.Fill)
	for i := range out {
		copy(out[i][:], flat[i*limbs:])
	}
	return out, nil
}

// handOver seals u's two shards for v and opens them there.
func (s *secaggRun) handOver(u, v int) error {
	key, err := agree(s.sealKeys[u], s.sealKeys[v].PublicKey(), u, v)
	if err != nil {
		return err
	}
	plain := make([]byte, 0, 2*8*limbs)
	for kind := range 2 {
		plain = field.AppendVector(plain, s.shards[u][kind][v][:])
	}
	from, err := channel.NewBox(key, nil)
	if err != nil {
		return err
	}
	sealed := from.Seal(nil, uint32(u), true, plain)
	to, err := channel.NewBox(key, nil)
	if err != nil {
		return err
	}
	opened, err := to.Open(nil, uint32(u), true, sealed)
	if err != nil {
		return err
	}
	for kind := range 2 {
		if err := field.DecodeVector(s.shards[u][kind][v][:],
			opened[kind*8*limbs:(kind+1)*8*limbs]); err != nil {
			return err
		}
	}
	return nil
}

// agree is the key of a pair and a direction.
func agree(own *ecdh.PrivateKey, peer *ecdh.PublicKey, u, v int) (xof.Key, error) {
	secret, err := own.ECDH(peer)
	if err != nil {
		return xof.Key{}, err
	}
	h := sha256.New()
	h.Write(secret)
	h.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(u)), uint32(v)))
	return xof.Key(h.Sum(nil)), nil
}

// mask is round 2: a client's input under its own mask and one for every other
// client, added for those after it and subtracted for those before.
func (s *secaggRun) mask(u int, x field.Vector) (field.Vector, error) {
	y := append(field.Vector(nil), x...)
	own, err := xof.New(s.self[u])
	if err != nil {
		return nil, err
	}
	each(y, own.AddTo)
	return y, s.pairwise(y, s.maskKeys[u], u, s.cfg.Parties)
}

// pairwise adds client u's masks with the first n clients to y.
func (s *secaggRun) pairwise(y field.Vector, key *ecdh.PrivateKey, u, n int) error {
	for v := range n {
		if v == u {
			continue
		}
		seed, err := agree(key, s.maskKeys[v].PublicKey(), min(u, v), max(u, v))
		if err != nil {
			return err
		}
		stream, err := xof.New(seed)
		if err != nil {
			return err
		}
		if u < v {
			each(y, stream.AddTo)
		} else {
			each(y, stream.SubFrom)
		}
	}
	return nil
}

// unmask is round 4 at the server: it adds, recovers the survivors' own masks and the
// dropped clients' keys from the first t survivors' shards, and takes both out.
func (s *secaggRun) unmask(masked []field.Vector) (field.Vector, error) {
	sum := make(field.Vector, s.cfg.Dim)
	for _, y := range masked {
		sum.Add(y)
	}
	if len(masked) < s.threshold {
		return nil, fmt.Errorf("%d survivors, the threshold is %d", len(masked), s.threshold)
	}
	holders := make([]int, s.threshold)
	for i := range holders {
		holders[i] = i
	}
	w := weights(holders)
	for u := range s.cfg.Parties {
		kind := 1
		if u >= len(masked) {
			kind = 0
		}
		secret, err := join(w, s.shards[u][kind][:s.threshold])
		if err != nil {
			return nil, err
		}
		if kind == 1 {
			own, err := xof.New(xof.Key(secret))
			if err != nil {
				return nil, err
			}
			each(sum, own.SubFrom)
			continue
		}
		key, err := ecdh.X25519().NewPrivateKey(secret[:])
		if err != nil {
			return nil, err
		}
		// what the survivors added of their masks with u is the opposite of u's own
		if err := s.pairwise(sum, key, u, len(masked)); err != nil {
			return nil, err
		}
	}
	return sum, nil
}
