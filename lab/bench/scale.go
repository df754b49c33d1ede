package bench

import (
	"context"
	"math"

	"choir/protocol"
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

	SecondsRound float64 `json:"seconds_round"`

	CPURound    float64 `json:"cpu_seconds_round"`
	CPUParty    float64 `json:"cpu_seconds_party"`        // of one party, in the round
	CPUNode     float64 `json:"cpu_seconds_contribution"` // of one node for one contribution
	UploadBytes int64   `json:"upload_bytes_per_party"`
	NodeBytes   int64   `json:"node_live_bytes"`

	Traffic []RoleTraffic `json:"traffic"`
}

// Fit is the slope of log cost over log X by least squares, over the upper half of
// the sweep: where constants no longer count. A sweep of one point has none.
type Fit struct {
	Over     string  `json:"over"`
	Of       string  `json:"of"`
	Exponent float64 `json:"exponent"`
}

// Sweep bounds a scaling run: the largest value in each sweep, 0 to leave it out. The cell's parties,
// coordinates, compute nodes, noise, pairs, driver and transport are not used.
type Sweep struct {
	MaxParties  int // from 16
	MaxDim      int // from 64
	MaxComputes int // from 2
	Cell        Config
}

// sweep is one of them: x takes the place of the cost that is 0.
type sweep struct {
	over, field string
	from, to    int
	factor      int
	n, d, m     int
}

func (s Sweep) sweeps() []sweep {
	return []sweep{
		{"parties", "max_parties", 16, s.MaxParties, 4, 0, 1000, 3},
		{"dim", "max_dim", 64, s.MaxDim, 8, 32, 0, 3},
		{"compute_nodes", "max_compute_nodes", 2, s.MaxComputes, 2, 64, 10000, 0},
	}
}

// cell is the configuration of a point.
func (s sweep) cell(c Config, x int) Config {
	c.Driver, c.Transport, c.Sigma, c.Pairs = DriverStream, Memory, 0, PairsNo
	c.Parties, c.Dim, c.Computes = s.n, s.d, s.m
	for _, v := range []*int{&c.Parties, &c.Dim, &c.Computes} {
		if *v == 0 {
			*v = x
		}
	}
	return c
}

// validate refuses bounds that no point or not all points keep within, before the first is measured.
func (s Sweep) validate() error {
	points := 0
	for _, w := range s.sweeps() {
		if w.to == 0 {
			continue
		}
		if w.to < w.from {
			return protocol.Fail(protocol.ClassInput, "%s: the sweep begins at %d; 0 leaves it out, %d is less",
				w.field, w.from, w.to)
		}
		for x := w.from; x <= w.to; x *= w.factor {
			if err := w.cell(s.Cell, x).validate(); err != nil {
				return protocol.Fail(protocol.ClassInput, "%s: the sweep comes to %d: %w", w.field, x, err)
			}
			points++
		}
	}
	if points == 0 {
		return protocol.Fail(protocol.ClassInput,
			"max_parties, max_dim, max_compute_nodes: all sweeps are left out")
	}
	return nil
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
	out := &Scale{Header: newHeader(), Points: []ScalePoint{}, Fits: []Fit{}}
	if err := s.validate(); err != nil {
		return out, err
	}
	for _, w := range s.sweeps() {
		for x := w.from; x <= w.to; x *= w.factor {
			r, err := Run(ctx, w.cell(s.Cell, x))
			if err != nil {
				return out, err
			}
			p := newScalePoint(w.over, x, r)
			out.Points = append(out.Points, p)
			if done != nil {
				done(p)
			}
		}
		for _, c := range sweepCosts {
			if e, ok := exponent(out.Points, w.over, c.of); ok {
				out.Fits = append(out.Fits, Fit{w.over, c.name, e})
			}
		}
	}
	return out, nil
}

func newScalePoint(over string, x int, r *Result) ScalePoint {
	p := ScalePoint{Over: over, X: x, Parties: r.Parties, Dim: r.Dim, Compute: r.Computes,
		SecondsRound: r.SecondsRound, CPURound: r.CPURound, Traffic: r.Traffic,
		UploadBytes: r.UploadBytesPerParty, NodeBytes: r.NodeLiveBytes}
	for _, phase := range []string{"encode", "share"} {
		p.CPUParty += r.Phase("party", phase).CPUSeconds / float64(r.Parties)
	}
	for _, phase := range []string{"verify", "open", "add", "receipts"} {
		p.CPUNode += r.Phase("compute", phase).CPUSeconds / float64(r.Parties*r.Computes)
	}
	return p
}

// exponent fits the last points of a sweep, at least three if there are three; ok is false for fewer than
// two.
func exponent(points []ScalePoint, over string, of func(ScalePoint) float64) (e float64, ok bool) {
	var x, y []float64
	for _, p := range points {
		if p.Over == over && of(p) > 0 {
			x, y = append(x, math.Log(float64(p.X))), append(y, math.Log(of(p)))
		}
	}
	if len(x) < 2 {
		return 0, false
	}
	from := len(x) - max(min(3, len(x)), (len(x)+1)/2)
	return slope(x[from:], y[from:]), true
}

// slope is that of the least-squares line.
func slope(x, y []float64) float64 {
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
