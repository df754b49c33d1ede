package stats

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"choir/crypto/fixedpoint"
	"choir/learn/pvi"
)

// Limits of a configuration.
const (
	maxFeatures = 1 << 10
	maxRecords  = 1 << 22 // of one party
	maxRadius   = 64
)

// ErrConfig is in the chain of every error about a bad configuration.
var ErrConfig = errors.New("bad configuration of sufficient statistics")

// Config is everything public that determines a run, other than the data and the noise. All
// members have the same one, as part of the signed plan.
type Config struct {
	Features int `json:"features"` // columns of a record, the bias, always 1, last

	// PriorPrecision is the prior precision of every weight around 0, with the target and
	// the features (not the bias) in units of the lengths that they are expected to have; see Prior.
	PriorPrecision float64 `json:"prior_precision"`
	// NoiseSD is the standard deviation of an observation in the target's own unit; 0
	// estimates it from the noisy statistics.
	NoiseSD float64 `json:"noise_sd"`

	// Bound and TargetBound are public bounds of |x|, for every feature, and of |y|: moment
	// rounds clip to them, and without moment rounds they are the units of all values.
	Bound       float64 `json:"bound"`
	TargetBound float64 `json:"target_bound"`
	// Bounds, if not empty, has one bound for each feature without the bias, instead of
	// Bound: a wide column then does not coarsen the others' moments.
	Bounds []float64 `json:"bounds,omitempty"`
	// Levels has, for each category, its first column and the one after its last: of every record exactly one
	// of them is 1, and the others are 0. Some records may have zeros alone.
	Levels [][2]int `json:"levels,omitempty"`

	// MomentRounds is the number of rounds, from the first, that compute means and standard
	// deviations; with 0 the bounds are used.
	MomentRounds int `json:"moment_rounds"`
	// ResidualFrom is the first of the last rounds, whose statistics have residuals in the place of targets;
	// see Config.frame. 0: none have.
	ResidualFrom int `json:"residual_from,omitempty"`
	// Radius is R, the largest scaled norm of a record, including its bias of 1: in units
	// of the bounds, or with moment rounds of standard deviations.
	Radius float64 `json:"radius"`
	// TargetWeight is the scaled length of a target in those of a column, 0 is 1. Products of two columns are
	// multiplied by weights and those with the target are not, so that noise on the former costs more.
	TargetWeight float64 `json:"target_weight,omitempty"`
	// Threshold and TargetThreshold clip single scaled features and targets, as the
	// projection of [DCA] does; 0 does not.
	Threshold       float64 `json:"threshold"`
	TargetThreshold float64 `json:"target_threshold"`

	FracBits   uint8 `json:"frac_bits"`   // f: scaled values are multiples of 2^-f, products of 2^-2f
	Records    int64 `json:"records"`     // declared number of all parties' records, for means
	MaxRecords int64 `json:"max_records"` // most records of one party; more are rejected
}

// Validate returns an error that names every field that is out of range or contradicts
// another, or nil.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, field string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s is %v, want %s", ErrConfig, field, value, want))
		}
	}
	sane := func(v float64) bool { return v >= 0x1p-20 && v <= 0x1p20 }
	const range20 = "2^-20 to 2^20"
	check(c.Features >= 1 && c.Features <= maxFeatures, "features", c.Features,
		fmt.Sprintf("1 to %d", maxFeatures))
	check(sane(c.PriorPrecision), "prior_precision", c.PriorPrecision, range20)
	check(c.NoiseSD == 0 || sane(c.NoiseSD), "noise_sd", c.NoiseSD, "0 or "+range20)
	check(sane(c.Bound), "bound", c.Bound, range20)
	check(sane(c.TargetBound), "target_bound", c.TargetBound, range20)
	check(len(c.Bounds) == 0 || len(c.Bounds) == c.Features-1, "bounds", len(c.Bounds),
		fmt.Sprintf("none, or %d numbers", c.Features-1))
	for i, b := range c.Bounds {
		check(sane(b), fmt.Sprintf("bounds[%d]", i), b, range20)
	}
	from := 0
	for i, l := range c.Levels {
		check(l[0] >= from && l[1] > l[0] && l[1] < c.Features, fmt.Sprintf("levels[%d]", i), l,
			fmt.Sprintf("columns from %d to %d, the bias is none", from, c.Features-1))
		from = l[1]
	}
	check(c.MomentRounds >= 0 && c.MomentRounds < pvi.MaxRounds, "moment_rounds", c.MomentRounds,
		fmt.Sprintf("0 to %d", pvi.MaxRounds-1))
	check(c.ResidualFrom == 0 || c.ResidualFrom > c.MomentRounds+1 && c.ResidualFrom <= pvi.MaxRounds,
		"residual_from", c.ResidualFrom, fmt.Sprintf("0, or %d to %d", c.MomentRounds+2, pvi.MaxRounds))
	check(c.TargetWeight == 0 || sane(c.TargetWeight), "target_weight", c.TargetWeight, "0 or "+range20)
	check(c.Threshold == 0 || sane(c.Threshold), "threshold", c.Threshold, "0 or "+range20)
	check(c.TargetThreshold == 0 || sane(c.TargetThreshold), "target_threshold", c.TargetThreshold,
		"0 or "+range20)
	check(c.FracBits >= 4 && c.FracBits <= 16, "frac_bits", c.FracBits, "4 to 16")
	check(c.Radius >= 1 && c.Radius <= maxRadius, "radius", c.Radius,
		fmt.Sprintf("1 to %d", maxRadius))
	check(c.Records >= 1 && c.Records <= 1<<40, "records", c.Records, "1 to 2^40")
	check(c.MaxRecords >= 1 && c.MaxRecords <= maxRecords, "max_records", c.MaxRecords,
		fmt.Sprintf("1 to %d", maxRecords))
	if len(errs) == 0 && c.momentScale() < 1 {
		check(false, "radius", c.Radius, fmt.Sprintf(
			"more than that with %d features, whose moments would be larger", c.Features))
	}
	if len(errs) == 0 && c.sensitivity() > 1<<60/uint64(c.MaxRecords) {
		check(false, "max_records", c.MaxRecords,
			"less, or a smaller radius or frac_bits: their sum could leave 60 bits")
	}
	return errors.Join(errs...)
}

// Whole is the configuration for that many records in one place and without noise, of which the radius takes
// next to nothing.
func (c Config) Whole(records int) Config {
	c.Radius, c.Threshold, c.TargetThreshold = maxRadius, 0, 0
	c.Records = max(1, int64(records))
	c.MaxRecords = max(c.MaxRecords, c.Records)
	return c
}

// columns is D: the features, including the bias, and the target.
func (c Config) columns() int { return c.Features + 1 }

// moved is the number of columns that have moments: all but the bias.
func (c Config) moved() int { return c.Features }

// Dim is the length of a party's sum: D(D+1)/2 products. Moments, two numbers for each
// column but the bias, are at its beginning.
func (c Config) Dim() int { return c.columns() * (c.columns() + 1) / 2 }

// SumFracBits is the grid of the sums: their unit is 2^-SumFracBits.
func (c Config) SumFracBits() uint8 { return 2 * c.FracBits }

// radius is R in units of 2^-f.
func (c Config) radius() uint64 {
	r, err := fixedpoint.Grid{FracBits: c.FracBits}.IntBound(c.Radius)
	if err != nil {
		return 0
	}
	return r
}

// The weights of the products, see the package comment.
const (
	onDiagonal  = 5
	offDiagonal = 7
)

// sensitivity bounds the L2 distance, in units of 2^-2f, between the sums that
// neighbouring data sets give in one round, given everything public before it, when
// one record is replaced by another. It is ceil(sqrt(50) R^2) with R in units of
// 2^-f.
//
// Statistics. With M = zz^T - z'z'^T for the two values z, z' of the record, all
// integers, the squared distance is 25 sum_i M_ii^2 + 49 sum_{i<j} M_ij^2 = 24.5 |M|^2 + 0.5
// sum_i M_ii^2 in Frobenius' norm. |M|^2 = |z|^4 + |z'|^4 - 2 (z.z')^2 <= 2 R^4, and sum_i
// M_ii^2 = sum_i (z_i^2 - z'_i^2)^2 <= sum_i (z_i^4 + z'_i^4) <= 2 R^4. Together: at most 50 R^4.
//
// Moments. A column's (U v / 2, v^2), for |v| <= U, moves by at most sqrt(1.2862) U^2 =
// 1.13411 U^2: with s = |v - v'| / U and t = |v + v'| / U, s + t <= 2, the square over U^4 is
// s^2 (1/4 + t^2), whose maximum on t = 2 - s is 1.28614 at s = (6 - sqrt 2) / 4. The columns
// together move by sqrt(Features) times that, and Config.momentScale, an integer, keeps
// its multiple at or below the statistics' bound.
func (c Config) sensitivity() uint64 {
	r := new(big.Int).SetUint64(c.radius())
	r.Mul(r, r)
	square := new(big.Int).Mul(r, r)
	square.Mul(square, big.NewInt(2*onDiagonal*onDiagonal))
	root := new(big.Int).Sqrt(square)
	if new(big.Int).Mul(root, root).Cmp(square) < 0 {
		root.Add(root, big.NewInt(1))
	}
	return root.Uint64()
}

// momentBits is the grid of the moment rounds: a column within its bound is at most U =
// 2^momentBits.
const momentBits = 8

// momentScale is the factor of the moments: the largest integer with which their
// sensitivity, sqrt(1.2862 Features) U^2, is within the statistics'.
func (c Config) momentScale() int64 {
	one := math.Sqrt(1.2862*float64(c.moved())) * (1 + 1e-9) * (1 << (2 * momentBits))
	return int64(math.Floor(float64(c.sensitivity()) / one))
}

// termBound bounds the L2 norm of one record's contribution: a record's products have norm
// at most 5 R^2, and its moments at most sqrt(5/4 Features) U^2 times the scale; both are below
// the sensitivity.
func (c Config) termBound() uint64 { return c.sensitivity() }

// perParty bounds the L2 norm of one party's sum: maxRecords terms.
func (c Config) perParty() uint64 { return uint64(c.MaxRecords) * c.termBound() }
