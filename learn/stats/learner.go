package stats

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/internal/absent"
	"choir/learn/internal/secret"
	"choir/learn/pvi"
)

// Learner is one party. It keeps no private state.
type Learner struct {
	secret.Hidden

	cfg   Config
	data  bayes.Data
	noise float64

	mu    sync.Mutex
	of    []int64 // the state that the frame is of, up to the sums of residuals
	known frame
}

// Proposal is a party's update in a round.
type Proposal struct {
	secret.Hidden

	// Update is the sum over the party's records, in units of 2^-2f, length Dim, to which
	// noise is added.
	Update []int64
	// ClippedFraction is the share of records that were clipped or scaled down. Only the
	// party may see it.
	ClippedFraction float64
}

// NewLearner returns a party. noise is the variance of all parties' noise on one sum, in
// its unit squared; it is public, and 0 without noise. The data is kept, not copied, and
// never modified. Errors: ErrConfig, bayes.ErrData.
func NewLearner(cfg Config, data bayes.Data, noise float64) (*Learner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if int64(data.Rows()) > cfg.MaxRecords {
		return nil, fmt.Errorf("%w: %d records, the plan allows one party %d", bayes.ErrData, data.Rows(),
			cfg.MaxRecords)
	}
	return &Learner{cfg: cfg, data: data, noise: noise}, cfg.check(data)
}

// check returns an error that names the first unusable record, or nil.
func (c Config) check(d bayes.Data) error {
	of := bayes.Likelihood{Model: bayes.Linear, Family: gauss.Full, Features: c.Features}
	if err := of.Check(d); err != nil {
		return err
	}
	for i := range d.Rows() {
		if x := d.X[(i+1)*c.Features-1]; x != 1 {
			return fmt.Errorf("%w: row %d, the bias is %v, want 1", bayes.ErrData, i, x)
		}
	}
	return nil
}

// Propose sums the party's records for a round, given the public state. The same
// arguments give the same proposal. Errors: ErrRound, ErrShape, the context's.
func (l *Learner) Propose(ctx context.Context, round int, raw []int64) (Proposal, error) {
	if round < 1 || round > pvi.MaxRounds {
		return Proposal{}, fmt.Errorf("propose: round %d: %w", round, ErrRound)
	}
	s, err := l.cfg.open(raw)
	if err != nil {
		return Proposal{}, fmt.Errorf("propose: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return Proposal{}, err
	}
	p := Proposal{Update: make([]int64, l.cfg.Dim())}
	clipped := 0
	if round <= l.cfg.MomentRounds {
		clipped = l.moments(p.Update, l.cfg.scales(s, l.noise))
	} else {
		f := frame{scales: l.cfg.scales(s, l.noise)}
		if l.cfg.residualRound(round) {
			if f, err = l.frame(s, raw); err != nil {
				return Proposal{}, fmt.Errorf("propose: %w", err)
			}
		}
		clipped = l.products(p.Update, f)
	}
	if n := l.data.Rows(); n > 0 {
		p.ClippedFraction = float64(clipped) / float64(n)
	}
	return p, nil
}

// frame is that of a state. It is the same in all rounds of residuals, and takes long for many columns.
func (l *Learner) frame(s state, raw []int64) (frame, error) {
	of := raw[:len(raw)-1-len(s.residual.products)]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of != nil && slices.Equal(l.of, of) {
		return l.known, nil
	}
	f, err := l.cfg.frame(s, l.noise)
	if err == nil {
		l.of, l.known = slices.Clone(of), f
	}
	return f, err
}

// value is column j of a row.
func (l *Learner) value(row, j int) float64 {
	if j == l.cfg.Features {
		return l.data.Y[row]
	}
	return l.data.X[row*l.cfg.Features+j]
}

// moments adds U v / 2 and v^2 of every column to dst, times the scale. A missing number is where the rounds
// before have its column's centre.
func (l *Learner) moments(dst []int64, before []scale) (clipped int) {
	const top = 1 << momentBits
	by := l.cfg.momentScale()
	for row := range l.data.Rows() {
		cut := false
		for k := range l.cfg.moved() {
			j := l.cfg.column(k)
			x := l.value(row, j)
			if j < l.cfg.Features && absent.Is(x) {
				x = before[j].center
			}
			v := math.RoundToEven(x / l.cfg.bound(j) * top)
			if math.Abs(v) > top {
				v, cut = math.Copysign(top, v), true
			}
			dst[2*k] += by * int64(v) * (top / 2)
			dst[2*k+1] += by * int64(v) * int64(v)
		}
		if cut {
			clipped++
		}
	}
	return clipped
}

// products adds the weighted products of every record to dst.
func (l *Learner) products(dst []int64, f frame) (clipped int) {
	z, radius := make([]int64, l.cfg.columns()), l.cfg.radius()
	for row := range l.data.Rows() {
		cut := l.scaled(z, row, f)
		if fixedpoint.ClipInt(z, radius) || cut {
			clipped++
		}
		addProducts(dst, z)
	}
	return clipped
}

// addProducts adds a record's weighted products to dst.
func addProducts(dst, z []int64) {
	at := 0
	for i, a := range z {
		dst[at] += onDiagonal * a * a
		for k, b := range z[i+1:] {
			dst[at+1+k] += offDiagonal * a * b
		}
		at += len(z) - i
	}
}

// scaled writes the record in public units, clipped to the thresholds, onto the grid. A missing number is at
// its column's centre. A value far beyond every radius is clipped first, since it could overflow the grid.
func (l *Learner) scaled(z []int64, row int, f frame) (cut bool) {
	left := 0.0 // the line's value, which is taken off the target
	for j, s := range f.scales {
		limit := l.cfg.Threshold
		if j == l.cfg.Features {
			limit = l.cfg.TargetThreshold
		}
		if limit == 0 || j == l.cfg.Features-1 {
			limit = 0x1p30
		}
		v := 0.0
		if x := l.value(row, j); j == l.cfg.Features || !absent.Is(x) {
			v = (x - s.center) / s.unit
		}
		switch {
		case f.line == nil:
		case j < l.cfg.Features-1:
			left += f.line[j] * v
		case j == l.cfg.Features-1:
			left += f.line[j]
		default:
			v = (v - left) / f.length
		}
		if math.Abs(v) > limit {
			v, cut = math.Copysign(limit, v), true
		}
		z[j] = int64(math.RoundToEven(math.Ldexp(v, int(l.cfg.FracBits))))
	}
	return cut
}
