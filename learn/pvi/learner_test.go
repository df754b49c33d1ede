package pvi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
)

func propose(t testing.TB, l *Learner, round int, raw []int64, state []byte) Proposal {
	t.Helper()
	p, err := l.Propose(context.Background(), round, raw, state)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProposalIsTheSumOfClippedShards(t *testing.T) {
	c := logisticConfig()
	l := learner(t, c, dense(c, 1, 40), 0.5)
	p := propose(t, l, 1, c.Initial(), l.InitialState())
	memo, err := c.decode(kindMemo, p.Memo)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := c.grid().IntBound(c.Clip)
	if err != nil {
		t.Fatal(err)
	}
	sum := make([]int64, c.Dim())
	for k, row := range memo.rows {
		if !fixedpoint.NormSquaredAtMost(row, bound) {
			t.Errorf("shard %d exceeds the clip", k)
		}
		if fixedpoint.NormSquaredAtMost(row, bound*9/10) {
			t.Errorf("shard %d is far below the clip: this test clips nothing", k)
		}
		for i, x := range row {
			sum[i] += x
		}
	}
	if !slices.Equal(sum, p.Update) {
		t.Errorf("update %v isn't the sum of the shards %v", p.Update, sum)
	}
	if p.ClippedFraction != 1 {
		t.Errorf("clipped fraction %v, want 1", p.ClippedFraction)
	}
}

func TestClippedFractionCounts(t *testing.T) {
	c := logisticConfig()
	c.Clip, c.Beta = 2, 0 // empty shards do not move, others by less than 2
	shards := []bayes.Data{dense(c, 1, 30), {}, {}}
	l, err := newShardedLearner(c, shards, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if p := propose(t, l, 1, c.Initial(), l.InitialState()); p.ClippedFraction != 0 {
		t.Errorf("clipped fraction %v, want 0", p.ClippedFraction)
	}
	c.Clip = 0.05
	if l, err = newShardedLearner(c, shards, 0.5); err != nil {
		t.Fatal(err)
	}
	if p := propose(t, l, 1, c.Initial(), l.InitialState()); math.Abs(p.ClippedFraction-1.0/3) > 1e-15 {
		t.Errorf("clipped fraction %v, want 1/3", p.ClippedFraction)
	}
}

func TestProposeIsPure(t *testing.T) {
	c := logisticConfig()
	l := learner(t, c, dense(c, 1, 40), 0.5)
	raw, state := c.Initial(), l.InitialState()
	raw[0], raw[c.Features] = 1<<30, 1<<40 // improper: the server's factor is at work
	rawBefore, stateBefore := slices.Clone(raw), bytes.Clone(state)
	want := propose(t, l, 1, raw, state)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := l.Propose(context.Background(), 1, raw, state)
			if err != nil || !slices.Equal(got.Update, want.Update) || !bytes.Equal(got.Memo, want.Memo) {
				t.Errorf("proposing again gives something else, %v", err)
			}
		})
	}
	wg.Wait()
	if !slices.Equal(raw, rawBefore) || !bytes.Equal(state, stateBefore) {
		t.Error("arguments changed")
	}
}

func TestProposeRefuses(t *testing.T) {
	c := logisticConfig()
	l := learner(t, c, dense(c, 1, 40), 0.5)
	ctx := context.Background()
	raw := c.Initial()
	state := l.InitialState()
	if _, err := l.Propose(ctx, 0, raw, state); !errors.Is(err, ErrRound) {
		t.Errorf("round 0: %v, want ErrRound", err)
	}
	if _, err := l.Propose(ctx, 1, raw[1:], state); !errors.Is(err, bayes.ErrShape) {
		t.Errorf("a short state: %v, want ErrShape", err)
	}
	if _, err := l.Propose(ctx, 1, raw, nil); !errors.Is(err, ErrEncoding) {
		t.Errorf("no private state: %v, want ErrEncoding", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.Propose(ctx, 1, raw, state); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v, want context.Canceled", err)
	}
}

// endsAt is a context that ends when it is asked for the n-th time.
type endsAt struct {
	context.Context
	n, asked int
}

func (c *endsAt) Err() error {
	if c.asked++; c.asked >= c.n {
		return context.Canceled
	}
	return nil
}

// A party looks at its context between two steps, and between the records of one.
func TestProposeEndsWithinAnUpdate(t *testing.T) {
	steps := logisticConfig()
	steps = as(steps, steps.name(), func(p *Params) { p.Steps = 20 })
	records := as(recordConfigs()["logistic"], NameOptimisation, func(p *Params) {
		p.Steps = 1
		p.Sampling = ""
		p.SampleRate = 0
	})
	for name, v := range map[string]struct {
		c  Config
		at int
	}{"between steps": {steps, 10}, "between records": {records, 3}} {
		t.Run(name, func(t *testing.T) {
			l := learner(t, v.c, dense(v.c, 1, 600), 0.5)
			if v.c.params().Local {
				l = noised(t, l, 1, 1)
			}
			ctx := &endsAt{Context: context.Background(), n: v.at}
			if _, err := l.Propose(ctx, 1, v.c.Initial(), l.InitialState()); !errors.Is(err, context.Canceled) {
				t.Errorf("asked its context %d times: %v, want context.Canceled", ctx.asked, err)
			}
		})
	}
}

func TestProposeRefusesWhatTheGridCannotHold(t *testing.T) {
	c := linearConfig(gauss.Full)
	d := dense(c, 1, 5)
	d.X[0] = 1e10 // squares to 1e20, above 2^62 units of 2^-20
	l := learner(t, c, d, 1)
	_, err := l.Propose(context.Background(), 1, c.Initial(), l.InitialState())
	if !errors.Is(err, fixedpoint.ErrRange) || !strings.Contains(err.Error(), "shard 0") {
		t.Errorf("an absurd record: %v, want ErrRange and the shard", err)
	}
}

func TestSettle(t *testing.T) {
	c := logisticConfig()
	l := learner(t, c, dense(c, 1, 40), 0.5)
	p := propose(t, l, 4, c.Initial(), l.InitialState())
	state := l.InitialState()
	next, err := l.Settle(4, state, p.Memo)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(state, l.InitialState()) {
		t.Error("the given state changed")
	}
	factors, err := l.factors(next)
	if err != nil {
		t.Fatal(err)
	}
	memo, err := c.decode(kindMemo, p.Memo)
	if err != nil {
		t.Fatal(err)
	}
	for k, row := range factors {
		for i, f := range row {
			if want := c.DampingUnits(4) * memo.rows[k][i]; f != want {
				t.Fatalf("shard %d, coordinate %d: factor %d, want %d", k, i, f, want)
			}
		}
	}
	if _, err := l.Settle(4, next, p.Memo); !errors.Is(err, ErrRound) {
		t.Errorf("settling twice: %v, want ErrRound", err)
	}
	if _, err := l.Settle(5, next, p.Memo); !errors.Is(err, ErrRound) {
		t.Errorf("another round's memo: %v, want ErrRound", err)
	}
	if _, err := l.Propose(context.Background(), 4, c.Initial(), next); !errors.Is(err, ErrRound) {
		t.Errorf("proposing for a settled round: %v, want ErrRound", err)
	}
	if _, err := l.Settle(5, next, next); !errors.Is(err, ErrEncoding) {
		t.Errorf("a state as memo: %v, want ErrEncoding", err)
	}
}

func TestSettleNoticesOverflow(t *testing.T) {
	c := logisticConfig()
	c.Clip = 0
	l := learner(t, c, dense(c, 1, 40), 0.5)
	state, memo := c.newBlock(kindState, 0), c.newBlock(kindMemo, 1)
	state.rows[2][5], memo.rows[2][5] = math.MaxInt64-10, 1
	if _, err := l.Settle(1, c.encode(state), c.encode(memo)); !errors.Is(err, ErrOverflow) ||
		!strings.Contains(err.Error(), "shard 2, coordinate 5") {
		t.Errorf("an overflow: %v, want ErrOverflow and its place", err)
	}
}

// TestClippedFactorsStayInRange: a party whose factor leaves the range of int64 goes on, as one with another
// record does. Two parties pull a weight to opposite sides, by 2^60 units a round each, so that the public
// state stays where it is and only the factors leave.
func TestClippedFactorsStayInRange(t *testing.T) {
	c := linearConfig(gauss.MeanField)
	c.Features, c.Clip, c.FracBits, c.DampingBits = 1, 1, 40, 20
	of := func(y float64) bayes.Data { return bayes.Data{X: []float64{1}, Y: []float64{y}} }
	parties := []*Learner{learner(t, c, of(1000), 0.5), learner(t, c, of(-1000), 0.5)}
	h, err := Run(context.Background(), c, parties, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Final()[0]; got != 0 {
		t.Errorf("the weight moved by %d units, want 0", got)
	}
	for i, want := range []int64{math.MaxInt64, -math.MaxInt64} {
		state, err := parties[i].cfg.decode(kindState, h.States[i])
		if err != nil {
			t.Fatal(err)
		}
		if got := state.rows[0][0]; got != want {
			t.Errorf("party %d: a factor of %d units, want %d", i, got, want)
		}
	}
}

func TestNewLearnerRefuses(t *testing.T) {
	c := logisticConfig()
	good := dense(c, 1, 9)
	spoil := func(f func(*bayes.Data)) bayes.Data {
		d := bayes.Data{X: slices.Clone(good.X), Y: slices.Clone(good.Y)}
		f(&d)
		return d
	}
	for what, d := range map[string]bayes.Data{
		"row 2, column 1": spoil(func(d *bayes.Data) { d.X[2*c.Features+1] = math.NaN() }),
		"row 1, column 0": spoil(func(d *bayes.Data) { d.X[c.Features] = math.Inf(-1) }),
		"row 3, target":   spoil(func(d *bayes.Data) { d.Y[3] = 0.5 }),
		"row 4, target":   spoil(func(d *bayes.Data) { d.Y[4] = math.NaN() }),
		"for 8 rows":      spoil(func(d *bayes.Data) { d.Y = d.Y[1:] }),
	} {
		t.Run(what, func(t *testing.T) {
			_, err := NewLearner(c, d, 0.5)
			if !errors.Is(err, bayes.ErrData) || !strings.Contains(err.Error(), what) {
				t.Errorf("error %v, want ErrData naming %q", err, what)
			}
		})
	}
	for _, w := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := NewLearner(c, good, w); !errors.Is(err, bayes.ErrData) {
			t.Errorf("weight %v: %v, want ErrData", w, err)
		}
	}
	if _, err := newShardedLearner(c, []bayes.Data{good}, 0.5); !errors.Is(err, bayes.ErrData) {
		t.Errorf("one shard for three: %v, want ErrData", err)
	}
	if _, err := NewLearner(Config{}, good, 0.5); !errors.Is(err, ErrConfig) {
		t.Errorf("an empty configuration: %v, want ErrConfig", err)
	}
}

// TestOneRecordChangesOneShard is the sensitivity argument, played: two parties
// whose data differ in one record see the same public history, noisy and sometimes
// improper. In every round only that record's shard may differ, and the updates by
// at most the sensitivity.
func TestOneRecordChangesOneShard(t *testing.T) {
	natural := logisticConfig()
	natural.StartPrecision = 8
	natural = as(natural, natural.name(), func(p *Params) {
		p.Optimiser = Natural
		p.Steps = 1
		p.LearningRate = 1
	})
	for _, c := range []Config{logisticConfig(), natural, clippedLinear(gauss.MeanField),
		clippedLinear(gauss.Full)} {
		data := dense(c, 1, 40)
		other := bayes.Data{X: slices.Clone(data.X), Y: slices.Clone(data.Y)}
		const victim = 19
		for j := range c.Features {
			other.X[victim*c.Features+j] *= -50
		}
		other.Y[victim] = 1 - other.Y[victim]
		a, b := learner(t, c, data, 0.5), learner(t, c, other, 0.5)
		limit, err := c.Sensitivity(ReplaceRecord)
		if err != nil {
			t.Fatal(err)
		}
		sa := a.InitialState()
		sb := b.InitialState()
		raw := c.Initial()
		r := rand.New(rand.NewPCG(9, 9))
		differed := 0
		for round := 1; round <= 12; round++ {
			pa, pb := propose(t, a, round, raw, sa), propose(t, b, round, raw, sb)
			if checkPair(t, c, pa, pb, victim%c.params().Shards, limit) {
				differed++
			}
			sum := slices.Clone(pa.Update)
			for i := range sum {
				sum[i] += int64(r.NormFloat64() * 20 * c.Clip * math.Ldexp(1, int(c.FracBits)))
			}
			sa, sb = settle(t, a, round, sa, pa), settle(t, b, round, sb, pb)
			if raw, err = c.Fold(round, raw, sum); err != nil {
				t.Fatal(err)
			}
		}
		if differed < 6 {
			t.Errorf("%s %s: the record made a difference in %d rounds only", c.Model, c.Family, differed)
		}
	}
}

func settle(t testing.TB, l *Learner, round int, state []byte, p Proposal) []byte {
	t.Helper()
	next, err := l.Settle(round, state, p.Memo)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// checkPair fails unless two proposals are equal except for one shard, and reports whether
// they differ.
func checkPair(t *testing.T, c Config, a, b Proposal, shard int, limit uint64) bool {
	t.Helper()
	ma, err := c.decode(kindMemo, a.Memo)
	if err != nil {
		t.Fatal(err)
	}
	mb, err := c.decode(kindMemo, b.Memo)
	if err != nil {
		t.Fatal(err)
	}
	for k := range ma.rows {
		if k != shard && !slices.Equal(ma.rows[k], mb.rows[k]) {
			t.Fatalf("shard %d changed with a record of shard %d", k, shard)
		}
	}
	diff := make([]int64, c.Dim())
	for i := range diff {
		diff[i] = a.Update[i] - b.Update[i]
	}
	if !fixedpoint.NormSquaredAtMost(diff, limit) {
		t.Fatalf("updates differ by more than the sensitivity %d", limit)
	}
	return !slices.Equal(a.Update, b.Update)
}

func clippedLinear(f gauss.Family) Config {
	c := linearConfig(f)
	c.Clip, c.Damping = 0.5, 0.2
	c.DampingDecay, c.Beta = 0.1, 0.5
	c = as(c, NameVirtual, func(p *Params) { p.Shards = 3 })
	return c
}

// A cavity ties the factor to the public posterior by the published formula. In the
// conjugate model the update is then, in closed form, the likelihood minus t.
func TestTiedFactor(t *testing.T) {
	c := linearConfig(gauss.Full)
	c.Beta, c.PrecisionFloor = 0.75, 0.25 // nothing is lifted
	c = as(c, NameVirtual, func(p *Params) { p.Shards = 2 })
	d := dense(c, 3, 12)
	l := learner(t, c, d, 0.4)
	state := c.newBlock(kindState, 0)
	for k, row := range state.rows {
		for i := range row {
			row[i] = int64(1000*k+i) << 20
		}
	}
	raw := c.Initial()
	raw[0], raw[c.space().Index(1, 2)] = 5<<36, 1<<33
	p := propose(t, l, 1, raw, c.encode(state))
	memo, err := c.decode(kindMemo, p.Memo)
	if err != nil {
		t.Fatal(err)
	}
	q, prior := c.Reals(raw), c.Reals(c.Initial())
	for k, shard := range d.Split(2) {
		like := exactPosterior(c, shard)
		for i := range like {
			factor := 0.25*math.Ldexp(float64(state.rows[k][i]), -36) + 0.75*(0.4/2)*(q[i]-prior[i])
			want := like[i] - prior[i] - factor
			if got := math.Ldexp(float64(memo.rows[k][i]), -20); math.Abs(got-want) > math.Ldexp(0.51, -20) {
				t.Fatalf("shard %d, coordinate %d: update %v, want %v", k, i, got, want)
			}
		}
	}
}

// With noise of any size every party has a finite, repeatable proposal.
func TestExtremeNoise(t *testing.T) {
	for _, c := range []Config{logisticConfig(), clippedLinear(gauss.MeanField), clippedLinear(gauss.Full)} {
		l := learner(t, c, dense(c, 1, 40), 0.5)
		r := rand.New(rand.NewPCG(4, 4))
		for _, scale := range []float64{1, 1e4, 1e7} {
			raw := c.Initial()
			for i := range raw {
				raw[i] += int64(r.NormFloat64() * scale * math.Ldexp(1, c.rawBits()))
			}
			a, b := propose(t, l, 1, raw, l.InitialState()), propose(t, l, 1, raw, l.InitialState())
			if !slices.Equal(a.Update, b.Update) {
				t.Errorf("%s %s at noise %g: two proposals", c.Model, c.Family, scale)
			}
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	c := logisticConfig()
	data := dense(c, 1, 40)
	l := learner(t, c, data, 0.5)
	p := propose(t, l, 1, c.Initial(), l.InitialState())
	for _, secret := range []any{data, &data, p, &p, l} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
			if got := fmt.Sprintf(verb, secret); got != "[redacted]" {
				t.Errorf("%T under %s prints %.40q", secret, verb, got)
			}
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", secret)
		if !strings.Contains(log.String(), "[redacted]") || len(log.String()) > 120 {
			t.Errorf("%T logs as %.80q", secret, log.String())
		}
	}
}
