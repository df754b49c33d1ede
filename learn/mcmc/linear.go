package mcmc

import "math"

// The arithmetic of states. Conversions keep compilers from fusing a product with a sum,
// which would round differently on some machines.

func dot(a, b []float64) float64 {
	s := 0.0
	for i, x := range a {
		s += float64(x * b[i])
	}
	return s
}

func add(dst []float64, by float64, v []float64) {
	for i, x := range v {
		dst[i] += float64(by * x)
	}
}

func scale(v []float64, by float64) {
	for i := range v {
		v[i] *= by
	}
}

// triangle is a lower triangular factor F of dimension d, by rows.
type triangle struct {
	d int
	v []float64
}

func (f triangle) row(i int) []float64 { return f.v[i*f.d : i*f.d+i+1] }

// cholesky factors a symmetric matrix of d rows, or reports that it is not positive
// definite: a pivot below floor is none.
func cholesky(a []float64, d int, floor float64) (triangle, bool) {
	f := triangle{d, make([]float64, d*d)}
	for i := range d {
		for j := range i + 1 {
			s := a[i*d+j]
			for k := range j {
				s -= float64(f.v[i*d+k] * f.v[j*d+k])
			}
			if i > j {
				f.v[i*d+j] = s / f.v[j*d+j]
				continue
			}
			if !(s > floor) {
				return f, false
			}
			f.v[i*d+i] = math.Sqrt(s)
		}
	}
	return f, true
}

// firm factors a matrix whose entries have errors of standard deviation noise, as ridged makes it.
func firm(a []float64, d int, shift, noise float64) triangle {
	_, f := ridged(a, d, shift, noise)
	return f
}

// ridged returns a matrix whose entries have errors of standard deviation noise with shift on the diagonal,
// and more until it is positive definite, and its factor.
func ridged(a []float64, d int, shift, noise float64) ([]float64, triangle) {
	ridge := shift + float64(noise*2*math.Sqrt(float64(d)))
	for {
		b := append([]float64(nil), a...)
		for i := range d {
			b[i*d+i] += ridge
		}
		if f, ok := cholesky(b, d, shift/2); ok {
			return b, f
		}
		ridge = 2*ridge + 0x1p-20
	}
}

// solve replaces v by F^-1 v.
func (f triangle) solve(v []float64) {
	for i := range v {
		row := f.row(i)
		v[i] = (v[i] - dot(row[:i], v)) / row[i]
	}
}

// solveT replaces v by F'^-1 v.
func (f triangle) solveT(v []float64) {
	for i := f.d - 1; i >= 0; i-- {
		row := f.row(i)
		v[i] /= row[i]
		add(v, -v[i], row[:i])
	}
}

// mulT returns F' v.
func (f triangle) mulT(v []float64) []float64 {
	out := make([]float64, f.d)
	for i, x := range v {
		add(out, x, f.row(i))
	}
	return out
}

// unpack returns the symmetric matrix of weighted products in a sum, in the given unit.
func unpack(sum []int64, d int, unit float64) []float64 {
	a := make([]float64, d*d)
	at := 0
	for i := range d {
		for j := i; j < d; j++ {
			w := offDiagonal
			if i == j {
				w = onDiagonal
			}
			v := float64(float64(sum[at])*unit) / float64(w)
			a[i*d+j] = v
			a[j*d+i] = v
			at++
		}
	}
	return a
}
