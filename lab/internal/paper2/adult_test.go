package paper2

import (
	"math"
	"testing"

	"choir/lab/bed"
	"choir/lab/internal/twister"
	"choir/lab/study"
)

// TestAdultIsKept: the trace posterior's mean on Adult, whose columns are far from normal, is as near to the
// mode as the page of the study says: .9 standard deviations without privacy. A mean that has to be sure not
// to lose by scores where all weights are 0 alone, as normal records would have them, is 12 of them away.
// Three draws of seven weights are above 1.5 in less than one run of a thousand.
func TestAdultIsKept(t *testing.T) {
	d, _, _, err := seven("")
	if err != nil {
		t.Fatal(err)
	}
	mode, cov, err := laplace(d)
	if err != nil {
		t.Fatal(err)
	}
	rng, to := twister.New(778), &covered{}
	for draw := range uint64(3) {
		a := adultWorld{data: d, mode: mode, cov: cov, rng: rng, to: to, own: &covered{}}
		_, err := a.draw(t.Context(), study.Options{Transport: bed.Clear}, adultMethods[0], 9100+draw)
		if err != nil {
			t.Fatal(err)
		}
	}
	if miss, width := math.Sqrt(to.miss/to.n), math.Sqrt(to.width/to.n); miss > 1.5 || width > 1.6 {
		t.Errorf("error of the mean %.2f and width %.2f over those without privacy", miss, width)
	}
}
