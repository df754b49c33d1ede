// Package evaluate measures a model on records that no party learns from. Some rounds of a plan
// sum the scores of the parties' held-out records in the place of updates: how many there are,
// how many are predicted rightly, their log-likelihood, and by bins of the prediction how far it
// is from what was observed. A record's part is bounded, so that these rounds have the
// sensitivity and the noise of all others. Where all of a party's data is protected the parts are
// the means of its records'.
package evaluate

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"choir/learn/bayes"
)

// ErrConfig is in the chain of every error about a configuration.
var ErrConfig = errors.New("bad configuration of evaluation")

// Bounds of a configuration.
const (
	MaxRecords = 1 << 16
	maxBins    = 100
)

// Config are the public terms of an evaluation.
type Config struct {
	// Every is the number of learning rounds from one evaluation to the next; the plan's last
	// round evaluates too.
	Every int `json:"every"`
	// HeldOut is the share of a party's records that are only evaluated, above 0 and below 1.
	HeldOut float64 `json:"held_out"`
	// Bins divide the predicted probability of a class, or the predicted distribution function
	// at the target, equally.
	Bins int `json:"bins"`
	// Low and High bound the log-likelihood of a record, in nats: what is outside is clipped.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Records is the largest number of a party's held-out records that count, the first ones.
	Records int `json:"records"`
	// PerParty makes a party's part of a sum the mean of its records' scores: sums count parties in
	// the place of records, and all of a party's data has the sensitivity of one record.
	PerParty bool `json:"per_party,omitempty"`
	// Seed chooses the positions that are held out.
	Seed uint32 `json:"seed"`
}

// Validate returns an error that names the first setting that is out of range.
func (c *Config) Validate() error {
	bad := func(name string, v any, want string) error {
		return fmt.Errorf("%w: %s is %v, want %s", ErrConfig, name, v, want)
	}
	switch {
	case c.Every < 1:
		return bad("every", c.Every, "1 or more")
	case !(c.HeldOut > 0 && c.HeldOut < 1):
		return bad("held_out", c.HeldOut, "a share above 0 and below 1")
	case c.Bins < 1 || c.Bins > maxBins:
		return bad("bins", c.Bins, fmt.Sprintf("1 to %d", maxBins))
	case !(c.High > c.Low) || math.IsInf(c.Low, 0) || math.IsInf(c.High, 0):
		return bad("low and high", fmt.Sprint(c.Low, " and ", c.High), "finite numbers, low below high")
	case c.Records < 1 || c.Records > MaxRecords:
		return bad("records", c.Records, fmt.Sprintf("1 to %d", MaxRecords))
	}
	return nil
}

// At reports whether a round, counted from 1, evaluates in a plan of that number of rounds.
func (c *Config) At(round, rounds int) bool {
	if c == nil || rounds < 2 {
		return false
	}
	return round == rounds || round%(c.Every+1) == 0 && round != rounds-1
}

// Before is the number of evaluations before a round, which is at most rounds.
func (c *Config) Before(round, rounds int) int {
	if c == nil || rounds < 2 {
		return 0
	}
	n := (round - 1) / (c.Every + 1)
	if round == rounds && (rounds-1)%(c.Every+1) == 0 {
		n--
	}
	return n
}

// Learning is the number of rounds that learn, of rounds in all.
func (c *Config) Learning(rounds int) int {
	if c == nil || rounds < 2 {
		return rounds
	}
	return rounds - 1 - c.Before(rounds, rounds)
}

// Total is the number of rounds of which learning rounds learn, with an evaluation after every Every of them
// and after the last.
func (c *Config) Total(learning int) int {
	if c == nil {
		return learning
	}
	return learning + (learning+c.Every-1)/c.Every
}

// Dim is the number of coordinates of a sum: records, scores, log-likelihoods, and by bin
// records and residuals.
func (c *Config) Dim() int { return 3 + 2*c.Bins }

// Split divides records by their position. It holds none out if none would be left to learn
// from. A record that is replaced in place stays on its side and moves no other.
func (c *Config) Split(d bayes.Data) (train, held bayes.Data) {
	n := d.Rows()
	if n == 0 {
		return d, held
	}
	cols := len(d.X) / n
	for i := range n {
		to := &train
		if c.holds(i) {
			to = &held
		}
		to.X = append(to.X, d.X[i*cols:(i+1)*cols]...)
		to.Y = append(to.Y, d.Y[i])
	}
	if train.Rows() == 0 {
		return d, bayes.Data{}
	}
	return train, held
}

// holds reports whether the record at a position is held out.
func (c *Config) holds(position int) bool {
	var b [12]byte
	binary.BigEndian.PutUint32(b[:], c.Seed)
	binary.BigEndian.PutUint64(b[4:], uint64(position))
	h := sha256.Sum256(b[:])
	return math.Ldexp(float64(binary.BigEndian.Uint64(h[:])>>11), -53) < c.HeldOut
}

// Unit is the largest unit of a sum, in grid units, with which a record that replaces another
// moves it by at most the sensitivity: count and score are 2 units wide, so is the
// log-likelihood, and a bin's record and residual are 1. Both records are counted, so that the
// count never moves. In different bins the residuals move by 1 each at most, in one bin by 2:
//
//	distance^2 <= 2^2 + 2^2 + max(1 + 1 + 1 + 1, 2^2) = 12 units^2.
//
// Means of records are in the convex hull of single ones, which is no wider, and a party without
// held-out records is sqrt(2^2 + 1 + 1 + 1 + 1) units away from any of them. Means are rounded, by at
// most 1/2 grid unit in each coordinate, and two of them by 1: this much of the sensitivity is left
// for that if PerParty.
//
// It is 0 if the sensitivity is too small for any.
func (c *Config) Unit(sensitivity uint64) int64 {
	if c.PerParty {
		sensitivity -= min(sensitivity, c.rounding())
	}
	// A little below 1/sqrt(12), times 10^10.
	hi, lo := bits.Mul64(sensitivity, 2_886_751_345)
	u, _ := bits.Div64(hi, lo, 10_000_000_000)
	return int64(u)
}

// rounding bounds the L2 distance that the rounding of two means adds, in grid units.
func (c *Config) rounding() uint64 { return uint64(math.Ceil(math.Sqrt(float64(c.Dim())))) }

// Reach bounds the L2 norm of a party's sum, with units of u: the norm of a record's part is at
// most sqrt(2^2 + 1 + 1 + 1 + 1) units.
func (c *Config) Reach(u int64) uint64 {
	if c.PerParty {
		return 3*uint64(u) + c.rounding()
	}
	return 3 * uint64(u) * uint64(c.Records)
}

// Whole bounds how far two data sets of a party are apart in a sum, of a unit that Unit has for the
// sensitivity.
func (c *Config) Whole(sensitivity uint64) uint64 {
	if c.PerParty {
		return sensitivity
	}
	return 2 * c.Reach(c.Unit(sensitivity))
}

// Target describes what is predicted.
type Target struct {
	Binary bool
	// Half is half of an encoded number's range: larger errors count as that.
	Half float64
}

// Sum adds the scores of held-out records under a posterior, in units of u, to a sum: of each record,
// or their mean. Errors: bayes.ErrShape, and those of predicting.
func (c *Config) Sum(sum []int64, q *bayes.Posterior, held bayes.Data, t Target, u int64) error {
	if len(sum) < c.Dim() {
		return fmt.Errorf("evaluation: %d coordinates of %d: %w", len(sum), c.Dim(), bayes.ErrShape)
	}
	n := min(held.Rows(), c.Records)
	parts := int64(1)
	if c.PerParty {
		parts = int64(n)
	}
	rest := make([]int64, c.Dim())
	add := func(at int, v int64) {
		sum[at] += v / parts
		rest[at] += v % parts
	}
	for i := range n {
		cols := len(held.X) / held.Rows()
		p, err := q.Predict(held.X[i*cols : (i+1)*cols])
		if err != nil {
			return err
		}
		s := c.score(t, p, held.Y[i])
		add(0, 2*u)
		add(1, scaled(s.right-0.5, 2*u, u))
		add(2, scaled((s.logLik-c.Low)/(c.High-c.Low)-0.5, 2*u, u))
		add(3+2*s.bin, u)
		add(4+2*s.bin, scaled(s.residual, u, u))
	}
	for i, v := range rest {
		sum[i] += nearest(v, parts)
	}
	return nil
}

// nearest is the integer nearest to v/n; 0 of nothing.
func nearest(v, n int64) int64 {
	if v < 0 {
		return -nearest(-v, n)
	}
	return (v + n/2) / max(1, n)
}

// scaled is v times unit, rounded and within bound; 0 for what isn't a number.
func scaled(v float64, unit, bound int64) int64 {
	x := math.Round(v * float64(unit))
	switch {
	case !(x > -float64(bound)): // not a number too
		if x != x {
			return 0
		}
		return -bound
	case x > float64(bound):
		return bound
	}
	return int64(x)
}

// scores are those of one record.
type scores struct {
	right    float64 // 1 or 0; of a number, the squared error in squares of half the range
	logLik   float64
	bin      int
	residual float64 // observed less predicted; 0 for a number
}

func (c *Config) score(t Target, p bayes.Prediction, y float64) scores {
	if !t.Binary {
		z := (y - p.Mean) / p.SD
		e := (y - p.Mean) / t.Half
		return scores{right: min(1, e*e), logLik: -z*z/2 - math.Log(p.SD*math.Sqrt(2*math.Pi)),
			bin: c.bin(math.Erfc(-z/math.Sqrt2) / 2)}
	}
	s := scores{bin: c.bin(p.Mean), residual: y - p.Mean, logLik: math.Log(1 - p.Mean)}
	if y == 1 {
		s.logLik = math.Log(p.Mean)
	}
	if (p.Mean > 0.5) == (y == 1) {
		s.right = 1
	}
	return s
}

// bin of a share; the first for what isn't a number.
func (c *Config) bin(share float64) int {
	if !(share > 0) {
		return 0
	}
	return min(c.Bins-1, int(min(share, 1)*float64(c.Bins)))
}
