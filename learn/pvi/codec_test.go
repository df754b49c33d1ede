package pvi

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"choir/learn/bayes"
	"choir/learn/gauss"
)

// dense is n records of a model from a seed, the last feature a bias.
func dense(c Config, seed uint64, n int) bayes.Data {
	r := rand.New(rand.NewPCG(seed, 3))
	d := bayes.Data{X: make([]float64, n*c.Features), Y: make([]float64, n)}
	for i := range d.Y {
		row := d.X[i*c.Features : (i+1)*c.Features]
		for j := range row {
			row[j] = r.NormFloat64()
		}
		signal := 2 * row[0]
		if c.Features > 1 {
			row[c.Features-1] = 1
			signal = 1.5*row[0] - row[1] + 0.5
		}
		d.Y[i] = signal + c.NoiseSD*r.NormFloat64()
		if c.Model == bayes.Logistic {
			d.Y[i] = 0
			if signal+r.NormFloat64() > 0 {
				d.Y[i] = 1
			}
		}
	}
	return d
}

// learner makes a party or fails the test.
func learner(t testing.TB, c Config, d bayes.Data, weight float64) *Learner {
	t.Helper()
	l, err := NewLearner(c, d, weight)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func smallConfig() Config {
	c := logisticConfig()
	c.Features = 2
	c = as(c, c.name(), func(p *Params) { p.Shards = 2 })
	return c
}

func TestCodecRoundTrip(t *testing.T) {
	c := smallConfig()
	b := c.newBlock(kindState, 9)
	for k, row := range b.rows {
		for i := range row {
			row[i] = int64(1)<<(7*i+k) - int64(k)<<62
		}
	}
	data := c.encode(b)
	if len(data) != 16+8*c.params().Shards*c.Dim() {
		t.Errorf("%d bytes for %d numbers", len(data), c.params().Shards*c.Dim())
	}
	got, err := c.decode(kindState, data)
	if err != nil || got.round != 9 {
		t.Fatalf("decoded round %d, %v", got.round, err)
	}
	if !bytes.Equal(c.encode(got), data) {
		t.Error("encoding the decoded state gives other bytes")
	}
}

func TestCodecRefuses(t *testing.T) {
	c := smallConfig()
	state := c.encode(c.newBlock(kindState, 3))
	for i := range headerLen {
		if i >= 4 && i < 7 {
			continue // low bytes of the round: other rounds are valid states
		}
		bad := bytes.Clone(state)
		bad[i] ^= 0x40
		if _, err := c.decode(kindState, bad); !errors.Is(err, ErrEncoding) {
			t.Errorf("header byte %d flipped: %v, want ErrEncoding", i, err)
		}
	}
	for n := range state {
		if _, err := c.decode(kindState, state[:n]); !errors.Is(err, ErrEncoding) {
			t.Fatalf("cut to %d bytes: %v, want ErrEncoding", n, err)
		}
	}
	if _, err := c.decode(kindState, append(state, 0)); !errors.Is(err, ErrEncoding) {
		t.Errorf("one byte more: %v, want ErrEncoding", err)
	}
	if _, err := c.decode(kindMemo, state); !errors.Is(err, ErrEncoding) {
		t.Errorf("a state as a memo: %v, want ErrEncoding", err)
	}
	memo := c.newBlock(kindMemo, 1)
	memo.rows[1][2] = 1 << 20 // far beyond the clip of 0.05
	if _, err := c.decode(kindMemo, c.encode(memo)); !errors.Is(err, ErrEncoding) {
		t.Errorf("a memo beyond the clip: %v, want ErrEncoding", err)
	}
	memo.rows[1][2], memo.round = 1, 0
	if _, err := c.decode(kindMemo, c.encode(memo)); !errors.Is(err, ErrEncoding) {
		t.Errorf("a memo of round 0: %v, want ErrEncoding", err)
	}
}

// FuzzDecode: everything that is accepted is the output of encode, and Settle never panics.
func FuzzDecode(f *testing.F) {
	c := smallConfig()
	l := learner(f, c, dense(c, 1, 9), 0.5)
	memo := c.newBlock(kindMemo, 1)
	memo.rows[0][1] = -77
	f.Add(l.InitialState(), c.encode(memo))
	f.Add(c.encode(c.newBlock(kindState, 3)), c.encode(c.newBlock(kindMemo, 7)))
	f.Add([]byte{}, []byte{1, 2})
	f.Add(bytes.Repeat([]byte{255}, c.blockLen()), bytes.Repeat([]byte{127}, c.blockLen()))
	f.Fuzz(func(t *testing.T, state, memo []byte) {
		for kind, data := range map[byte][]byte{kindState: state, kindMemo: memo} {
			if b, err := c.decode(kind, data); err == nil && !bytes.Equal(c.encode(b), data) {
				t.Errorf("kind %d: %x was taken but isn't canonical", kind, data)
			}
		}
		if next, err := l.Settle(1, state, memo); err == nil {
			if _, err := l.factors(next); err != nil {
				t.Errorf("a settled state doesn't decode: %v", err)
			}
		}
	})
}

func TestDataSplit(t *testing.T) {
	c := linearConfig(gauss.Full)
	d := dense(c, 2, 11)
	for _, n := range []int{1, 2, 3, 11, 20} {
		shards := d.Split(n)
		if len(shards) != n {
			t.Fatalf("%d shards, want %d", len(shards), n)
		}
		for i, y := range d.Y {
			s, at := shards[i%n], i/n
			if s.Y[at] != y || s.X[at*c.Features] != d.X[i*c.Features] {
				t.Errorf("row %d isn't row %d of shard %d of %d", i, at, i%n, n)
			}
		}
		total := 0
		for _, s := range shards {
			total += s.Rows()
			if len(s.X) != s.Rows()*c.Features {
				t.Errorf("a shard of %d rows has %d features", s.Rows(), len(s.X))
			}
		}
		if total != d.Rows() {
			t.Errorf("%d rows in %d shards, want %d", total, n, d.Rows())
		}
	}
}
