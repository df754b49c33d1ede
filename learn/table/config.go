package table

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"choir/learn/dataset"
	"choir/learn/internal/absent"
	"choir/learn/pvi"
)

// Limits of a configuration.
const (
	maxDim     = 1 << 16
	maxBins    = 1024
	maxRecords = 1 << 22 // of one party
	maxTables  = 4096
)

// ErrConfig is in the chain of every error about a bad configuration.
var ErrConfig = errors.New("bad configuration of a table")

// Config lists the tables. Columns are those of the schema, its target among them.
type Config struct {
	Counts     []string    `json:"counts,omitempty"`     // columns of categories, or of zeros and ones
	Means      []string    `json:"means,omitempty"`      // columns of numbers: mean and standard deviation
	Histograms []Bins      `json:"histograms,omitempty"` // with quantiles
	Crosstabs  [][2]string `json:"crosstabs,omitempty"`  // pairs of columns as in Counts
	// By is a column as in Counts: Counts, Means and Histograms are computed in each of its
	// groups.
	By         string `json:"by,omitempty"`
	FracBits   uint8  `json:"frac_bits"`
	MaxRecords int64  `json:"max_records"` // of one party; more are rejected
}

// Bins are equal parts of a column's public range.
type Bins struct {
	Column string `json:"column"`
	Bins   int    `json:"bins"`
	// QuantilesOnly leaves the bins out of the figures.
	QuantilesOnly bool `json:"quantiles_only,omitempty"`
}

// DefaultBins is the number of bins that quantiles have unless a histogram names another.
const DefaultBins = 32

// item is one table: a block of coordinates.
type item struct {
	kind   string // total, count, moments, histogram or crosstab
	name   string
	group  *axis // nil: all records
	axes   []*axis
	number *number // of moments
	at     int     // first coordinate
	size   int     // coordinates of one group
	hidden bool    // of a histogram: only its quantiles are shown
}

// axis assigns records to one of its levels, or to none.
type axis struct {
	name   string
	levels []string
	bounds []float64 // of a histogram's bins, len(levels) + 1
	level  func(x []float64, y float64) int
}

// number is a column of numbers.
type number struct {
	r     *dataset.Range
	value func(x []float64, y float64) float64 // encoded
}

// Layout is a configuration over a schema.
type Layout struct {
	cfg    Config
	schema *dataset.Schema
	dim    int
	items  []item
}

// New lays out the tables. Errors name the column.
func New(cfg Config, schema *dataset.Schema) (*Layout, error) {
	l := &Layout{cfg: cfg, schema: schema}
	switch n := len(cfg.Counts) + len(cfg.Means) + len(cfg.Histograms) + len(cfg.Crosstabs); {
	case n == 0 || n > maxTables:
		return nil, fmt.Errorf("%w: %d tables, want 1 to %d", ErrConfig, n, maxTables)
	case cfg.FracBits < 8 || cfg.FracBits > 30:
		return nil, fmt.Errorf("%w: frac_bits is %d, want 8 to 30", ErrConfig, cfg.FracBits)
	case cfg.MaxRecords < 1 || cfg.MaxRecords > maxRecords:
		return nil, fmt.Errorf("%w: max_records is %d, want 1 to %d", ErrConfig, cfg.MaxRecords, maxRecords)
	case schema.Missing == dataset.Zero && len(cfg.Means)+len(cfg.Histograms) > 0:
		return nil,
			fmt.Errorf("%w: the schema's missing is zero, which would count a missing number as the centre "+
				"of its range; with means and histograms it must be drop or refuse", ErrConfig)
	}
	l.add(item{kind: "total", name: "records", size: 1})
	group, err := l.by()
	if err != nil {
		return nil, err
	}
	if err := l.grouped(group); err != nil {
		return nil, err
	}
	for _, pair := range cfg.Crosstabs {
		a, err := l.axis(pair[0])
		if err != nil {
			return nil, err
		}
		b, err := l.axis(pair[1])
		if err != nil {
			return nil, err
		}
		l.add(item{kind: "crosstab", name: pair[0] + " x " + pair[1], axes: []*axis{a, b},
			size: len(a.levels) * len(b.levels)})
	}
	if l.dim > maxDim {
		return nil, fmt.Errorf("%w: %d cells, at most %d", ErrConfig, l.dim, maxDim)
	}
	return l, nil
}

// by adds the sizes of the groups.
func (l *Layout) by() (*axis, error) {
	if l.cfg.By == "" {
		return nil, nil
	}
	a, err := l.axis(l.cfg.By)
	if err != nil {
		return nil, err
	}
	l.add(item{kind: "count", name: l.cfg.By, axes: []*axis{a}, size: len(a.levels)})
	return a, nil
}

// grouped adds the tables of every group.
func (l *Layout) grouped(group *axis) error {
	for _, name := range l.cfg.Counts {
		a, err := l.axis(name)
		if err != nil {
			return err
		}
		if group == nil || name != group.name {
			l.add(item{kind: "count", name: name, group: group, axes: []*axis{a}, size: len(a.levels)})
		}
	}
	for _, name := range l.cfg.Means {
		n, err := l.number(name)
		if err != nil {
			return err
		}
		l.add(item{kind: "moments", name: name, group: group, number: n, size: 2})
	}
	for _, h := range l.cfg.Histograms {
		n, err := l.number(h.Column)
		if err != nil {
			return err
		}
		if h.Bins < 2 || h.Bins > maxBins {
			return fmt.Errorf("%w: histogram of %q has %d bins, want 2 to %d", ErrConfig, h.Column, h.Bins, maxBins)
		}
		l.add(item{kind: "histogram", name: h.Column, group: group, axes: []*axis{n.bins(h.Column, h.Bins)},
			size: h.Bins, hidden: h.QuantilesOnly})
	}
	return nil
}

func (l *Layout) add(i item) {
	i.at = l.dim
	l.dim += i.cells()
	l.items = append(l.items, i)
}

// cells is the number of an item's coordinates.
func (i *item) cells() int {
	if i.group == nil {
		return i.size
	}
	return i.size * len(i.group.levels)
}

// column finds a source column, and where its encoding begins; -1 is the target.
func (l *Layout) column(name string) (dataset.Column, int, error) {
	if l.schema.Target.Name == name {
		return l.schema.Target, -1, nil
	}
	at := 0
	for _, c := range l.schema.Columns {
		if c.Name == name {
			return c, at, nil
		}
		at += max(1, len(c.Categories))
	}
	return dataset.Column{}, 0, fmt.Errorf("%w: column %q is not in the schema", ErrConfig, name)
}

func (l *Layout) axis(name string) (*axis, error) {
	c, at, err := l.column(name)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Numeric == nil && at < 0:
		return &axis{name: name, levels: c.Categories, level: func(_ []float64, y float64) int {
			return min(max(0, int(y)), len(c.Categories)-1)
		}}, nil
	case c.Numeric == nil:
		return &axis{name: name, levels: c.Categories, level: func(x []float64, _ float64) int {
			return slices.Index(x[at:at+len(c.Categories)], 1)
		}}, nil
	case c.Numeric.Lo == 0 && c.Numeric.Hi == 1:
		n, err := l.number(name)
		if err != nil {
			return nil, err
		}
		a := n.bins(name, 2)
		a.levels = []string{"0", "1"}
		bin := a.level
		a.level = func(x []float64, y float64) int {
			if absent.Is(n.value(x, y)) {
				return -1
			}
			return bin(x, y)
		}
		return a, nil
	}
	return nil, fmt.Errorf("%w: column %q is a number: it has a mean and a histogram, but no counts", ErrConfig,
		name)
}

func (l *Layout) number(name string) (*number, error) {
	c, at, err := l.column(name)
	if err != nil {
		return nil, err
	}
	if c.Numeric == nil {
		return nil, fmt.Errorf("%w: column %q has categories: it has counts, but no mean or histogram", ErrConfig,
			name)
	}
	n := &number{r: c.Numeric, value: func(x []float64, y float64) float64 {
		if at < 0 {
			return y
		}
		return x[at]
	}}
	return n, nil
}

// unit maps an encoded value to [-1, 1] of the range.
func (n *number) unit(x []float64, y float64) float64 {
	v := n.value(x, y)*n.r.Scale + n.r.Center
	return (v - n.r.Lo - (n.r.Hi-n.r.Lo)/2) / ((n.r.Hi - n.r.Lo) / 2)
}

func (n *number) bins(name string, count int) *axis {
	a := &axis{name: name, level: func(x []float64, y float64) int {
		return min(max(0, int(math.Floor((n.unit(x, y)+1)/2*float64(count)))), count-1)
	}}
	for b := range count + 1 {
		a.bounds = append(a.bounds, n.r.Lo+(n.r.Hi-n.r.Lo)*float64(b)/float64(count))
	}
	for b := range count {
		a.levels = append(a.levels, fmt.Sprintf("%.4g to %.4g", a.bounds[b], a.bounds[b+1]))
	}
	return a
}

// Dim is the number of coordinates of a record's vector.
func (l *Layout) Dim() int { return l.dim }

// bounds are the L2 norm of one record's vector and the distance of two, rounded up, in
// units of 2^-f, with one = 2^f. A record has at most one entry, one, in each of a tables
// that count, one in the total, and in each of b tables of moments a pair
// (k, floor(k^2/one)) with |k| <= one. Its norm is at most one sqrt(a + 1 + 2 b).
//
// Two records differ by at most sqrt(2) one in a table that counts, by nothing in the total,
// and by at most 2 one + 1 in a table of moments: the distance of (k, k^2/one) and
// (m, m^2/one) is |k - m| sqrt(1 + (k + m)^2/one^2), at most 2 one, since with s = |k + m|
// and |k - m| <= 2 one - s its square is at most (2 - t)^2 (1 + t^2) one^2 for t = s/one in
// [0, 2], which is at most 4 one^2; rounding down moves one coordinate by less than 1. In
// different groups the pairs are orthogonal, and the distance is at most 2 one. A record
// that is left out has the vector 0, at a distance of at most the norm, which is no more
// than the bound.
func (l *Layout) bounds() (norm, distance uint64) {
	counting, moments := int64(0), int64(0)
	for _, i := range l.items {
		switch i.kind {
		case "total":
		case "moments":
			moments++
		default:
			counting++
		}
	}
	one := new(big.Int).Lsh(big.NewInt(1), uint(l.cfg.FracBits))
	square := new(big.Int).Mul(one, one)
	n := new(big.Int).Mul(square, big.NewInt(counting+1+2*moments))
	pair := new(big.Int).Add(new(big.Int).Lsh(one, 1), big.NewInt(1))
	d := new(big.Int).Mul(square, big.NewInt(2*counting))
	d.Add(d, new(big.Int).Mul(new(big.Int).Mul(pair, pair), big.NewInt(moments)))
	return rootUp(n), max(rootUp(n), rootUp(d))
}

// rootUp is the square root, rounded up.
func rootUp(n *big.Int) uint64 {
	r := new(big.Int).Sqrt(n)
	if new(big.Int).Mul(r, r).Cmp(n) < 0 {
		r.Add(r, big.NewInt(1))
	}
	return r.Uint64()
}

// Mechanism describes the release.
func (l *Layout) Mechanism() pvi.Mechanism {
	norm, distance := l.bounds()
	return pvi.Mechanism{Clip: norm, Sensitivity: distance, Dim: l.dim, Steps: 1,
		PerParty: norm * uint64(l.cfg.MaxRecords)}
}
