package defaults

import (
	"math"

	"choir/learn/centre"
	"choir/learn/dataset"
)

// Facts are the public numbers of a plan before any record is used.
type Facts struct {
	Parties int
	Rounds  int   // that learn; 0: the plan does not name them
	Centre  int   // rounds before them that measure the columns' centres
	Records int64 // declared number of all parties' records; 0: none was declared

	Norm    float64 // expected L2 norm of an encoded record, including the bias: recordNorm
	Spread  float64 // expected mean square of an encoded column
	Target  float64 // expected root mean square of the encoded target; 0 is 1
	Aligned float64 // bound on the joint effect of correlated columns: alignment

	// Noise is the standard deviation of the noise on a sum, in clips, that a plan with a
	// single release would have. R releases have sqrt(R) times that on each sum.
	Noise float64
	Prior float64 // precision of a weight; 0 is 1
}

// Of returns the facts of a public schema.
func Of(schema *dataset.Schema) Facts {
	norm := recordNorm(schema)
	return Facts{Norm: norm, Spread: norm * norm / float64(schema.Dim()), Aligned: alignment(schema),
		Target: targetLength(schema.Target)}
}

// recordsEach is the assumed number of records of a party when a plan declares none.
const recordsEach = 200

// AssumedRecords returns the declared number of records, or an assumed one.
func (f Facts) AssumedRecords() int64 {
	if f.Records > 0 {
		return f.Records
	}
	return recordsEach * int64(f.Parties)
}

func (f Facts) prior() float64 {
	if f.Prior > 0 {
		return f.Prior
	}
	return 1
}

// signal is the number of records over the noise of a single release and the length of a
// record: it determines how well the data can be distinguished from the noise.
func (f Facts) signal() float64 {
	return float64(f.AssumedRecords()) / (f.Norm * max(f.Noise, 1e-9))
}

// curvatureSignal is the least signal at which rounds that reveal the curvature pay. Below it the
// predictions with them were worse (500 to 1,000 generated rows of 5 and 20 columns at signals of
// 30 to 90: by .004 to .02 nats) and 90 % intervals covered .58 to .9, too few.
const curvatureSignal = 100

// ShowsCurvature reports whether the records can be distinguished from the noise so far that
// rounds are worth spending on the curvature.
func (f Facts) ShowsCurvature() bool { return f.signal() >= curvatureSignal }

// recordNorm returns the expected L2 norm of an encoded record. A one-hot block and the
// bias have norm 1. A number whose public range is 2 or more scales wide on a side is
// assumed to have a mean square of 1; one of a narrower range is assumed to be uniform
// over it.
func recordNorm(schema *dataset.Schema) float64 {
	square := 1.0
	for _, c := range schema.Columns {
		if c.Numeric == nil {
			square++
			continue
		}
		l := Length(c)
		square += l * l
	}
	return math.Sqrt(square)
}

// Length is the root of the mean square that an encoded column is expected to have; see recordNorm.
func Length(c dataset.Column) float64 {
	if c.Numeric == nil {
		return 1
	}
	return min(1, centre.Reach(c)/math.Sqrt(3))
}

// targetLength is the root of the mean square that an encoded target is expected to have: one that is
// encoded by its range alone is assumed to lie as a triangle over it.
func targetLength(c dataset.Column) float64 {
	if c.Numeric == nil {
		return 1
	}
	return min(1, centre.Reach(c)/math.Sqrt(6))
}

// alignment bounds the largest eigenvalue of D^-1 H, where H is the curvature of a
// generalised linear model and D its diagonal. Steps in the mean field are steps of
// Jacobi's method, and a damping above 2 over this eigenvalue diverges. Each source column
// and the bias count at most 1, which identical columns attain. One-hot blocks share the
// bias's direction, and so do numbers encoded by their range, which are away from 0: they
// count 1. Standardised numbers are centred and count 1/2: with 30 columns that allows for
// correlations of about one half between all of them.
func alignment(schema *dataset.Schema) float64 {
	sum := 1.0
	for _, c := range schema.Columns {
		if c.Numeric != nil && !centre.Off(c) {
			sum += 0.5
		} else {
			sum++
		}
	}
	return sum
}
