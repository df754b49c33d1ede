package run

import (
	"context"
	"fmt"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"testing"

	"choir/protocol"
	"choir/session/terms"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// TestRowSum: the sum of rows on the grid is exact integer arithmetic on the
// rounded values, for any number of nodes and rows, in memory and over NATS.
func TestRowSum(t *testing.T) {
	rng := mathrand.New(mathrand.NewPCG(5, 6))
	for _, c := range []struct {
		rows, cols, computes, bits int
		memory                     bool
	}{{2, 3, 2, -1, true}, {2, 1, 3, 0, true}, {40, 7, 10, 20, true}, {3, 2, 3, 52, true}, {5, 4, 2, -1,
		false}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			r := &RowSum{Rows: c.rows, Cols: c.cols, Computes: c.computes, FracBits: c.bits}
			if !c.memory {
				r.Network = overServer
			}
			for range c.rows * c.cols {
				r.Data = append(r.Data, (rng.Float64()-0.5)*math.Exp(6*rng.Float64()))
			}
			got, err := r.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for j := range c.cols {
				want := new(big.Int)
				for i := range c.rows {
					want.Add(want, rounded(r.Data[i*c.cols+j], got.FracBits))
				}
				if want.Cmp(big.NewInt(got.Units[j])) != 0 {
					t.Errorf("column %d: %d, want %s", j, got.Units[j], want)
				}
			}
		})
	}
}

// rounded is v in units of 2^-bits, to the nearest integer, ties to even, by
// rational arithmetic.
func rounded(v float64, bits uint8) *big.Int {
	scaled := new(big.Rat).SetFloat64(v)
	scaled.Mul(scaled, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(bits))))
	twice := new(big.Int).Div(new(big.Int).Add(new(big.Int).Lsh(scaled.Num(), 1), scaled.Denom()),
		new(big.Int).Lsh(scaled.Denom(), 1)) // floor(v + 1/2)
	exactHalf := new(big.Rat).Sub(new(big.Rat).SetInt(twice), scaled).Cmp(big.NewRat(1, 2)) == 0
	if exactHalf && twice.Bit(0) == 1 {
		twice.Sub(twice, big.NewInt(1))
	}
	return twice
}

// TestRowSumRefuses: everything that a sum could get wrong is refused, naming
// the setting.
func TestRowSumRefuses(t *testing.T) {
	good := func() *RowSum {
		return &RowSum{Rows: 2, Cols: 2, Data: []float64{1, 2, 3, 4}, Computes: 2, FracBits: -1}
	}
	for name, spoil := range map[string]func(*RowSum){
		"computes":          func(r *RowSum) { r.Computes = 1 },
		"shape":             func(r *RowSum) { r.Rows = 3 },
		"no rows":           func(r *RowSum) { r.Rows, r.Data = 0, nil },
		"NaN":               func(r *RowSum) { r.Data[1] = math.NaN() },
		"infinity":          func(r *RowSum) { r.Data[3] = math.Inf(-1) },
		"too large":         func(r *RowSum) { r.Data[2] = 1e19 },
		"too large a norm":  func(r *RowSum) { r.Data[2], r.Data[3] = 2e18, 2e18 },
		"on its grid":       func(r *RowSum) { r.FracBits, r.Data[0] = 52, 1000 },
		"frac bits":         func(r *RowSum) { r.FracBits = 53 },
		"negative sigma":    func(r *RowSum) { r.Sigma = -1 },
		"sigma of infinity": func(r *RowSum) { r.Sigma = math.Inf(1) },
		"sigma for two":     func(r *RowSum) { r.Rows, r.Data, r.Sigma = 1, r.Data[:2], 1 },
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			spoil(r)
			if _, err := r.Run(t.Context()); protocol.ClassOf(err) != protocol.ClassInput {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := good().Run(t.Context()); err != nil {
		t.Errorf("the unspoilt one: %v", err)
	}
}

// TestRowGridHidesValues: with noise the grid depends on sigma alone.
func TestRowGridHidesValues(t *testing.T) {
	for _, v := range []float64{0, 1e-9, 1e3, 1e6} {
		r := &RowSum{Rows: 1, Cols: 1, Data: []float64{v}, FracBits: -1, Sigma: 2}
		if got := r.grid(); got != terms.GridFor(2) {
			t.Errorf("value %g: grid 2^-%d", v, got)
		}
	}
}

// overServer is a Network of an embedded NATS server.
func overServer(ctx context.Context, s protocol.BoundPlan) (Connect, func(), error) {
	server, err := embedded.Start(embedded.Config{})
	if err != nil {
		return nil, nil, err
	}
	return OverNATS(ctx, s, natsbus.Config{Server: server, Storage: natsbus.Memory}), server.Shutdown, nil
}
