package collude

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
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
	Samples int          `json:"samples"`          // of both kinds
	ROC     [][2]float64 `json:"roc,omitempty"`    // false and true positive rates
	Method  string       `json:"method,omitempty"` // of the lower limit, if it is not from error rates or means
	Records []RecordRisk `json:"records,omitempty"`
}

// RecordRisk is what membership inference shows about one record.
type RecordRisk struct {
	Length   float64  `json:"length"`      // of the record, as a share of the clip
	Claimed  *float64 `json:"claimed"`     // epsilon of this record; null: no bound
	Measured float64  `json:"measured"`    // epsilon at least, for an adversary who knows the other records
	AUC      float64  `json:"auc"`         // of that adversary
	AtOne    float64  `json:"tpr_at_1pct"` // its true positive rate at a false positive rate of 1 %
	Unknown  float64  `json:"auc_unknown"` // the area if only the population of the other records is known
	MostAUC  float64  `json:"auc_allowed"` // the largest one that (epsilon, delta) allows
	Samples  int      `json:"samples"`
}

// A shape is what is known of scores.
type shape int

const (
	anyShape   shape = iota
	ofGaussian       // any function of a view with Gaussian noise
	gaussian         // Gaussian themselves, of one variance with the record and without it
)

// sample is scores of runs with the record and of runs without it.
type sample struct{ with, without []float64 }

func (s *sample) add(with bool, x float64) {
	if with {
		s.with = append(s.with, x)
	} else {
		s.without = append(s.without, x)
	}
}

// measure compares scores with the record and without it. A higher score means that it is there. one is
// about one record, group about a number of records of the same size at once; group may be empty.
//
// Low is the largest one of several limits, whose false-alarm rates add up to falseAlarm: the one of
// threat.Test, for any scores about one record, and those that the shape allows. Gaussian noise makes the
// whole trade-off follow from mu, the distance of the means in standard deviations [DRS22]: for a
// function of such a view mu >= z(1 - fpr) - z(fnr) at any threshold, with Clopper-Pearson limits of both
// rates, and Gaussian scores have a confidence interval for mu itself. For a group of k records it is at
// most k times that of one [DRS22, Theorem 2.14], so that a limit for the group is one for a record
// when it is divided by k.
func measure(one, group sample, records int, delta float64, s shape) (Measurement, error) {
	m := Measurement{Samples: len(one.with) + len(one.without)}
	f, err := threat.Test{Delta: delta, FalseAlarm: falseAlarm / 2}.Epsilon(one.with, one.without)
	if err != nil {
		return m, err
	}
	m.ROC, m.AUC = roc(one)
	m.Low = f.Epsilon
	if s == anyShape {
		return m, nil
	}
	low, high := s.mu(one)
	if len(group.with) > 1 && len(group.without) > 1 {
		of, most := s.mu(group)
		low, high = max(low, of/float64(records)), min(high, most/float64(records))
	}
	if low > 0 {
		m.Low = max(m.Low, privacy.GaussianEpsilon(min(low, mostMu), delta))
	}
	m.High = max(m.Low, privacy.GaussianEpsilon(min(max(high, 1e-9), mostMu), delta))
	return m, nil
}

// mostMu is the largest distance of means that a measurement tells: without noise it is infinite.
const mostMu = 40

// muAlarm is the false-alarm rate of each of the two limits from which one of mu follows.
const muAlarm = falseAlarm / 16

// mu returns confidence limits for mu, for a sample with scores of both kinds.
func (s shape) mu(x sample) (low, high float64) {
	if s == gaussian {
		return meanMu(x)
	}
	return rateMu(x)
}

// rateMu returns confidence limits for mu from the error rates at 0.
func rateMu(x sample) (low, high float64) {
	positive := func(x []float64) (n int) {
		for _, v := range x {
			if v > 0 {
				n++
			}
		}
		return n
	}
	hits, alarms, n, m := positive(x.with), positive(x.without), len(x.with), len(x.without)
	z := distuv.UnitNormal.Quantile
	low = z(threat.LowerRate(hits, n, muAlarm)) - z(threat.UpperRate(alarms, m, muAlarm))
	high = z(threat.UpperRate(hits, n, muAlarm)) - z(threat.LowerRate(alarms, m, muAlarm))
	return low, high
}

// meanMu returns confidence limits for mu from the means and the pooled variance: the difference of
// the means is off by more than z of its deviations, or the variance beyond its chi-square limit.
func meanMu(x sample) (low, high float64) {
	m1, v1 := stat.MeanVariance(x.with, nil)
	m0, v0 := stat.MeanVariance(x.without, nil)
	n1, n0 := float64(len(x.with)), float64(len(x.without))
	free := n1 + n0 - 2
	chi := distuv.ChiSquared{K: free}
	sum := v1*(n1-1) + v0*(n0-1)
	if sum == 0 && m1 == m0 {
		return 0, math.Inf(1)
	}
	if sum == 0 {
		return math.Inf(int(math.Copysign(1, m1-m0))), math.Inf(1)
	}
	most, least := math.Sqrt(sum/chi.Quantile(muAlarm)), math.Sqrt(sum/chi.Quantile(1-muAlarm))
	off := distuv.UnitNormal.Quantile(1-muAlarm) * math.Sqrt(1/n1+1/n0)
	return (m1-m0)/most - off, (m1-m0)/least + off
}

// rateAt is the true positive rate of a curve at a false positive rate, between its points.
func rateAt(curve [][2]float64, rate float64) float64 {
	for i := 1; i < len(curve); i++ {
		a, b := curve[i-1], curve[i]
		if b[0] >= rate {
			if b[0] == a[0] {
				return b[1]
			}
			return a[1] + (b[1]-a[1])*(rate-a[0])/(b[0]-a[0])
		}
	}
	return 1
}

// mostAUC is the largest area under a curve that (epsilon, delta) allows: the false negative rate at a
// false positive rate x is at least 1 - delta - e^epsilon x and e^-epsilon (1 - delta - x).
func mostAUC(epsilon, delta float64) float64 {
	if math.IsInf(epsilon, 1) {
		return 1
	}
	at, e := (1-delta)/(1+math.Exp(epsilon)), math.Exp(epsilon)
	left := 1 - delta - at
	return 1 - (1-delta)*at + e*at*at/2 - left*left/e/2
}

// leastAUC is a lower confidence limit of an area that was measured, from Hoeffding's inequality for a
// statistic of pairs.
func leastAUC(auc float64, with, without int) float64 {
	return auc - math.Sqrt(-math.Log(falseAlarm)/2/float64(min(with, without)))
}

// rocPoints is how many points a curve has at most.
const rocPoints = 60

// roc returns the curve of the threshold tests on a score and the area under it; ties count half.
func roc(s sample) (curve [][2]float64, auc float64) {
	type scored struct {
		x    float64
		with bool
	}
	var all []scored
	for _, x := range s.with {
		all = append(all, scored{x, true})
	}
	for _, x := range s.without {
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
	n, m := float64(len(s.with)), float64(len(s.without))
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
