package experiment

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"choir/internal/atomicfile"
	"choir/lab/figure"
	"choir/privacy"
)

// write leaves noisy-factors.json, .csv, .svg and .png in the folder.
func (r *NoisyFactorsResult) write(dir string) error {
	base := filepath.Join(dir, "noisy-factors")
	if err := atomicfile.WriteJSON(base+".json", r); err != nil {
		return err
	}
	header, rows := r.rows()
	if err := atomicfile.WriteCSV(base+".csv", header, rows); err != nil {
		return err
	}
	f, err := r.figure()
	if err != nil {
		return err
	}
	return f.Write(base)
}

// rows has a row for each case and seed.
func (r *NoisyFactorsResult) rows() (header []string, rows [][]any) {
	header = []string{"scheme", "damping", "factors", "rounds", "delta", "epsilon_claimed",
		"mu_over_claimed", "epsilon_exact", "delta_exact", "seed", "epsilon_lower_bound"}
	for _, c := range r.Cases {
		for i, m := range c.Measured {
			rows = append(rows, []any{c.Scheme, c.Damping, c.Factors, r.Rounds, r.Delta, r.Claimed, c.Ratio,
				c.Epsilon, c.AtClaim, i + 1, m})
		}
	}
	return header, rows
}

// Table is the result as a table in Markdown. Its last column is the least of
// the seeds' bounds.
func (r *NoisyFactorsResult) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| scheme | damping a | factors M | mu over claimed | delta at epsilon = %g | "+
		"epsilon at delta = %g | the same, measured at least |\n|---|---|---|---|---|---|---|\n", r.Claimed,
		r.Delta)
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "| %s | %g | %d | %.3f | %.2g | %.3f | %.3f |\n", c.Scheme, c.Damping, c.Factors,
			c.Ratio, c.AtClaim, c.Epsilon, c.least())
	}
	return b.String()
}

// RegimeTable compares runs in which the clip cuts the others' updates, or not, as a table in Markdown.
func (r *NoisyFactorsResult) RegimeTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| damping a | factors M | others' updates | cut by the clip | largest, in C | sums "+
		"differ from the linear case by at most |\n|---|---|---|---|---|---|\n")
	for _, g := range r.Regimes {
		differ := fmt.Sprintf("%.2g C", g.Deviation)
		if g.Deviation < 1e-9 {
			differ = "rounding (below 1e-9 C)"
		}
		fmt.Fprintf(&b, "| %g | %d | %d | %d | %.2f | %s |\n", g.Damping, g.Factors, g.Updates, g.Cut,
			g.Largest, differ)
	}
	return b.String()
}

func (c NoisyFactorsCase) least() float64 {
	least := math.Inf(1)
	for _, m := range c.Measured {
		least = min(least, m)
	}
	return least
}

// figure shows epsilon against the number of factors, derived and measured, and
// against the rounds.
func (r *NoisyFactorsResult) figure() (*figure.Figure, error) {
	label := fmt.Sprintf("epsilon at delta = %g", r.Delta)
	left := figure.Panel{Title: fmt.Sprintf("After %d rounds", r.Rounds),
		XLabel: "factors M that share the noise", YLabel: label, LogX: true, YMax: 6}
	right := figure.Panel{Title: "After each round, M = 100", XLabel: "round", YLabel: label,
		Integers: true, YMax: 6}
	for _, a := range []float64{0.4, 0.1} {
		byFactors, byRound, err := r.losses(a)
		if err != nil {
			return nil, err
		}
		left.Curves, right.Curves = append(left.Curves, byFactors, r.measured(a)),
			append(right.Curves, byRound)
	}
	flat := figure.Curve{Name: "claimed, and noise-free factors"}
	byRound := flat
	flat.X, flat.Y = []float64{1, 20000}, []float64{r.Claimed, r.Claimed}
	for s := 1; s <= r.Rounds; s++ {
		byRound.X, byRound.Y = append(byRound.X, float64(s)), append(byRound.Y, r.lossAfter(s, 1))
	}
	left.Curves, right.Curves = append(left.Curves, flat), append(right.Curves, byRound)
	f := &figure.Figure{Title: fmt.Sprintf("What noisy factors make of a claim of epsilon = %g", r.Claimed),
		Panels: []figure.Panel{left, right}}
	return f, f.Validate()
}

// losses are the exact epsilons with one damping: by factors and by rounds.
func (r *NoisyFactorsResult) losses(a float64) (byFactors, byRound figure.Curve, err error) {
	byFactors.Name = fmt.Sprintf("noisy factors, a = %g", a)
	byRound.Name = byFactors.Name
	for m := 1; m <= 20000; m += 1 + m/2 {
		l, err := lossOf(r.Rounds, m, a)
		if err != nil {
			return byFactors, byRound, err
		}
		byFactors.X, byFactors.Y = append(byFactors.X, float64(m)),
			append(byFactors.Y, r.lossAfter(r.Rounds, l.Ratio))
	}
	for s := 1; s <= r.Rounds; s++ {
		l, err := lossOf(s, 100, a)
		if err != nil {
			return byFactors, byRound, err
		}
		byRound.X, byRound.Y = append(byRound.X, float64(s)), append(byRound.Y, r.lossAfter(s, l.Ratio))
	}
	return byFactors, byRound, nil
}

// lossAfter is the epsilon of some rounds whose mu is ratio times the claimed one.
func (r *NoisyFactorsResult) lossAfter(rounds int, ratio float64) float64 {
	return privacy.GaussianEpsilon(ratio*2*math.Sqrt(float64(rounds))/r.Sigma, r.Delta)
}

func (r *NoisyFactorsResult) measured(a float64) figure.Curve {
	c := figure.Curve{Name: fmt.Sprintf("measured at least, a = %g", a), Dots: true}
	for _, k := range r.Cases {
		if k.Scheme == schemeNoisy && k.Damping == a {
			c.X, c.Y = append(c.X, float64(k.Factors)), append(c.Y, k.least())
		}
	}
	return c
}
