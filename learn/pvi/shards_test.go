package pvi

import (
	"bytes"
	"slices"
	"testing"
)

func TestShardsOf(t *testing.T) {
	c := logisticConfig()
	for _, tc := range []struct {
		shards        int
		power, weight float64
		want          int
	}{
		{300, 0, 0.1, 300}, {300, 0, 0, 300}, {300, 1, 0.1, 30}, {300, 1, 0.025, 8}, {300, 1, 0, 1},
		{300, 1, 1, 300}, {300, 1, 1e-9, 1},
		{400, 0.5, 0.25, 200}, {400, 2, 0.5, 100}, {1, 1, 0.5, 1},
	} {
		c.Strategy = Virtual{Shards: tc.shards, ShardPower: tc.power}
		if c.shardsOf(tc.weight) != tc.want {
			t.Errorf("%+v: %d", tc, c.shardsOf(tc.weight))
		}
	}
}

// TestShardPower: a party whose share gives it two shards of a plan's eight sends the same,
// and has the same state, as in a plan with two shards for all parties, and its sum has the
// bound of the plan's eight. It runs with parties of other sizes, under the same
// configuration.
func TestShardPower(t *testing.T) {
	plain := logisticConfig()
	plain = as(plain, plain.name(), func(p *Params) {
		p.Shards = 2
		p.Optimiser = Natural
		p.Steps = 1
		p.LearningRate = 1
	})
	c := plain
	c = as(c, c.name(), func(p *Params) {
		p.Shards = 8
		p.ShardPower = 1
	})
	data := dense(c, 1, 20)
	a, b := learner(t, c, data, 0.25), learner(t, plain, data, 0.25)
	sa, sb := a.InitialState(), b.InitialState()
	for round := 1; round <= 3; round++ {
		pa, pb := propose(t, a, round, c.Initial(), sa), propose(t, b, round, c.Initial(), sb)
		if !slices.Equal(pa.Update, pb.Update) || !bytes.Equal(pa.Memo, pb.Memo) {
			t.Fatalf("round %d: the parties differ", round)
		}
		sa, sb = settle(t, a, round, sa, pa), settle(t, b, round, sb, pb)
	}
	if f, err := a.factors(sa); err != nil || len(f) != 2 || !bytes.Equal(sa, sb) {
		t.Errorf("%d factors, %v", len(f), err)
	}
	if _, err := newShardedLearner(c, data.Split(8), 0.25); err == nil {
		t.Error("eight shards were taken where the share gives two")
	}
	if a.Config() != c {
		t.Error("the configuration isn't the plan's")
	}
	ls := []*Learner{a, learner(t, c, dense(c, 2, 60), 0.75)}
	h := run(t, c, ls, nil, 5)
	for i, want := range []int{2, 6} {
		if f, err := ls[i].factors(h.States[i]); err != nil || len(f) != want {
			t.Errorf("party %d: %d factors, %v", i, len(f), err)
		}
	}
	if slices.Equal(h.Final(), c.Initial()) {
		t.Error("nothing was learnt")
	}
}

// TestShardRows: a party has a shard for every record, whatever its share, and at most
// the plan's number of shards; it is then the party of a plan with that number.
func TestShardRows(t *testing.T) {
	shards := func(n, each int) Config {
		c := logisticConfig()
		return as(c, c.name(), func(p *Params) {
			p.Shards = n
			p.ShardRows = each
			p.Optimiser = Natural
			p.Steps = 1
			p.LearningRate = 1
		})
	}
	for _, tc := range []struct {
		name                     string
		rows, each, shards, want int
	}{
		{"one record a shard", 20, 1, 64, 20},
		{"the last shard is smaller", 20, 3, 64, 7},
		{"at most the plan's", 20, 1, 8, 8},
		{"no record", 0, 1, 8, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, same := shards(tc.shards, tc.each), shards(tc.want, 0)
			data := dense(c, 1, tc.rows)
			a, b := learner(t, c, data, 0.25), learner(t, same, data, 0.25)
			pa := propose(t, a, 1, c.Initial(), a.InitialState())
			pb := propose(t, b, 1, c.Initial(), b.InitialState())
			if !slices.Equal(pa.Update, pb.Update) || !bytes.Equal(pa.Memo, pb.Memo) {
				t.Error("the party differs from one with that number of shards")
			}
		})
	}
	c := shards(8, 1)
	v := c.Strategy.(Virtual)
	v.ShardPower = 1
	c.Strategy = v
	if c.Validate() == nil {
		t.Error("shard_rows was accepted together with shard_power")
	}
}
