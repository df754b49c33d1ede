package experiment

import (
	"math"

	"choir/learn/dataset"
)

// What no schema tells decides how much the noise costs. The advisor's twins take turns in three
// structures, at the same accuracy without privacy: columns that are loosely correlated, each with an effect
// of its own, and classes of one to two; then one factor in all columns and in the target; then besides
// classes so unequal that the majority has unequalShare of what the accuracy has above a half.
const (
	structures   = 3
	unequalShare = 0.8
	usualShift   = -0.7 // of the twins' log-odds
)

// twins are those of structure k.
func (ad *Advisor) twins(signal float64, k int) dataset.Twins {
	t := dataset.Twins{Schema: ad.Schema, Signal: signal, Joint: k > 0}
	if k < 2 || !ad.Schema.Classification() {
		return t
	}
	if ad.unequal == nil {
		ad.unequal = map[float64]dataset.Twins{}
	}
	if _, ok := ad.unequal[signal]; !ok {
		t.Signal, t.Shift = unequal(signal)
		ad.unequal[signal] = t
	}
	return ad.unequal[signal]
}

// unequal is the signal, and what it shifts the log-odds, of unequal classes that are as predictable as
// usual ones with that signal.
func unequal(signal float64) (weaker, shift float64) {
	accuracy, _ := predictable(signal, usualShift)
	share := 0.5 + unequalShare*(accuracy-0.5)
	odds := func(signal float64) float64 {
		return -bisect(0, 50, func(x float64) bool {
			_, majority := predictable(signal, -x)
			return majority < share
		})
	}
	weaker = bisect(0, signal, func(x float64) bool {
		a, _ := predictable(x, odds(x))
		return a < accuracy
	})
	return weaker, odds(weaker) - usualShift
}

// signalFor is the strength at which the best prediction of the usual twins' target has the accuracy.
func signalFor(accuracy float64) float64 {
	return bisect(0.1, 100, func(x float64) bool {
		a, _ := predictable(x, usualShift)
		return a < accuracy
	})
}

// bisect finds where below turns false.
func bisect(lo, hi float64, below func(float64) bool) float64 {
	for range 40 {
		if mid := (lo + hi) / 2; below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// predictable is the accuracy of the best prediction of a class with log-odds signal z + shift, z
// standard Gaussian, and the share of the majority.
func predictable(signal, shift float64) (accuracy, majority float64) {
	positive, weight := 0.0, 0.0
	for z := -6.0; z <= 6; z += 0.02 {
		p := 1 / (1 + math.Exp(-(signal*z + shift)))
		w := math.Exp(-z * z / 2)
		accuracy += w * math.Max(p, 1-p)
		positive += w * p
		weight += w
	}
	return accuracy / weight, math.Max(positive, weight-positive) / weight
}

// world draws the parties' rows and the rows to test on. The structures take turns.
func (ad *Advisor) world(signal float64, k int, records []int) (*Data, error) {
	t := ad.twins(signal, k%structures)
	t.Seed = ad.Seed + uint64(k/structures)
	d := &Data{Schema: ad.Schema, Columns: ad.Schema.EncodedColumns()}
	for i := range len(records) + 1 {
		part, n := uint64(i), advisedTest
		if i == len(records) {
			part = testPart
		} else {
			n = records[i]
		}
		rec, err := t.Records(part, n)
		if err != nil {
			return nil, err
		}
		table, err := rec.Encode(ad.Schema)
		if err != nil {
			return nil, err
		}
		if i == len(records) {
			d.Test = rows(table)
			return d, nil
		}
		own := rows(table)
		d.Parts = append(d.Parts, own)
		d.Train.X = append(d.Train.X, own.X...)
		d.Train.Y = append(d.Train.Y, own.Y...)
	}
	return d, nil
}
