package bench

import (
	"context"
	"math"
)

// Scale is cost against N, d and M, one at a time, with exponents.
type Scale struct {
	Header
	Points []ScalePoint `json:"points"`
	Fits   []Fit        `json:"fits"`
}

// ScalePoint is one cell of a sweep.
type ScalePoint struct {
	Over    string `json:"over"` // "parties", "dim" or "compute_nodes"
	X       int    `json:"x"`
	Parties int    `json:"parties"`
	Dim     int    `json:"dim"`
	Compute int    `json:"compute_nodes"`

	CPURound    float64 `json:"cpu_seconds_round"`
	CPUParty    float64 `json:"cpu_seconds_party"`        // of one party, in the round
	CPUNode     float64 `json:"cpu_seconds_contribution"` // of one node for one contribution
	UploadBytes int64   `json:"upload_bytes_per_party"`
	NodeBytes   int64   `json:"node_live_bytes"`
}

// Fit is the slope of log cost over log X by least squares, over the upper half of
// the sweep: where constants no longer count.
type Fit struct {
	Over     string  `json:"over"`
	Of       string  `json:"of"`
	Exponent float64 `json:"exponent"`
}

// Sweep bounds a scaling run.
type Sweep struct {
	MaxParties  int // 0: 4096
	MaxDim      int // 0: 2^18
	MaxComputes int // 0: 20
	Cell        Config
}

// sweepCosts are the figures that are fitted.
var sweepCosts = []struct {
	name string
	of   func(ScalePoint) float64
}{
	{"cpu_seconds_round", func(p ScalePoint) float64 { return p.CPURound }},
	{"cpu_seconds_party", func(p ScalePoint) float64 { return p.CPUParty }},
	{"cpu_seconds_contribution", func(p ScalePoint) float64 { return p.CPUNode }},
	{"upload_bytes_per_party", func(p ScalePoint) float64 { return float64(p.UploadBytes) }},
	{"node_live_bytes", func(p ScalePoint) float64 { return float64(p.NodeBytes) }},
}

// RunScale measures the sweeps with the stream driver and without noise. It calls done, if
// not nil, after each point. With an error it returns the points before it.
func RunScale(ctx context.Context, s Sweep, done func(ScalePoint)) (*Scale, error) {
	out := &Scale{Header: newHeader()}
	orElse := func(v, otherwise int) int {
		if v == 0 {
			return otherwise
		}
		return v
	}
	for _, sweep := range []struct {
		over     string
		from, to int
		factor   float64
		n, d, m  int
	}{
		{"parties", 16, orElse(s.MaxParties, 4096), 4, 0, 1000, 3},
		{"dim", 64, orElse(s.MaxDim, 1<<18), 8, 32, 0, 3},
		{"compute_nodes", 2, orElse(s.MaxComputes, 20), 2, 64, 10000, 0},
	} {
		for x := sweep.from; x <= sweep.to; x = int(float64(x) * sweep.factor) {
			cell := s.Cell
			cell.Driver = DriverStream
			cell.Transport = Memory
			cell.Sigma = 0
			cell.Pairs = PairsNo
			cell.Parties = orElse(sweep.n, x)
			cell.Dim = orElse(sweep.d, x)
			cell.Computes = orElse(sweep.m, x)
			r, err := Run(ctx, cell)
			if err != nil {
				return out, err
			}
			p := newScalePoint(sweep.over, x, r)
			out.Points = append(out.Points, p)
			if done != nil {
				done(p)
			}
		}
		for _, c := range sweepCosts {
			out.Fits = append(out.Fits, Fit{sweep.over, c.name, exponent(out.Points, sweep.over, c.of)})
		}
	}
	return out, nil
}

func newScalePoint(over string, x int, r *Result) ScalePoint {
	p := ScalePoint{Over: over, X: x, Parties: r.Parties, Dim: r.Dim, Compute: r.Computes,
		CPURound:    r.CPURound,
		UploadBytes: r.UploadBytesPerParty, NodeBytes: r.NodeLiveBytes}
	for _, phase := range []string{"encode", "share"} {
		p.CPUParty += r.Phase("party", phase).CPUSeconds / float64(r.Parties)
	}
	for _, phase := range []string{"verify", "open", "add", "receipts"} {
		p.CPUNode += r.Phase("compute", phase).CPUSeconds / float64(r.Parties*r.Computes)
	}
	return p
}

// exponent fits the last points of a sweep, at least three if there are three.
func exponent(points []ScalePoint, over string, of func(ScalePoint) float64) float64 {
	var x, y []float64
	for _, p := range points {
		if p.Over == over && of(p) > 0 {
			x, y = append(x, math.Log(float64(p.X))), append(y, math.Log(of(p)))
		}
	}
	from := len(x) - max(min(3, len(x)), (len(x)+1)/2)
	return slope(x[from:], y[from:])
}

// slope is that of the least-squares line; 0 for fewer than two points.
func slope(x, y []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	mx, my := mean(x), mean(y)
	xy, xx := 0.0, 0.0
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	return xy / xx
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
