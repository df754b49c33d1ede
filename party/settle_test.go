package party

import (
	"bytes"
	"slices"
	"testing"

	"choir/protocol"
)

// onward is an application whose model is not the sum.
type onward struct{ flat }

func (onward) Fold(_ uint32, model, sum []int64) ([]int64, error) {
	next := slices.Clone(model)
	for i := range next {
		next[i] += sum[i] + 1
	}
	return next, nil
}

// orders are orders of three chunks: in order, with one in its place, with none.
var orders = [][]int{{0, 1, 2}, {0, 2, 1}, {1, 2, 0}}

// TestResultsInAnyOrder: for any order of a result's chunks, also with a crash between them, the
// party has the model that follows, and stores its packed form: if the sum is the model, if it
// leads to it, and if it is of pairs.
func TestResultsInAnyOrder(t *testing.T) {
	for name, c := range map[string]struct {
		dim    int
		paired bool
		orders [][]int
		app    func(flat) protocol.Application
	}{
		"the sum is the model": {dim: 2*65536 + 5, paired: false, orders: orders,
			app: func(a flat) protocol.Application { return a }},
		"it leads to it": {dim: 2*65536 + 5, paired: false, orders: orders[1:2],
			app: func(a flat) protocol.Application { return onward{a} }},
		"pairs": {dim: 4*65536 + 5, paired: true, orders: orders[2:],
			app: func(a flat) protocol.Application { return a }},
	} {
		t.Run(name, func(t *testing.T) {
			update := someUpdate(c.dim)
			for i := range update {
				update[i] >>= 16 // pairs hold it as well
			}
			for i, order := range c.orders {
				r := newRig(t, c.dim, func(p *protocol.Plan, cfg *Config) {
					cfg.Ahead = -1
					cfg.App = c.app(flat{c.dim})
					p.Paired = c.paired
					p.PerParty = 1 << 20
					p.Variance = 1 << 20
				})
				want, err := r.cfg.App.Fold(1, r.p.Model(), update)
				if err != nil {
					t.Fatal(err)
				}
				chunks := r.announced(update, want)
				for j, at := range order {
					if j == i+1 {
						r.boot()
					}
					r.deliver(chunks[at])
				}
				for restart := range 2 {
					if r.p.Settled() != 1 || !slices.Equal(r.p.Model(), want) {
						t.Fatalf("chunks %v, restart %d: %d rounds settled, or another model", order, restart,
							r.p.Settled())
					}
					if !bytes.Equal(r.Store["model"], protocol.PackInts(want)) {
						t.Fatalf("chunks %v: another model is stored", order)
					}
					r.boot()
				}
			}
		})
	}
}

// announced delivers all of a result but its chunks, and returns these.
func (r *rig) announced(update, next []int64) [][]byte {
	r.TB.Helper()
	p := r.cfg.Session.Plan
	sum, err := p.Integers(make([]int64, p.Elements()), update)
	if err != nil {
		r.TB.Fatal(err)
	}
	set := []protocol.Entry{{Party: 1}, {Party: 2}}
	for k := range rigNodes {
		r.deliver(r.Sign(r.Node(k), &protocol.Agree{Round: 1, Attempt: 1, Count: 2,
			Set: protocol.SetDigest(r.cfg.Session, 1, 1, set)}))
	}
	r.deliver(r.Sign(r.agg(), &protocol.Result{Round: 1, Attempt: 1, Outcome: protocol.OutcomeAccepted, Set: set,
		Aggregate: r.digest(1, sum), Next: r.digest(1, next), Partials: make([]protocol.Digest,
			rigNodes)}))
	return r.published(sum)
}

// TestTheFirstChunkCounts: a second chunk for an index, which any holder of the group key can
// seal, changes nothing: neither after the first was opened nor if both came before the key.
func TestTheFirstChunkCounts(t *testing.T) {
	const dim = 65536 + 5
	update := someUpdate(dim)
	forged := slices.Clone(update)
	forged[0]++
	for _, late := range []bool{false, true} {
		r := newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Ahead = -1 })
		if late {
			r.loseGroup()
		}
		chunks, other := r.announced(update, update), r.published(forged)
		for _, b := range [][]byte{chunks[0], other[0], chunks[1]} {
			r.deliver(b)
		}
		if late {
			sealed, err := r.cfg.Session.SealGroup(r.secret(r.agg()), 0, make([]byte, 32))
			if err != nil {
				t.Fatal(err)
			}
			if r.p.Settled() != 0 {
				t.Fatal("settled without the group key")
			}
			r.deliver(r.Sign(r.agg(), &protocol.Group{To: 0, Sealed: sealed}))
		}
		if r.p.Settled() != 1 || !slices.Equal(r.p.Model(), update) {
			t.Errorf("group key late: %t: %d rounds settled, or another model", late, r.p.Settled())
		}
	}
}

// TestAnotherNextModelIsRejected: a party does not accept a model without recomputing it.
func TestAnotherNextModelIsRejected(t *testing.T) {
	for name, app := range map[string]func(flat) protocol.Application{
		"the sum is the model": func(a flat) protocol.Application { return a },
		"it leads to it":       func(a flat) protocol.Application { return onward{a} },
	} {
		t.Run(name, func(t *testing.T) {
			const dim = 50
			r := newRig(t, dim, func(_ *protocol.Plan, c *Config) { c.Ahead, c.App = -1, app(flat{dim}) })
			update := someUpdate(dim)
			chunks := r.announced(update, make([]int64, dim))
			if eff := r.ends(protocol.Delivery{Data: chunks[0]}); !eff.Done ||
				protocol.ClassOf(eff.Err) != protocol.ClassIntegrity || r.p.Settled() != 0 {
				t.Errorf("%v, %d rounds settled", eff.Err, r.p.Settled())
			}
		})
	}
}
