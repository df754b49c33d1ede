package settings

import (
	"testing"

	"choir/lab/experiment"
	"choir/learn/pvi"
)

// TestDefaultsHold: off the point that they were found at, the defaults are as good as the
// majority class or the run is named, and virtual clients are far better once there are
// some thousand rows.
func TestDefaultsHold(t *testing.T) {
	for _, tc := range []struct {
		cell cell
		way  int
		gain float64 // over the majority, in nats a row; 0: none is claimed
	}{
		{cell{3, 0.5}, 0, 0},
		{cell{10, 1}, 0, 0.1},
		{cell{10, 8}, 0, 0.15},
		{cell{40, 0.5}, 0, 0.15},
		{cell{5, 1}, 1, 0},
		{cell{60, 8}, 1, 0.1},
		{cell{10, 1}, 2, 0},
		{cell{10, 1}, 3, 0},
	} {
		if testing.Short() && tc.cell.parties > 10 {
			continue
		}
		w := ways()[tc.way]
		t.Run(tc.cell.String()+", "+w.name, func(t *testing.T) {
			d, err := load(tc.cell, false, 71)
			if err != nil {
				t.Fatal(err)
			}
			o, err := try(t.Context(), d, tc.cell, w, 71)
			if err != nil {
				t.Fatal(err)
			}
			gain := o.Scores.LogLikelihood - o.Majority.LogLikelihood
			t.Logf("gain %.3f, named %v", gain, o.Named)
			if !o.holds() {
				t.Errorf("worse than the majority by %.3f nats a row, and not named", -gain)
			}
			if tc.gain > 0 && (gain < tc.gain || o.Named) {
				t.Errorf("a gain of %.3f over the majority, want %.2f; named: %v", gain, tc.gain, o.Named)
			}
		})
	}
}

// TestRegressionsHold: linear regression by other means than statistics predicts as well as the mean of
// the targets, or the run is named.
func TestRegressionsHold(t *testing.T) {
	var worse, unnamed int
	for _, c := range []cell{{3, 8}, {10, 8}, {3, 1}, {30, 8}} {
		d, err := load(c, true, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []pvi.StrategyName{pvi.NameDataset, pvi.NameAnalytic, pvi.NameVirtual} {
			if name == pvi.NameVirtual && c.parties > 3 {
				continue
			}
			t.Run(c.String()+", "+string(name), func(t *testing.T) {
				w := way{name: string(name), strategy: name, method: experiment.MethodPVI, linear: true}
				o, err := try(t.Context(), d, c, w, 1)
				if err != nil {
					t.Fatal(err)
				}
				gain := o.Scores.LogLikelihood - o.Majority.LogLikelihood
				t.Logf("gain %.3f, named %v", gain, o.Named)
				if !o.holds() {
					t.Errorf("worse than the mean by %.3f nats a row, and not named", -gain)
				}
				if gain < -0.01 {
					worse++
				}
				if !o.Named {
					unnamed++
				}
			})
		}
	}
	if worse == 0 || unnamed == 0 {
		t.Errorf("%d runs worse than the mean, %d not named: nothing is told apart", worse, unnamed)
	}
}
