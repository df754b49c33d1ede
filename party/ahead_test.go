package party

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"choir/protocol"
)

// counted returns a rig whose party has a random reader that counts.
func counted(t *testing.T, change func(*protocol.Plan, *Config)) (*rig, *tally) {
	reads := &tally{Reader: rand.NewChaCha8([32]byte{7})}
	return newRig(t, 50, func(p *protocol.Plan, c *Config) {
		c.Rand = reads
		change(p, c)
	}), reads
}

// TestNoiseIsDrawnWhileJoining: a party that waits for the other members' keys draws its first
// noise before the first key arrives.
func TestNoiseIsDrawnWhileJoining(t *testing.T) {
	r, reads := counted(t, func(*protocol.Plan, *Config) {})
	clear(r.Store)
	reads.n = 0
	if r.boot(); r.p.nextNoise == nil || r.p.nextNoise.ready != 50 || reads.n != 32 || len(r.p.links) > 0 {
		t.Errorf("a party with %d channels has read %d bytes", len(r.p.links), reads.n)
	}
}

// TestNoiseIsDrawnAhead: when the request comes the samples are there, and answering it draws
// none. While the party waits for the result, it draws the next noise.
func TestNoiseIsDrawnAhead(t *testing.T) {
	r, reads := counted(t, func(*protocol.Plan, *Config) {})
	if r.p.nextNoise == nil || len(r.p.nextNoise.whole) != 50 || reads.n != 32 {
		t.Fatalf("a party that has joined has read %d bytes", reads.n)
	}
	ahead := slices.Clone(r.p.nextNoise.whole)
	r.open(1)
	at := len(r.sent)
	update := someUpdate(50)
	r.propose(1, update)
	if reads.n != 32 || r.p.nextNoise != nil {
		t.Fatalf("answering a request reads %d bytes", reads.n-32)
	}
	if !slices.Equal(r.noise(r.contribution(at), update), ahead) {
		t.Error("the contribution has other noise than was drawn for it")
	}
	r.deliver(r.Sign(r.Node(0), &protocol.Receipt{Round: 1, Attempt: 1, Party: 0, Bundle: r.p.own.bundle,
		Count: 1}))
	if reads.n != 32 || r.p.nextNoise != nil {
		t.Errorf("before all receipts are here it has read %d bytes", reads.n)
	}
	for k := 1; k < rigNodes; k++ {
		r.deliver(r.Sign(r.Node(k), &protocol.Receipt{Round: 1, Attempt: 1, Party: 0, Bundle: r.p.own.bundle,
			Count: 1}))
	}
	if reads.n != 64 || r.p.nextNoise == nil || r.p.nextNoise.ready != 50 ||
		slices.Equal(r.p.nextNoise.whole, ahead) {
		t.Errorf("waiting for the result it has read %d bytes", reads.n)
	}
}

// TestNoiseAheadInSteps: long noise is drawn over several steps. A request that comes between
// them gets the noise of the seed, of which the rest is drawn then.
func TestNoiseAheadInSteps(t *testing.T) {
	const dim = 9*65536 + 9 // more than the two steps of Start and the last Key draw
	update := make([]int64, dim)
	for i := range 4 {
		steps, paired := i%2, i >= 2
		reads := &tally{Reader: rand.NewChaCha8([32]byte{7})}
		r := newRig(t, dim, func(p *protocol.Plan, c *Config) {
			if c.Rand = reads; paired {
				inPairs(p)
			}
		})
		for range steps {
			if eff := r.step(protocol.Tick{}); (r.p.nextNoise.ready < dim) != (eff.Wake == r.Now) {
				t.Errorf("after a step with %d of %d samples the party sleeps", r.p.nextNoise.ready, dim)
			}
		}
		ready, want := 0, make([]int64, dim)
		if r.p.nextNoise != nil {
			ready = r.p.nextNoise.ready
			if err := r.p.noise.FillSeeded(want, r.p.nextNoise.seed); err != nil {
				t.Fatal(err)
			}
		}
		if expect := min(dim, (2+steps)*4*65536); ready != expect {
			t.Fatalf("after %d more steps %d samples are there, not %d", steps, ready, expect)
		}
		r.open(1)
		at := len(r.sent)
		r.propose(1, update)
		if !slices.Equal(r.noise(r.contribution(at), update), want) {
			t.Errorf("with %d samples drawn ahead the contribution has other noise than its seed's", ready)
		}
		if reads.n != 32 {
			t.Errorf("%d bytes are read", reads.n)
		}
	}
}

// inPairs sets a plan to two coordinates an element, with bounds that fit.
func inPairs(p *protocol.Plan) { p.Paired, p.PerParty, p.Variance = true, 1<<20, 1<<40 }

// TestPairedContribution: an element has two coordinates with their noise, there are as many
// chunks as the elements need, and a restarted party sends the same bytes again.
func TestPairedContribution(t *testing.T) {
	for _, dim := range []int{1, 2, 49, 1025, 2*65536 - 1, 2*65536 + 1, 4*65536 + 3} {
		r := newRig(t, dim, func(p *protocol.Plan, c *Config) {
			if inPairs(p); dim%2 == 0 {
				c.Ahead = -1
			}
		})
		r.open(1)
		at := len(r.sent)
		update := make([]int64, dim)
		update[0], update[dim-1] = -(1 << 19), 1<<19
		r.propose(1, update)
		sent := r.contribution(at)
		if chunks := len(sent) - 1; chunks != (dim/2+dim%2+65535)/65536 {
			t.Errorf("%d coordinates are %d chunks", dim, chunks)
		}
		seed, _, err := unmarshalOutbox(r.Store.Get("outbox"), dim)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]int64, dim)
		if err := r.p.noise.FillSeeded(want, seed); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(r.noise(sent, update), want) {
			t.Errorf("%d coordinates: the contribution is not the update and its seed's noise", dim)
		}
		r.boot()
		at = len(r.sent)
		r.step(protocol.Start{})
		if again := r.contribution(at); !slices.EqualFunc(sent, again, bytes.Equal) {
			t.Errorf("%d coordinates: %d messages are sent again as %d others", dim, len(sent), len(again))
		}
	}
}

// TestNoiseIsNeverReused: the noise of a void attempt is discarded, and so is what a process
// that crashed had drawn ahead.
func TestNoiseIsNeverReused(t *testing.T) {
	for name, between := range map[string]func(r *rig){
		"void":           func(*rig) {},
		"crash and void": (*rig).boot,
		"not ahead":      func(r *rig) { r.p.nextNoise = nil },
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := counted(t, func(*protocol.Plan, *Config) {})
			update := someUpdate(50)
			var noises [][]int64
			for attempt := range uint32(2) {
				r.open(attempt + 1)
				at := len(r.sent)
				r.propose(attempt+1, update)
				noises = append(noises, r.noise(r.contribution(at), update))
				between(r)
				r.void(attempt + 1)
			}
			if slices.Equal(noises[0], noises[1]) {
				t.Error("two attempts have the same noise")
			}
		})
	}
}

// TestNotAhead: if drawing ahead is off, above the limit, or without noise, nothing is drawn
// before it is needed.
func TestNotAhead(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*protocol.Plan, *Config)
		reads  int
	}{
		"never":    {change: func(_ *protocol.Plan, c *Config) { c.Ahead = -1 }, reads: 32},
		"too long": {change: func(_ *protocol.Plan, c *Config) { c.Ahead = 49 }, reads: 32},
		"no noise": {change: func(p *protocol.Plan, _ *Config) { p.Noise, p.Variance = protocol.NoiseNone, 0 },
			reads: 32},
		"nodes' noise": {change: func(p *protocol.Plan, _ *Config) { p.Noise = protocol.NoiseCompute }, reads: 32},
	} {
		t.Run(name, func(t *testing.T) {
			r, reads := counted(t, c.change)
			r.open(1)
			if reads.n != 0 {
				t.Errorf("%d bytes are read before they are needed", reads.n)
			}
			if r.propose(1, someUpdate(50)); reads.n != c.reads {
				t.Errorf("a contribution reads %d bytes, not %d", reads.n, c.reads)
			}
		})
	}
}
