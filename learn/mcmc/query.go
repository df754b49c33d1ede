package mcmc

import (
	"math"

	"choir/crypto/fixedpoint"
)

// kind is what a query asks of every record.
type kind uint8

const (
	products  kind = iota + 1 // x_i x_j
	curvature                 // p(1-p) z_i z_j at a point, z = F^-1 x
	gradient                  // (y - p) z at a point
	ratios                    // log p(y | to_k) - log p(y | from_k)
)

// Query is what a round asks of every record, all of it public.
type Query struct {
	kind   kind
	factor triangle    // F of the coordinates phi
	from   [][]float64 // points; for ratios one, or as many as there are of to
	to     [][]float64
	bound  float64 // of a record's answer in L2 norm, before it is put on the grid
	// even is 0, or the bound of the longer one of the gradients that a record would have with either class: a
	// record counts less by as much as that exceeds it. The weight doesn't depend on the class, so that weighted
	// gradients have the mean 0 at the true weights, which clipped ones do not ([KSC89]).
	even float64
}

// data are a party's records, prepared for the queries of one factor at a time.
type data struct {
	x, y   []float64
	d      int
	factor triangle
	z      []float64 // the records in the coordinates phi
}

// use prepares the records for a factor.
func (r *data) use(f triangle) {
	if r.z != nil && sameFactor(r.factor, f) {
		return
	}
	r.factor = f
	r.z = append(r.z[:0], r.x...)
	for i := 0; i < len(r.z); i += r.d {
		f.solve(r.z[i : i+r.d])
	}
}

func sameFactor(a, b triangle) bool {
	if a.d != b.d {
		return false
	}
	for i, v := range a.v {
		if v != b.v[i] {
			return false
		}
	}
	return true
}

// answers adds the rows' answers to sum, on the grid, and returns how many were clipped. A
// record whose answer is not finite counts as zero: an error would reveal it.
func (r *data) answers(q Query, rows []int, sum []int64) (clipped int) {
	switch q.kind {
	case products:
		return r.addProducts(rows, sum, func(row int) ([]float64, float64) {
			return r.x[row*r.d : (row+1)*r.d], 1 / q.bound
		})
	case curvature:
		r.use(q.factor)
		return r.addProducts(rows, sum, func(row int) ([]float64, float64) {
			z := r.z[row*r.d : (row+1)*r.d]
			p := sigmoid(dot(r.x[row*r.d:(row+1)*r.d], q.from[0]))
			return z, math.Sqrt(p*(1-p)*q.weight(longer(p, z))) / q.bound
		})
	case gradient:
		r.use(q.factor)
		return r.addVectors(rows, sum, r.d, func(row int, dst []float64) {
			z := r.z[row*r.d : (row+1)*r.d]
			p := sigmoid(dot(r.x[row*r.d:(row+1)*r.d], q.from[0]))
			by := (r.y[row] - p) * q.weight(longer(p, z)) / q.bound
			for i, z := range z {
				dst[i] = by * z
			}
		})
	}
	return r.addVectors(rows, sum, len(q.to), func(row int, dst []float64) {
		r.ratios(q, row, dst)
	})
}

// ratios are those of one record, over the query's bound.
func (r *data) ratios(q Query, row int, dst []float64) {
	x, y := r.x[row*r.d:(row+1)*r.d], r.y[row]
	var from, base, own, other float64
	for k, to := range q.to {
		if k < len(q.from) {
			from = dot(x, q.from[k])
			base = logLikelihood(from, y)
		}
		a := dot(x, to)
		dst[k] = (logLikelihood(a, y) - base) / q.bound
		swapped := dst[k] + (1-2*y)*(a-from)/q.bound // with the other class
		own += dst[k] * dst[k]
		other += swapped * swapped
	}
	if q.even > 0 {
		scale(dst, q.weight(q.even*math.Sqrt(max(own, other))))
	}
}

// weight is what a record counts whose longer gradient has this norm.
func (q Query) weight(norm float64) float64 {
	if q.even == 0 || !(norm > q.even) {
		return 1
	}
	return q.even / norm
}

// addVectors rounds and clips vectors of n numbers to norm intClip.
func (r *data) addVectors(rows []int, sum []int64, n int, f func(row int, dst []float64)) (clipped int) {
	v, units := make([]float64, n), make([]int64, n)
	grid := fixedpoint.Grid{FracBits: FracBits}
	for _, row := range rows {
		f(row, v)
		cut := limit(v)
		if grid.Round(units, v) != nil {
			clipped++
			continue
		}
		if fixedpoint.ClipInt(units, intClip) || cut {
			clipped++
		}
		for k, u := range units {
			sum[k] += u
		}
	}
	return clipped
}

// addProducts adds the weighted products of vectors of norm at most 1, times their factor.
func (r *data) addProducts(rows []int, sum []int64, f func(row int) (v []float64, by float64)) (clipped int) {
	z, units := make([]float64, r.d), make([]int64, r.d)
	radius := intRadius()
	for _, row := range rows {
		v, by := f(row)
		for i, x := range v {
			z[i] = x * by
		}
		cut := limit(z)
		for i := range z {
			z[i] *= float64(radius)
		}
		if (fixedpoint.Grid{}).Round(units, z) != nil {
			clipped++
			continue
		}
		if fixedpoint.ClipInt(units, radius) || cut {
			clipped++
		}
		at := 0
		for i, a := range units {
			sum[at] += onDiagonal * a * a
			for k, b := range units[i+1:] {
				sum[at+1+k] += offDiagonal * a * b
			}
			at += len(units) - i
		}
	}
	return clipped
}

// limit scales v down to norm 1, so that rounding does not clip what was clipped.
func limit(v []float64) (cut bool) {
	norm := math.Sqrt(dot(v, v))
	if !(norm > 1) || math.IsInf(norm, 0) {
		return false
	}
	scale(v, 1/norm)
	return true
}

// longer is the norm of the longer one of the gradients (y - p) z.
func longer(p float64, z []float64) float64 { return max(p, 1-p) * math.Sqrt(dot(z, z)) }

func sigmoid(a float64) float64 { return 1 / (1 + math.Exp(-a)) }

// logLikelihood is log p(y | activation a), y 0 or 1, to an absolute error of 1e-13.
func logLikelihood(a, y float64) float64 {
	if y == 0 {
		a = -a
	}
	if a < 0 {
		return a - softplus(-a)
	}
	return -softplus(a)
}
