package bench

import (
	"crypto/rand"
	"fmt"
	"math"
	"time"

	"choir/crypto/fixedpoint"
	"choir/crypto/identity"
	"choir/protocol"
)

// world is all that exists before a session begins: the roster, its keys, the plan and the
// rows to sum.
type world struct {
	cfg     Config
	session protocol.BoundPlan
	keys    []*identity.PrivateKey // by member
	rows    *rows
	app     *sum
}

// fracBits is the grid of the rows; their values are whole multiples of it.
const fracBits = 8

// dropoutDeadline is the plan's deadline for parties that never contribute, in ms.
const dropoutDeadline = 1 << 20

// longTime keeps everything that depends on the clock out of a run.
const longTime = 1 << 30 // ms

func newWorld(cfg Config) (*world, error) {
	w := &world{cfg: cfg, rows: newRows(cfg.Dim, cfg.units())}
	now := time.Now()
	p := &protocol.Plan{Name: "bench", Created: now.Unix(), NotAfter: now.Add(240 * time.Hour).Unix(),
		Suite: cfg.Suite,
		Dim:   uint32(cfg.Dim), Paired: cfg.Pairs == PairsYes, FracBits: fracBits, Rounds: uint32(cfg.Rounds),
		MinParties: uint32(cfg.contributing()), DeadlineMS: longTime,
		PerParty: w.rows.bound(), Clip: w.rows.bound(), Application: "sum"}
	if cfg.Dropouts > 0 {
		p.DeadlineMS = dropoutDeadline
	}
	if cfg.Sigma > 0 {
		p.Noise, p.Variance = protocol.NoiseParty, cfg.Sigma*cfg.Sigma
	}
	add := func(role protocol.Role, format string, n int) error {
		for i := range n {
			k, err := identity.Generate(rand.Reader)
			if err != nil {
				return fmt.Errorf("identity: %w", err)
			}
			w.keys = append(w.keys, k)
			p.Members = append(p.Members, protocol.Member{Name: fmt.Sprintf(format, i), Role: role,
				Key: k.Public(), NotAfter: p.NotAfter})
		}
		return nil
	}
	for _, m := range []struct {
		role   protocol.Role
		format string
		n      int
	}{{protocol.RoleParty, "p%07d", cfg.Parties}, {protocol.RoleCompute, "c%04d", cfg.Computes},
		{protocol.RoleAggregator, "a%d", 1}} {
		if err := add(m.role, m.format, m.n); err != nil {
			return nil, err
		}
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	w.session = protocol.Bind(p)
	w.app = &sum{zeros: make([]int64, cfg.Dim)}
	return w, nil
}

// rows are the parties' vectors: windows into one sequence of reals, so that any
// number of them costs no memory.
type rows struct {
	dim   int
	units uint64 // the largest magnitude of a coordinate on the grid
	base  []float64
}

// span is how many different rows there are; a prime, so that no stride of the
// protocol's meets it.
const span = 1021

func newRows(dim int, units uint64) *rows {
	r, most := &rows{dim, units, make([]float64, dim+span)}, int(units)
	for k := range r.base {
		r.base[k] = math.Ldexp(float64((k*7919)%(2*most+1)-most), -fracBits)
	}
	return r
}

func (r *rows) row(i int) []float64 {
	o := i % span
	return r.base[o : o+r.dim]
}

// bound is an L2 bound on every row, in grid units.
func (r *rows) bound() uint64 { return rowBound(r.units, r.dim) }

func rowBound(units uint64, dim int) uint64 {
	return units * uint64(math.Ceil(math.Sqrt(float64(dim))))
}

// encodeTo is what a party does before the protocol begins, into dst: reals
// onto the grid, clipped on the integers.
func (r *rows) encodeTo(dst []int64, i int) error {
	_, err := (fixedpoint.Grid{FracBits: fracBits}).RoundClip(dst, r.row(i), r.bound())
	return err
}

// plain is the sum of the first n rows in plain arithmetic.
func (r *rows) plain(n int) []int64 {
	out := make([]int64, r.dim)
	for o := range min(n, span) {
		times := int64((n - o + span - 1) / span)
		for j := range out {
			out[j] += times * int64(math.Ldexp(r.base[o+j], fracBits))
		}
	}
	return out
}

// check compares a sum with the plain one. Without noise both are equal. With
// noise the difference is d independent discrete Gaussians of variance N sigma^2, N without drop-outs:
// the sum of their squares must be within seven standard deviations of the chi-squared law by
// [WH31], which a correct run misses at most once in 10^11.
func (w *world) check(sum []int64) error {
	want := w.rows.plain(w.cfg.contributing())
	if len(sum) != len(want) {
		return protocol.Fail(protocol.ClassIntegrity, "the sum has %d coordinates, not %d", len(sum),
			len(want))
	}
	variance, squares := float64(w.cfg.contributing())*float64(w.cfg.Sigma)*float64(w.cfg.Sigma), 0.0
	for j := range want {
		d := float64(sum[j] - want[j])
		if w.cfg.Sigma == 0 && d != 0 {
			return protocol.Fail(protocol.ClassIntegrity, "coordinate %d of the sum is %d, not %d", j,
				sum[j], want[j])
		}
		squares += d * d
	}
	if w.cfg.Sigma == 0 {
		return nil
	}
	d := float64(len(want))
	z := (math.Cbrt(squares/variance/d) - (1 - 2/(9*d))) / math.Sqrt(2/(9*d))
	if math.Abs(z) > 7 {
		return protocol.Fail(protocol.ClassIntegrity,
			"the sum is %.3g times as far from the plain one as its noise explains",
			math.Sqrt(squares/variance/d))
	}
	return nil
}

// sum is the application: the model is the last sum. Parties share the first one.
type sum struct{ zeros []int64 }

// Initial is the shared vector of zeros; a model is never written to.
func (s *sum) Initial() []int64 { return s.zeros }

// Fold replaces the model.
func (s *sum) Fold(_ uint32, _, sum []int64) ([]int64, error) {
	return sum, nil
}

// InitialState is empty.
func (*sum) InitialState() []byte { return []byte{} }

// Settle keeps nothing.
func (*sum) Settle(_ uint32, state, _ []byte) ([]byte, error) { return state, nil }

// unpaid is a ledger for plans that claim nothing.
type unpaid struct{}

// Charge implements party.Ledger.
func (unpaid) Charge(uint32, uint32) ([]byte, uint64, error) { return nil, 0, nil }

// Append implements party.Ledger.
func (unpaid) Append([]byte) error { return nil }
