package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"

	"github.com/cloudflare/circl/vdaf/prio3/sumvec"

	"choir/lab/bench"
)

// prioBits is the width of a coordinate, as the figures have it.
const prioBits = 16

// prio is circl's Prio3SumVec with two aggregators, each of which holds a share and
// checks its part of the proof that every coordinate lies in [0, 2^16).
func prio(_ context.Context, cfg Config) (Row, error) {
	row := Row{Name: "Prio3SumVec, with its proofs",
		Source: "circl; VDAF, draft-irtf-cfrg-vdaf; 16 bits a coordinate", Servers: 2, Messages: 1,
		Versus: "Choir, M = 2",
		Gives: "a proof, checked by both aggregators, that every coordinate is in range: a client can't " +
			"shift the sum by more than one honest client could",
		Lacks: "noise that no single server knows, more than two or three servers in practice, a signed " +
			"set with one reveal a round, receipts, dropouts at any time, transcripts; it bounds " +
			"coordinates and not the L2 norm"}
	const clients = 3 // one costs a tenth of a second at d = 10^4
	row.Parties = clients
	p, err := sumvec.New(2, uint(cfg.Dim), prioBits, uint(math.Ceil(math.Sqrt(float64(prioBits*cfg.Dim)))),
		[]byte("choir bench"))
	if err != nil {
		return row, err
	}
	run := &prioRun{vdaf: p, aggregates: []sumvec.AggShare{p.AggregateInit(), p.AggregateInit()}}
	if _, err := rand.Read(run.key[:]); err != nil {
		return row, err
	}
	want := make([]uint64, cfg.Dim)
	for i := range clients {
		v := make([]uint64, cfg.Dim)
		for j := range v {
			v[j] = uint64((i*40503 + j*7919) % (1 << prioBits))
			want[j] += v[j]
		}
		if err := run.client(v); err != nil {
			return row, err
		}
	}
	sum, err := p.Unshard(run.aggregates, clients)
	if err != nil {
		return row, err
	}
	for j := range want {
		if (*sum)[j] != want[j] {
			return row, fmt.Errorf("coordinate %d of the sum is %d, not %d", j, (*sum)[j], want[j])
		}
	}
	row.ClientSeconds = run.shard / clients
	row.ServerSeconds = run.prepare / (2 * clients)
	row.UploadBytes = run.upload
	return row, nil
}

type prioRun struct {
	vdaf           *sumvec.SumVec
	key            sumvec.VerifyKey
	aggregates     []sumvec.AggShare
	shard, prepare float64
	upload         int64
}

// client shards one measurement and has both aggregators prepare and add it.
func (r *prioRun) client(v []uint64) error {
	var nonce sumvec.Nonce
	params := r.vdaf.Params()
	seed := make([]byte, params.RandSize())
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	if _, err := rand.Read(seed); err != nil {
		return err
	}
	var public sumvec.PublicShare
	var shares []sumvec.InputShare
	c, err := bench.Measure(func() (err error) {
		public, shares, err = r.vdaf.Shard(v, &nonce, seed)
		return err
	})
	if err != nil {
		return err
	}
	r.shard += c.CPUSeconds
	c, err = bench.Measure(func() error { return r.prep(&nonce, public, shares) })
	r.prepare += c.CPUSeconds
	r.upload = 0
	for i := range shares {
		b, err := shares[i].MarshalBinary()
		if err != nil {
			return err
		}
		r.upload += int64(len(b))
	}
	return err
}

func (r *prioRun) prep(nonce *sumvec.Nonce, public sumvec.PublicShare, shares []sumvec.InputShare) error {
	states, outs := make([]*sumvec.PrepState, 2), make([]sumvec.PrepShare, 2)
	for k := range shares {
		state, share, err := r.vdaf.PrepInit(&r.key, nonce, uint8(k), public, shares[k])
		if err != nil {
			return err
		}
		states[k], outs[k] = state, *share
	}
	msg, err := r.vdaf.PrepSharesToPrep(outs)
	if err != nil {
		return err
	}
	for k, state := range states {
		out, err := r.vdaf.PrepNext(state, msg)
		if err != nil {
			return err
		}
		r.vdaf.AggregateUpdate(&r.aggregates[k], out)
	}
	return nil
}
