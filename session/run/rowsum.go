package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"time"

	"choir/crypto/fixedpoint"
	"choir/crypto/identity"
	"choir/host"
	"choir/party"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
	"choir/transport"
	"choir/transport/memory"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// RowSum is one secure sum over the rows of a matrix, a party a row: the
// plainest use of the suite, with all members in this process.
type RowSum struct {
	Rows, Cols int
	Data       []float64 // row-major
	Columns    []string  // names for messages; may be nil
	Computes   int
	FracBits   int     // resolution 2^-FracBits; -1: chosen
	Sigma      float64 // noise on the sum in the inputs' unit; 0: none
	InMemory   bool    // no broker
}

// Summed is what a RowSum gives.
type Summed struct {
	Plan     protocol.PlanID
	Units    []int64 // the sum in units of 2^-FracBits
	FracBits uint8
	Seconds  float64
}

// maxRowBits is the finest grid that is chosen unasked: a rounding error of
// 4.5e-13 a row.
const maxRowBits = 40

// Run sums the rows. Values that the grid can't carry are refused with
// protocol.ClassInput, naming row and column, both counted from 1.
func (r *RowSum) Run(ctx context.Context) (*Summed, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	bits := r.grid()
	rows, err := r.encode(bits)
	if err != nil {
		return nil, err
	}
	members, keys, err := r.roster()
	if err != nil {
		return nil, err
	}
	t := terms.Terms{Name: "sum", Members: members, Created: time.Now(), Lifetime: 24 * time.Hour, Deadline: time.Hour, Grace: 0}
	p, err := t.Sum(terms.SumTerms{Dim: r.Cols, FracBits: bits, PerParty: r.bound(), Sigma: r.Sigma})
	if err != nil {
		return nil, err
	}
	rep, err := r.session(ctx, p, keys, rows)
	if err != nil {
		return nil, err
	}
	return &Summed{Plan: p.ID(), Units: rep.Model, FracBits: bits, Seconds: rep.Seconds}, nil
}

func (r *RowSum) check() error {
	switch {
	case r.Rows < 1 || r.Cols < 1 || len(r.Data) != r.Rows*r.Cols:
		return protocol.Fail(protocol.ClassInput, "input: %d values aren't %d rows of %d columns", len(r.Data), r.Rows, r.Cols)
	case r.Computes < 2 || r.Computes > 1000:
		return protocol.Fail(protocol.ClassInput, "computes: %d isn't in 2..1000; one node alone would see every row", r.Computes)
	case r.FracBits < -1 || r.FracBits > fixedpoint.MaxFracBits:
		return protocol.Fail(protocol.ClassInput, "frac_bits: %d isn't in 0..%d", r.FracBits, fixedpoint.MaxFracBits)
	case !(r.Sigma >= 0) || math.IsInf(r.Sigma, 0):
		return protocol.Fail(protocol.ClassInput, "sigma: %v isn't a standard deviation", r.Sigma)
	}
	for i, v := range r.Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return protocol.Fail(protocol.ClassInput, "input: %s isn't a finite number", r.cell(i/r.Cols, i%r.Cols))
		}
	}
	return nil
}

// bound is the largest L2 norm of a row, in grid units, that leaves half of the
// field's range to the noise.
func (r *RowSum) bound() uint64 { return 1 << 62 / uint64(r.Rows) }

// grid chooses a resolution: with noise, a millionth of sigma, which depends on
// no value; without, as fine as the rows' own size allows, up to maxRowBits.
func (r *RowSum) grid() uint8 {
	switch {
	case r.FracBits >= 0:
		return uint8(r.FracBits)
	case r.Sigma > 0:
		return terms.GridFor(r.Sigma)
	}
	largest := 0.0
	for i := range r.Rows {
		largest = math.Max(largest, r.norm(i))
	}
	bits := maxRowBits
	for bits > 0 && math.Ldexp(largest, bits) > float64(r.bound())/2 {
		bits--
	}
	return uint8(bits)
}

func (r *RowSum) row(i int) []float64 { return r.Data[i*r.Cols : (i+1)*r.Cols] }

// norm never overflows: it is relative to the largest value.
func (r *RowSum) norm(i int) float64 {
	_, top := r.largest(i)
	if top == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range r.row(i) {
		sum += (v / top) * (v / top)
	}
	return top * math.Sqrt(sum)
}

// largest is the column with the largest magnitude of a row.
func (r *RowSum) largest(i int) (column int, top float64) {
	for j, v := range r.row(i) {
		if math.Abs(v) > top {
			column, top = j, math.Abs(v)
		}
	}
	return column, top
}

// encode brings the rows onto the grid.
func (r *RowSum) encode(bits uint8) ([][]int64, error) {
	g := fixedpoint.Grid{FracBits: bits}
	rows := make([][]int64, r.Rows)
	for i := range rows {
		rows[i] = make([]int64, r.Cols)
		if err := g.Round(rows[i], r.row(i)); err != nil || !fixedpoint.NormSquaredAtMost(rows[i], r.bound()) {
			j, _ := r.largest(i)
			return nil, protocol.Fail(protocol.ClassInput, "input: %s is too large: on the grid 2^-%d a row may reach about %.3g, or the sum of all (%d) could overflow",
				r.cell(i, j), bits, math.Ldexp(float64(r.bound()), -int(bits)), r.Rows)
		}
	}
	return rows, nil
}

func (r *RowSum) cell(i, j int) string {
	if j < len(r.Columns) {
		return fmt.Sprintf("row %d, column %s", i+1, r.Columns[j])
	}
	return fmt.Sprintf("row %d, column %d", i+1, j+1)
}

func (r *RowSum) roster() (members []protocol.Member, keys []*identity.PrivateKey, err error) {
	add := func(name string, role protocol.Role) {
		var k *identity.PrivateKey
		if err != nil {
			return
		}
		if k, err = identity.Generate(rand.Reader); err == nil {
			keys = append(keys, k)
			members = append(members, terms.NewMember(name, role, k.Public()))
		}
	}
	for i := range r.Rows {
		add(fmt.Sprintf("row-%07d", i+1), protocol.RoleParty)
	}
	for i := range r.Computes {
		add(fmt.Sprintf("compute-%04d", i+1), protocol.RoleCompute)
	}
	add("aggregator", protocol.RoleAggregator)
	return members, keys, err
}

// session runs the plan. The members' keys are in roster order already: names
// sort by number. Nothing needs to survive this process, so stores forget.
func (r *RowSum) session(ctx context.Context, p *protocol.Plan, keys []*identity.PrivateKey, rows [][]int64) (*Report, error) {
	s, sum := protocol.Bind(p), app.Sum{Dim: r.Cols}
	connect, shutdown, err := r.network(ctx, s)
	if err != nil {
		return nil, err
	}
	defer shutdown()
	l := &Local{Session: s, Keys: keys, Connect: connect, Model: sum,
		Store:    func(uint32) (host.Store, error) { return host.NewRam(), nil },
		App:      func(uint32) protocol.Application { return sum },
		Proposer: func(i uint32) protocol.Proposer { return app.Fixed(rows[i]) },
		Ledger:   func(uint32) party.Ledger { return NewLedger(s, new(ledger.Ledger), nil) },
	}
	return l.Run(ctx)
}

func (r *RowSum) network(ctx context.Context, s protocol.BoundPlan) (func(uint32) (transport.Bus, error), func(), error) {
	if r.InMemory {
		hub := memory.NewHub()
		return func(i uint32) (transport.Bus, error) { return hub.Connect(s.Name(i)), nil }, func() {}, nil
	}
	server, err := embedded.Start(embedded.Config{})
	if err != nil {
		return nil, nil, fmt.Errorf("embedded server: %w", err)
	}
	return func(i uint32) (transport.Bus, error) {
		bus, err := natsbus.Open(ctx, natsbus.Config{Server: server, Plan: s.ID.Short(), Name: s.Name(i), Storage: natsbus.Memory})
		if err != nil {
			return nil, err
		}
		if i > 0 { // one creates the stream for all
			return bus, nil
		}
		if err := bus.EnsureStream(ctx); err != nil {
			bus.Close()
			return nil, err
		}
		return bus, nil
	}, server.Shutdown, nil
}
