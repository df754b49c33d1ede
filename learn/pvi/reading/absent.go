package reading

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"choir/learn/noiseaware"
)

// follow keeps what the factors of absent parties are made of: the public posterior of a round, and the
// variance of one party's noise.
func (r *reading) follow(mean, wide, q []float64, v float64) {
	r.means = append(r.means, mean)
	r.wides = append(r.wides, wide)
	r.publics = append(r.publics, q)
	r.each = append(r.each, v)
}

// mixture takes what is public of absent parties' factors out of the left side of the last round, over its
// share of the records. It returns the mean of the points that the side is from, and the variances there.
func (r *reading) mixture(natural []float64) (point, spread []float64) {
	last := len(r.means) - 1
	if r.attendance == nil {
		return r.means[last], r.wides[last]
	}
	s := r.attendance.side(last)
	r.sides = append(r.sides, s)
	r.separate(natural, s)
	point, spread = make([]float64, r.c.Weights()), make([]float64, r.c.Weights())
	for j, w := range s.mix {
		floats.AddScaled(point, w, r.means[j])
		floats.AddScaled(spread, w, r.wides[j])
	}
	return point, spread
}

// separate takes what is public of absent parties' factors out of a left side, over its share of the records.
func (r *reading) separate(natural []float64, s side) {
	r.c.AddStart(natural, -s.start)
	for j, w := range s.tied {
		if w != 0 {
			floats.AddScaled(natural, -w, r.publics[j])
			floats.AddScaled(natural, w, r.prior)
		}
	}
	floats.Scale(1/s.whole, natural)
}

// whole is the share of the records that an observation has.
func (r *reading) whole(s int) float64 {
	if r.attendance == nil {
		return 1
	}
	return r.sides[s].whole
}

// lacking is the variance of the weighted scores by the parties that they lack, in curvatures.
func (r *reading) lacking(weights []float64) float64 {
	if r.attendance == nil {
		return 0
	}
	w := mat.NewVecDense(len(weights), weights)
	return mat.Inner(w, r.attendance.errors(), w)
}

// mixed tells of what the trace's scores are made where rounds do not count all parties.
func (r *reading) mixed(t *noiseaware.Trace) {
	if r.attendance == nil {
		return
	}
	t.Errors = r.attendance.errors()
	t.At = r.means
	t.AtSpread = r.wides
	for _, s := range r.sides {
		t.Mix = append(t.Mix, s.mix)
	}
}

// slice is what a curvature round revealed: the first of its entries, the share of the records that it
// counts, and the parties.
type slice struct {
	from    int
	share   float64
	counted []bool
}

// missing is the variance of an entry of the curvature by the parties that its rounds lack, for records of
// about the same length: the mean over slices.
func (r *reading) missing(h *mat.SymDense) float64 {
	if r.attendance == nil || r.records == 0 {
		return 0
	}
	shares, parties := map[int]float64{}, map[int][]float64{}
	for _, s := range r.slices {
		shares[s.from] += s.share
		if parties[s.from] == nil {
			parties[s.from] = make([]float64, len(s.counted))
		}
		for k, in := range s.counted {
			if in {
				parties[s.from][k]++
			}
		}
	}
	lack := 0.0
	for _, s := range r.slices {
		for k, n := range parties[s.from] {
			if r.attendance.known[k] {
				away := n/shares[s.from] - 1
				lack += r.attendance.shares[k] * away * away / float64(len(r.slices))
			}
		}
	}
	square := 0.0
	d := h.SymmetricDim()
	for i := range d {
		square += h.At(i, i) * h.At(i, i) / float64(d)
	}
	return lack * square / r.records
}
