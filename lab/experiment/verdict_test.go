package experiment

import (
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/pvi"
)

// TestVerdict: the sentence agrees with the scores that it is about.
func TestVerdict(t *testing.T) {
	refs := References{Majority: Scores{0.64, -0.65}, BestSingleParty: Scores{0.80, -0.44},
		MedianSingleParty: Scores{0.78, -0.46}, BestSinglePartyPrivate: Scores{0.70, -0.58},
		MedianSinglePrivate: Scores{0.69, -0.59}}
	for _, tc := range []struct {
		name   string
		scores Scores
		want   string
	}{
		{"worse than the majority", Scores{0.6, -0.70}, "worse than predicting the majority class"},
		{"better in both", Scores{0.81, -0.43}, "Joining pays: together"},
		{"better in log-likelihood alone", Scores{0.79, -0.43}, "In accuracy, 0.790, they are no better"},
		{"better than most", Scores{0.79, -0.45}, "Joining pays for most"},
		{"better under privacy", Scores{0.75, -0.50}, "Joining pays for parties that need privacy"},
		{"no gain", Scores{0.70, -0.60}, "joining does not pay here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := verdict(tc.scores, refs, 1, false, false, false); !strings.Contains(got, tc.want) {
				t.Errorf("%q lacks %q", got, tc.want)
			}
		})
	}
}

// TestVerdictOfNothing: a session that even odds or the majority class equal tells nothing, however badly a
// party alone overfits.
func TestVerdictOfNothing(t *testing.T) {
	alone := Scores{0.71, -0.713}
	for _, tc := range []struct {
		scores, majority Scores
		want             string
	}{
		{Scores{0.44, -0.694}, Scores{0.44, -0.704}, "tells nothing here that needs the columns: log-likelihood " +
			"-0.694 together, -0.693 for even odds"},
		{Scores{0.64, -0.655}, Scores{0.64, -0.650}, "-0.655 together, -0.650 for the majority class"},
		{Scores{0.64, -0.692}, Scores{0.44, -0.704}, "Joining pays"},
	} {
		refs := References{Majority: tc.majority, BestSingleParty: alone, MedianSingleParty: alone,
			BestSinglePartyPrivate: alone, MedianSinglePrivate: alone}
		if got := verdict(tc.scores, refs, 1, false, false, false); !strings.Contains(got, tc.want) {
			t.Errorf("%q lacks %q", got, tc.want)
		}
	}
}

// TestVerdictNeedsTheMedian: joining pays only if the session is above the median party, too, which the one
// that held-out rows choose may be below.
func TestVerdictNeedsTheMedian(t *testing.T) {
	refs := References{Majority: Scores{0.64, -0.65}, BestSingleParty: Scores{0.78, -0.46},
		MedianSingleParty: Scores{0.80, -0.44}, BestSinglePartyPrivate: Scores{0.70, -0.58},
		MedianSinglePrivate: Scores{0.69, -0.59}}
	for _, tc := range []struct {
		scores Scores
		want   string
	}{
		{Scores{0.81, -0.43}, "Joining pays: together"},
		{Scores{0.79, -0.43}, "In accuracy, 0.790, they are no better"},
		{Scores{0.79, -0.45}, "Joining pays for parties that need privacy"},
		{Scores{0.79, -0.60}, "joining does not pay here"},
	} {
		if got := verdict(tc.scores, refs, 1, false, false, false); !strings.Contains(got, tc.want) {
			t.Errorf("%q lacks %q", got, tc.want)
		}
	}
}

// TestVerdictOfNumbers: where even exact sums end below the mean of the targets, the cause isn't the noise.
func TestVerdictOfNumbers(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		exact      float64
		statistics bool
		tail       bool
	}{{"noise_sd", "noise_sd is far from", 0.2, false, false}, {"noise", "too little data", 0.9, false, false},
		{"long tail", "Learn their logarithm", 0.2, true, false},
		{"noise on statistics", "too little data", 0.9, true, false},
		{"long tail that exact sums bear", "Learn their logarithm", 0.9, true, true}} {
		t.Run(tc.name, func(t *testing.T) {
			refs := References{Majority: Scores{0, 0.3}, NonPrivate: Scores{0.7, tc.exact}}
			got := verdict(Scores{-0.2, 0}, refs, 1, true, tc.statistics, tc.tail)
			if !strings.Contains(got, tc.want) || !strings.Contains(got, "the mean of the targets") {
				t.Errorf("%q lacks %q", got, tc.want)
			}
		})
	}
}

// TestScoresFromTheAggregatorsLog: a line of the aggregator's process becomes the scores of a round.
func TestScoresFromTheAggregatorsLog(t *testing.T) {
	for _, tc := range []struct {
		name  string
		model bayes.Model
		want  Scores
	}{
		{"classes", bayes.Logistic, Scores{0.75, -0.5}},
		{"numbers", bayes.Linear, Scores{0.75, -0.5}}, // 1 - 0.5^2 over a variance of 1
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &demoRun{Demo: &Demo{Model: tc.model}, data: &Data{Test: bayes.Data{Y: []float64{-1, 1}}}}
			w := &watch{run: r, agg: "agg", scores: map[uint32]*Scores{}}
			line := `{"event":"scores","round":3,"accuracy":0.75,"rmse":0.5,"log_likelihood":-0.5}`
			w.line("party", []byte(line))
			if len(w.scores) != 0 {
				t.Error("taken from a party")
			}
			w.line("agg", []byte(line))
			if s := w.scores[3]; s == nil || *s != tc.want {
				t.Errorf("%+v, want %+v", s, tc.want)
			}
		})
	}
}

// TestNetworkAloneIsTrained: the reference of a network is trained to its end, which few rows take more
// rounds of than a session has.
func TestNetworkAloneIsTrained(t *testing.T) {
	s := Source{Rows: 500, Seed: 4020, Parties: 1, Train: 0.6}
	d, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	like := pvi.Config{Model: bayes.BNN, Features: d.Schema.Dim(), Hidden: 5, Samples: 2, PriorPrecision: 1,
		StartSpread: 0.4}
	q, err := settled(t.Context(), like, d.Train)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.evaluate(q, false)
	if err != nil {
		t.Fatal(err)
	}
	gain := got.LogLikelihood - d.Majority(false).LogLikelihood
	t.Logf("gain %.3f", gain)
	if gain < 0.08 {
		t.Errorf("log-likelihood %.3f, a gain of %.3f over the majority, want .08 or more", got.LogLikelihood, gain)
	}
}
