package collude

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"choir/attack/threat"
	"choir/privacy"
)

// falseAlarm bounds the probability that a measurement lies above the true epsilon.
const falseAlarm = 1e-9

// Measurement is what an adversary's scores show about epsilon.
type Measurement struct {
	Low     float64      `json:"low"`  // lower confidence limit, at the plan's delta
	High    float64      `json:"high"` // upper limit for this adversary if its scores are Gaussian, else 0
	AUC     float64      `json:"auc"`
	Samples int          `json:"samples"`       // of both kinds
	ROC     [][2]float64 `json:"roc,omitempty"` // false and true positive rates
}

// measure compares scores with the record and without it. A higher score means that it is there.
//
// Low is the larger one of two limits, each at half the false-alarm rate: the one of threat.Test,
// for any scores, and, if gaussian, the one for scores with Gaussian noise, where the error rates at
// one threshold determine the whole trade-off [DRS22]: mu >= z(1 - fpr) - z(fnr) with
// Clopper-Pearson limits of both.
func measure(with, without []float64, delta float64, gaussian bool) (Measurement, error) {
	m := Measurement{Samples: len(with) + len(without)}
	f, err := threat.Test{Delta: delta, FalseAlarm: falseAlarm / 2}.Epsilon(with, without)
	if err != nil {
		return m, err
	}
	m.ROC, m.AUC = roc(with, without)
	m.Low = f.Epsilon
	if !gaussian {
		return m, nil
	}
	low, high := gaussianMu(with, without)
	if low > 0 {
		m.Low = max(m.Low, privacy.GaussianEpsilon(low, delta))
	}
	m.High = max(m.Low, privacy.GaussianEpsilon(max(high, 1e-9), delta))
	return m, nil
}

// gaussianMu returns confidence limits for the distance of the means in standard deviations, from
// the error rates at 0, each at a quarter of the false-alarm rate.
func gaussianMu(with, without []float64) (low, high float64) {
	positive := func(x []float64) (n int) {
		for _, v := range x {
			if v > 0 {
				n++
			}
		}
		return n
	}
	const alpha = falseAlarm / 8
	hits, alarms := positive(with), positive(without)
	z := distuv.UnitNormal.Quantile
	low = z(threat.LowerRate(hits, len(with), alpha)) - z(threat.UpperRate(alarms, len(without), alpha))
	high = z(threat.UpperRate(hits, len(with), alpha)) - z(threat.LowerRate(alarms, len(without), alpha))
	return low, math.Min(high, 1e3)
}

// rocPoints is how many points a curve has at most.
const rocPoints = 60

// roc returns the curve of the threshold tests on a score and the area under it; ties count half.
func roc(with, without []float64) (curve [][2]float64, auc float64) {
	type scored struct {
		x    float64
		with bool
	}
	var all []scored
	for _, x := range with {
		all = append(all, scored{x, true})
	}
	for _, x := range without {
		all = append(all, scored{x, false})
	}
	slices.SortFunc(all, func(a, b scored) int {
		switch {
		case a.x > b.x:
			return -1
		case a.x < b.x:
			return 1
		}
		return 0
	})
	tp, fp := 0.0, 0.0
	n, m := float64(len(with)), float64(len(without))
	curve = append(curve, [2]float64{})
	for i := 0; i < len(all); {
		t, f := tp, fp
		for j := i; i < len(all) && all[i].x == all[j].x; i++ {
			if all[i].with {
				tp++
			} else {
				fp++
			}
		}
		auc += (fp - f) / m * (tp + t) / 2 / n
		if last := curve[len(curve)-1]; fp/m-last[0]+tp/n-last[1] >= 2.0/rocPoints || i == len(all) {
			curve = append(curve, [2]float64{fp / m, tp / n})
		}
	}
	return curve, auc
}

// wide is a number as JSON can hold it: nil for none.
func wide(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}
