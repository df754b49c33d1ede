package paper2

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// pageRow is a row of a study's page, with the standard error of its mean.
type pageRow struct {
	Case   string    `json:"case"`
	Method string    `json:"method"`
	Ours   float64   `json:"ours"`
	Values []float64 `json:"values"`
}

func (r pageRow) standardError() float64 {
	n, square := float64(len(r.Values)), 0.0
	for _, v := range r.Values {
		square += (v - r.Ours) * (v - r.Ours)
	}
	return math.Sqrt(square / n / (n - 1))
}

// onPage compares the rows of a case on a study's page, by method, with values and how far they may be
// off: with standardErrors, four standard errors of the difference from a value with the given one.
func onPage(t *testing.T, study, of string, standardErrors bool, want map[string][2]float64) {
	t.Helper()
	seen := 0
	for _, r := range rowsOf(t, study) {
		w, ok := want[r.Method]
		if !ok || r.Case != of {
			continue
		}
		seen++
		off := w[1]
		if standardErrors {
			off = 4 * math.Hypot(off, r.standardError())
		}
		if !(math.Abs(r.Ours-w[0]) <= off) {
			t.Errorf("%s: %s is %v, want %v +- %v", r.Case, r.Method, r.Ours, w[0], off)
		}
	}
	if seen != len(want) {
		t.Errorf("%s: the page has %d of the rows %v", of, seen, want)
	}
}

// rowsOf are the rows of a study's page.
func rowsOf(t *testing.T, study string) []pageRow {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/figures/results/" + study + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var page struct {
		Rows []pageRow `json:"rows"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		t.Fatal(err)
	}
	return page.Rows
}

// TestMixturePage: the acceptances, the shares of clipped ratios, the batches' variances and the Langevin
// chains' of the study's page are those of chains that were run independently, and the errors too within
// what is random.
func TestMixturePage(t *testing.T) {
	onPage(t, "paper2-mixture", "N0 = 100", false, map[string][2]float64{
		"barker, batches, acceptance":                                          {0.4432249999999981, 0.01},
		"penalty, batches, acceptance":                                         {0.42815499999999884, 0.01},
		"barker, all records, acceptance":                                      {0.4435849999999967, 0.01},
		"barker without privacy, acceptance":                                   {0.4430274999999981, 0.01},
		"penalty, all records, mu 0.0064, acceptance":                          {0.4185849999999972, 0.01},
		"barker, batches, clipped":                                             {0.00762, 0.0015},
		"barker, batches, variance of a batch":                                 {0.058, 0.002},
		"Langevin as in the authors' code, variance over the truth of theta 1": {0.7031639097043394, 0.03},
		"Langevin as in the authors' code, variance over the truth of theta 2": {0.7239793052189255, 0.03},
		"Langevin with its half, variance over the truth of theta 1":           {1.0068976958793112, 0.04},
		"Langevin with its half, variance over the truth of theta 2":           {1.0045156674026297, 0.04},
	})
	onPage(t, "paper2-mixture", "N0 = 10,000 at (1, 2e-6)", false, map[string][2]float64{
		"penalty, acceptance": {0.48292499999999755, 0.01},
	})
	onPage(t, "paper2-mixture", "N0 = 1,000 at (1, 2e-6)", false, map[string][2]float64{
		"penalty, acceptance": {0.5775833333333339, 0.01},
	})
	onPage(t, "paper2-mixture", "N0 = 10,000 at (1, 2e-6) in 5000 rounds", false, map[string][2]float64{
		"penalty, acceptance": {0.5417888888888885, 0.01},
	})
	onPage(t, "paper2-mixture", "all records at (1, 2e-6), 2100 rounds", false, map[string][2]float64{
		"penalty, acceptance of the last stage": {0.20913333333333273, 0.01},
	})
	onPage(t, "paper2-mixture", "N0 = 100, Figure 1c", false, map[string][2]float64{
		"barker, batches, clipped at proposals of variance 0.005": {0.0013958333333333318, 0.0003},
		"barker, batches, clipped at proposals of variance 0.01":  {0.007620000000000002, 0.001},
		"barker, batches, clipped at proposals of variance 0.015": {0.016000000000000004, 0.002},
		"barker, batches, clipped at proposals of variance 0.02":  {0.02540416666666668, 0.003},
	})
	onPage(t, "paper2-mixture", "N0 = 100", true, map[string][2]float64{
		"barker, batches, error of the mean of theta 1":        {0.0620, 0.0096},
		"barker, batches, error of the mean of theta 2":        {0.1211, 0.0185},
		"barker, batches, error of the variance of theta 1":    {0.0191, 0.0038},
		"barker, batches, error of the variance of theta 2":    {0.0775, 0.0130},
		"penalty, batches, error of the mean of theta 1":       {0.0648, 0.0109},
		"penalty, batches, error of the mean of theta 2":       {0.1237, 0.0212},
		"barker without privacy, error of the mean of theta 1": {0.0993, 0.0101},
		"barker without privacy, error of the mean of theta 2": {0.1940, 0.0198},
	})
	onPage(t, "paper2-mixture", "N0 = 10,000 at (1, 2e-6)", true, map[string][2]float64{
		"penalty, error of the mean of theta 1": {0.007, 0.0015},
		"penalty, error of the mean of theta 2": {0.015, 0.003},
	})
	onPage(t, "paper2-mixture", "all records at (1, 2e-6), 2100 rounds", true, map[string][2]float64{
		"penalty, error of the mean in sd, theta 1": {0.4646, 0.069},
		"penalty, error of the mean in sd, theta 2": {0.4894, 0.069},
	})
}

// TestBananaPage: the errors and acceptances on a curved posterior are those of chains that were run
// independently, and chains that start in it stay.
func TestBananaPage(t *testing.T) {
	onPage(t, "mcmc-banana", "epsilon 4", true, map[string][2]float64{
		"penalty, error of the mean": {0.24526894006085867, 0.0283},
		"hmc, error of the mean":     {0.174508086179011, 0.0298},
	})
	onPage(t, "mcmc-banana", "epsilon 6", true, map[string][2]float64{
		"penalty, error of the mean": {0.22105974847466295, 0.0299},
		"hmc, error of the mean":     {0.2363915938215862, 0.0210},
	})
	onPage(t, "mcmc-banana", "epsilon 10", true, map[string][2]float64{
		"penalty, error of the mean": {0.1554824062609072, 0.0239},
		"hmc, error of the mean":     {0.17298996969498856, 0.0399},
	})
	onPage(t, "mcmc-banana", "epsilon 4", false, map[string][2]float64{
		"penalty, acceptance": {0.4444, 0.02},
		"hmc, acceptance":     {0.775, 0.04},
	})
	onPage(t, "mcmc-banana", "epsilon 6", false, map[string][2]float64{
		"penalty, acceptance": {0.4369, 0.02},
		"hmc, acceptance":     {0.7492, 0.04},
	})
	onPage(t, "mcmc-banana", "epsilon 10", false, map[string][2]float64{
		"penalty, acceptance": {0.4094, 0.02},
		"hmc, acceptance":     {0.7667, 0.02},
	})
	onPage(t, "mcmc-banana", "from the posterior", false, map[string][2]float64{
		"penalty, variance over the truth of t1":           {1, 0.03},
		"penalty, variance over the truth of t2 + 20 t1^2": {1, 0.03},
		"hmc, variance over the truth of t1":               {1, 0.03},
		"hmc, variance over the truth of t2 + 20 t1^2":     {1, 0.03},
	})
}

// TestAdultPage: coverage, widths and errors are about those of posteriors that were computed
// independently: the trace posterior at epsilon 1, from noisy gradients at 2 to 6, and without privacy.
func TestAdultPage(t *testing.T) {
	const study = "mcmc-adult"
	const few = 0.065 // four standard errors of the difference of 672 intervals and their 252
	onPage(t, study, "50 % intervals", false, map[string][2]float64{
		"trace": {0.5238, 0.05}, "trace, epsilon 2": {0.5278, 0.06}, "trace, epsilon 4": {0.5159, 0.06},
		"trace, epsilon 6": {0.4881, 0.06}, "without privacy": {0.5, 0.04},
	})
	onPage(t, study, "90 % intervals", false, map[string][2]float64{
		"trace": {0.8869, 0.05}, "trace, epsilon 2": {0.8849, 0.05}, "trace, epsilon 4": {0.8929, 0.05},
		"trace, epsilon 6": {0.9206, 0.05}, "without privacy": {0.9048, 0.04},
	})
	onPage(t, study, "95 % intervals", false, map[string][2]float64{
		"trace": {0.9405, 0.04}, "trace, epsilon 2": {0.9603, few}, "trace, epsilon 4": {0.9246, few},
		"trace, epsilon 6": {0.9524, few}, "without privacy": {0.9484, 0.04},
	})
	onPage(t, study, "width over no privacy", false, map[string][2]float64{
		"trace": {1.2762, 0.1}, "trace, epsilon 2": {1.1194, 0.1}, "trace, epsilon 4": {1.0374, 0.1},
	})
	// Weights that don't know the class leave less noise than these posteriors' clips: errors are below
	// theirs. A posterior that counts an error e is sqrt(1 + e^2) times as wide as without privacy.
	theirs := map[string]float64{"trace": 0.8205, "trace, epsilon 2": 0.588, "trace, epsilon 4": 0.434,
		"trace, epsilon 6": 0.366}
	errs := ofPage(t, study, "error in standard deviations without privacy")
	widths := ofPage(t, study, "width over no privacy")
	for method, most := range theirs {
		e, ok := errs[method]
		if !ok || !(e > 0 && e < most) {
			t.Errorf("%s: error %v, want less than %v", method, e, most)
		}
		if want := math.Hypot(1, e); !(math.Abs(widths[method]-want) < 0.1) {
			t.Errorf("%s: width %v, want %v +- .1", method, widths[method], want)
		}
	}
}

// ofPage is what the rows of a case say, by method.
func ofPage(t *testing.T, study, of string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, r := range rowsOf(t, study) {
		if r.Case == of {
			out[r.Method] = r.Ours
		}
	}
	return out
}
