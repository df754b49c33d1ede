package response

import (
	"fmt"
	"math"
)

// Estimate is an unbiased estimate and its standard deviation, which is that of the reports' randomness
// (for a mean also of the rounding to levels), at the estimated counts.
type Estimate struct{ Value, SD float64 }

// check returns the number of reports.
func (r Response) check(counts []int64) (n float64, err error) {
	switch {
	case len(counts) != int(r.categories):
		return 0, fmt.Errorf("response: %d counts of %d categories", len(counts), r.categories)
	case r.gamma == unit:
		return 0, fmt.Errorf("response: with gamma 1 reports say nothing about values")
	}
	return reportsIn(counts)
}

// reportsIn returns the number of reports that are counted.
func reportsIn(counts []int64) (n float64, err error) {
	for _, c := range counts {
		if c < 0 {
			return 0, fmt.Errorf("response: a count of %d: somebody added what no report is", c)
		}
		n += float64(c)
	}
	if n == 0 {
		return 0, fmt.Errorf("response: no reports")
	}
	return n, nil
}

// Histogram estimates how many users have each value. Counts of another number than the values, below
// 0, or of no report at all are an error.
func (r Response) Histogram(counts []int64) ([]Estimate, error) {
	n, err := r.check(counts)
	if err != nil {
		return nil, err
	}
	f := r.Gamma() / float64(r.categories)
	t := 1 - r.Gamma() + f
	out := make([]Estimate, len(counts))
	for v, c := range counts {
		x := (float64(c) - n*f) / (1 - r.Gamma())
		holders := math.Min(n, math.Max(0, x))
		out[v] = Estimate{x, math.Sqrt(holders*t*(1-t)+(n-holders)*f*(1-f)) / (1 - r.Gamma())}
	}
	return out, nil
}

// Mean estimates the mean of the values that Level rounded, in [0, 1]. Its standard deviation counts
// the spread of the values too, and so is at most too large. Counts of another number than the values,
// below 0, or of no report at all are an error.
func (r Response) Mean(counts []int64) (Estimate, error) {
	n, err := r.check(counts)
	if err != nil {
		return Estimate{}, err
	}
	var sum, squares float64
	for v, c := range counts {
		x := float64(v) / float64(r.categories-1)
		sum += float64(c) * x
		squares += float64(c) * x * x
	}
	mean := sum / n
	spread := math.Max(0, squares/n-mean*mean)
	return Estimate{(mean - r.Gamma()/2) / (1 - r.Gamma()), math.Sqrt(spread/n) / (1 - r.Gamma())}, nil
}

// Quantile estimates the least level, in [0, 1], at or below which a share q of the values lies.
func (r Response) Quantile(counts []int64, q float64) (float64, error) {
	all, err := r.Histogram(counts)
	if err != nil {
		return 0, err
	}
	if !(q >= 0 && q <= 1) {
		return 0, fmt.Errorf("response: quantile %v isn't in [0, 1]", q)
	}
	n := 0.0
	for _, c := range counts {
		n += float64(c)
	}
	sum := 0.0
	for v, e := range all {
		if sum += e.Value; sum >= q*n {
			return float64(v) / float64(r.categories-1), nil
		}
	}
	return 1, nil
}
