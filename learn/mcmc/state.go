package mcmc

import (
	"errors"
	"fmt"
	"math"
)

var (
	// ErrOverflow: a state would leave its grid. The given state is unchanged.
	ErrOverflow = errors.New("state overflows its grid")
	// ErrShape: a vector has the wrong length or an impossible value.
	ErrShape = errors.New("malformed state or sum")
)

// stateBits is the grid of the real numbers of a state, 2^-32.
const stateBits = 32

// state is the parts of a public state, which share its memory.
type state struct {
	raw []int64
	// counts: rounds folded, proposals tested, proposals accepted, draws kept of each chain.
	folded, tested, accepted, kept *int64
	gram, curve                    []int64   // sums of products of the two stages
	theta                          [][]int64 // the chains' weights
	bent                           []int64   // Trace: where curve was measured
	first, second                  []int64   // Trace: sums of gradients and of states; HMC: start, momentum
	kinetic                        []int64   // HMC: kinetic energy at the start
	sums                           []int64   // the sumsHash from which public draws follow
	draws                          []int64   // by draw, chain and weight
}

func (c Config) stateDim() int {
	return 9 + 2*c.products() + c.Chains*c.Features + 3*c.Features + c.Keep*c.Chains*c.Features
}

func (c Config) open(raw []int64) (*state, error) {
	if len(raw) != c.stateDim() {
		return nil, fmt.Errorf("state of length %d, want %d: %w", len(raw), c.stateDim(), ErrShape)
	}
	for _, v := range raw[:4] {
		if v < 0 {
			return nil, fmt.Errorf("state: a count is negative: %w", ErrShape)
		}
	}
	if raw[3] > int64(c.Keep) {
		return nil, fmt.Errorf("state: %d draws, want at most %d: %w", raw[3], c.Keep, ErrShape)
	}
	s := &state{raw: raw, folded: &raw[0], tested: &raw[1], accepted: &raw[2], kept: &raw[3], kinetic: raw[4:5],
		sums: raw[5:9]}
	at := 9
	take := func(n int) []int64 {
		at += n
		return raw[at-n : at]
	}
	s.gram, s.curve = take(c.products()), take(c.products())
	for range c.Chains {
		s.theta = append(s.theta, take(c.Features))
	}
	s.bent = take(c.Features)
	s.first, s.second = take(c.Features), take(c.Features)
	s.draws = take(c.Keep * c.Chains * c.Features)
	return s, nil
}

// reals are numbers of a state in units of 2^-stateBits.
func reals(units []int64) []float64 {
	v := make([]float64, len(units))
	for i, u := range units {
		v[i] = math.Ldexp(float64(u), -stateBits)
	}
	return v
}

// put rounds v to the grid of a state.
func put(dst []int64, v []float64) error {
	for i, x := range v {
		r := math.RoundToEven(math.Ldexp(x, stateBits))
		if !(math.Abs(r) < 1<<62) {
			return ErrOverflow
		}
		dst[i] = int64(r)
	}
	return nil
}

// accumulate adds a sum of products to those of a stage.
func accumulate(dst, sum []int64) error {
	for i, v := range sum[:len(dst)] {
		next := dst[i] + v
		if (v > 0) != (next > dst[i]) && v != 0 {
			return ErrOverflow
		}
		dst[i] = next
	}
	return nil
}

// keep stores the chains' weights as a draw if the round is one of those that are kept:
// of the rounds from c.burned to the last, every n-th.
func (c Config) keep(s *state) {
	every := max(1, (c.Rounds-c.burned())/c.period()/c.Keep)
	since := int(*s.folded) - c.burned()
	if since <= 0 || since%(every*c.period()) != 0 || *s.kept >= int64(c.Keep) {
		return
	}
	at := int(*s.kept) * c.Chains * c.Features
	for _, chain := range s.theta {
		at += copy(s.draws[at:], chain)
	}
	*s.kept++
}

// burned is the number of rounds before the first draw that is kept: the stages and a fifth
// of the others, in whole periods.
func (c Config) burned() int {
	own := (c.Rounds - c.prepared()) / c.period()
	return c.prepared() + own/5*c.period()
}
