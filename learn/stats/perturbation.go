package stats

import (
	"fmt"

	"choir/crypto/fixedpoint"
	"choir/learn/bayes"
)

// InputRadius is the sensitivity of InputPerturbation: the L2 distance of two values of
// a record on the grid 2^-f, 2R at most.
func (c Config) InputRadius() uint64 { return 2 * c.radius() }

// InputPerturbation is the baseline without a protocol: every record's owner adds noise to
// the record itself (the baseline of [DCA], after [FGW16]), scaled by the public bounds and
// clipped to the radius. It is private in one release of sensitivity InputRadius over
// Features+1 numbers, in units of 2^-f; noise writes such noise of the given variance. The
// mean of what it adds to the squares is public, and is subtracted.
func InputPerturbation(cfg Config, parts []bayes.Data, noise func(dst []int64) error,
	variance float64) (*Posterior, error) {
	cfg.MomentRounds, cfg.ResidualFrom = 0, 0
	raw := cfg.Initial()
	s, _ := cfg.open(raw)
	f := frame{scales: cfg.scales(s, 0)}
	z, e := make([]int64, cfg.columns()), make([]int64, cfg.columns())
	records := 0
	for i, part := range parts {
		l, err := NewLearner(cfg, part, 0)
		if err != nil {
			return nil, fmt.Errorf("party %d: %w", i, err)
		}
		for row := range part.Rows() {
			l.scaled(z, row, f)
			fixedpoint.ClipInt(z, cfg.radius())
			if err := noise(e); err != nil {
				return nil, fmt.Errorf("noise: %w", err)
			}
			for j := range z {
				z[j] += e[j]
			}
			addProducts(s.targets.products, z)
			records++
		}
	}
	at := 0
	for i := range z {
		s.targets.products[at] -= int64(onDiagonal * variance * float64(records))
		at += len(z) - i
	}
	raw[1] = 1
	// The products' noise, as if it were added to their sum: per record the variance of
	// e_i e_j, and more where a record is large, which is left out.
	own := variance * variance * float64(records) * offDiagonal * offDiagonal
	return cfg.Posterior(raw, own)
}
