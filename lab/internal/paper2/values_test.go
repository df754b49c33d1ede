package paper2

import (
	"math"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"choir/learn/bayes"
	"choir/learn/mcmc"
	"choir/privacy"
	"choir/privacy/pld"
)

// onGrid is a walk of normal steps on a grid of N(0, 1): the total variation between its stationary law
// and that law, the variance of its stationary law, and its acceptance.
func onGrid(sd float64, accept func(delta float64) float64) (distance, variance, acceptance float64) {
	const half, cell = 140, 0.05
	n := 2*half + 1
	at := func(i int) float64 { return cell * float64(i-half) }
	density := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
	target, move := make([]float64, n), make([]float64, n*n)
	total := 0.0
	for i := range n {
		target[i] = density(at(i)) * cell
		total += target[i]
		stay := 1.0
		for j := range n {
			if i != j {
				step := density((at(j)-at(i))/sd) / sd * cell
				move[i*n+j] = step * accept((at(i)*at(i)-at(j)*at(j))/2)
				stay -= move[i*n+j]
			}
		}
		move[i*n+i] = stay
		acceptance += target[i] * (1 - stay)
	}
	law := make([]float64, n)
	for i := range law {
		law[i] = target[i] / total
	}
	for range 400 {
		next := make([]float64, n)
		for i, w := range law {
			for j, m := range move[i*n : (i+1)*n] {
				next[j] += w * m
			}
		}
		law = next
	}
	for i, w := range law {
		distance += math.Abs(w-target[i]/total) / 2
		variance += w * at(i) * at(i)
	}
	return distance, variance, acceptance / total
}

// TestStationaryValues: stationary laws of walks on N(0, 1) under three tests, computed independently.
func TestStationaryValues(t *testing.T) {
	barker := mcmc.Atoms{At: []float64{0, 2.951, 9.187}, Weight: []float64{0.8659, 0.13186, 0.00224}}
	logistic := func(d float64) float64 { return 1 / (1 + math.Exp(-d)) }
	penalty := func(variance float64) func(float64) float64 {
		return func(d float64) float64 { return mcmc.PenaltyAcceptance(d, variance) }
	}
	for _, c := range []struct {
		name                           string
		accept                         func(float64) float64
		sd                             float64
		distance, variance, acceptance float64
	}{
		{"barker, 2", func(d float64) float64 { return barker.BarkerAcceptance(d, 2) }, 1, 0.0003962233659224929,
			1.0006324401472708, 0.4071751478987387},
		{"barker, 2", func(d float64) float64 { return barker.BarkerAcceptance(d, 2) }, 2.4,
			0.00045925543262102136, 1.001558528681411, 0.27133616161029495},
		{"barker, 2", func(d float64) float64 { return barker.BarkerAcceptance(d, 2) }, 5, 0.0004864951005725818,
			1.002170635740225, 0.1515149958099022},
		{"barker, exact", logistic, 1, 0, 1, 0.40713849415676884},
		{"barker, exact", logistic, 2.4, 0, 1, 0.2712991547469681},
		{"barker, exact", logistic, 5, 0, 1, 0.15147662346856763},
		{"penalty, 1", penalty(1), 1, 0, 1, 0.4951529109767881},
		{"penalty, 1", penalty(1), 2.4, 0, 1, 0.3264958350569946},
		{"penalty, 1", penalty(1), 5, 0, 1, 0.1815547038879655},
		{"penalty, 2", penalty(2), 1, 0, 1, 0.3934187399870314},
		{"penalty, 2", penalty(2), 2.4, 0, 1, 0.2633590352852846},
		{"penalty, 2", penalty(2), 5, 0, 1, 0.14728316847211986},
		{"penalty, 5.7", penalty(5.7), 1, 0, 1, 0.19618986960661383},
		{"penalty, 5.7", penalty(5.7), 2.4, 0, 1, 0.13468370911339195},
		{"penalty, 5.7", penalty(5.7), 5, 0, 1, 0.07612898254250793},
	} {
		if testing.Short() && c.sd != 2.4 {
			continue
		}
		distance, variance, acceptance := onGrid(c.sd, c.accept)
		// The variance without tails beyond 7 is 1 - 10^-10.
		near(t, c.name+", variance", variance, c.variance, 1e-6)
		near(t, c.name+", acceptance", acceptance, c.acceptance, 1e-6)
		if math.Abs(distance-c.distance) > 1e-9+1e-3*c.distance {
			t.Errorf("%s, steps of %v: total variation %v, want %v", c.name, c.sd, distance, c.distance)
		}
	}
}

// TestWalkValues: acceptance of walks with normal steps of deviation l/sqrt(d) a coordinate on N(0, I) of
// d dimensions under the penalty test: the mean of 2 Phi(-sqrt(|step|^2 + C)/2) over the step's length,
// against simulations, which have standard errors of up to 0.001.
func TestWalkValues(t *testing.T) {
	for _, c := range []struct{ d, l, variance, want float64 }{
		{2, 0.5, 2, 0.45377333333333336}, {2, 0.5, 5.5, 0.23082166666666643}, {2, 1, 2, 0.39576333333333297},
		{2, 1, 5.5, 0.20678833333333355}, {2, 2.38, 2, 0.230905}, {2, 2.38, 5.5, 0.12406500000000004},
		{10, 0.5, 2, 0.45298166666666656}, {10, 0.5, 5.5, 0.23075666666666644}, {10, 1, 2, 0.38876999999999984},
		{10, 1, 5.5, 0.20335833333333356}, {10, 2.38, 2, 0.1816733333333332}, {10, 2.38, 5.5, 0.10235833333333347},
		{30, 0.5, 2, 0.452563333333333}, {30, 0.5, 5.5, 0.23002833333333308}, {30, 1, 2, 0.38751499999999994},
		{30, 1, 5.5, 0.20299500000000015}, {30, 2.38, 2, 0.17135999999999987}, {30, 2.38, 5.5, 0.09779833333333342},
	} {
		sum, mass := 0.0, 0.0
		for x := 0.005; x < 20*c.d; x += 0.01 { // chi-squared
			w := math.Exp((c.d/2-1)*math.Log(x) - x/2)
			mass += w
			sum += w * math.Erfc(math.Sqrt((c.l*c.l*x/c.d+c.variance)/8))
		}
		if got := sum / mass; math.Abs(got-c.want) > 0.003 {
			t.Errorf("%v dimensions, l %v, C %v: acceptance %.5f, want %.5f", c.d, c.l, c.variance, got, c.want)
		}
	}
}

// TestRelaxationValues: what a budget buys of jumps, by the law of docs/mcmc.md.
func TestRelaxationValues(t *testing.T) {
	for _, c := range []struct{ variance, want float64 }{{2, 0.11987503054673834}, {5.7, 0.1657148015272714}} {
		near(t, "relaxations", c.variance*mcmc.PenaltyAcceptance(0, c.variance)/8, c.want, 1e-6)
	}
	// Adult's weights: 5 % of the budget is the whitening's, 10 % the curvature's, 24 of 80 rounds the
	// search's.
	for epsilon, want := range map[float64]float64{1: 1.206249637064158, 2: 1.0630016800169217,
		4: 1.0189296828988403, 6: 1.009487888439092} {
		mu, err := privacy.GaussianMu(epsilon, 1e-5)
		if err != nil {
			t.Fatal(err)
		}
		left := mu * mu * 0.95 * 0.9 * 56 / 80
		near(t, "ratio of deviations", math.Sqrt(1+4*0.0699429*0.0699429/left), want, 1e-6)
	}
}

// TestBatchValues: divergences of the neighbours that are worst for batches of 1,000 whose noise is 2
// less the batch's variance: all ratios at the clip, and -1 replaced by 1.
func TestBatchValues(t *testing.T) {
	const b = 1000.0
	for _, c := range []struct{ alpha, mean, want float64 }{
		{2, 0, 0.003999996000004}, {3, 0, 0.005999994000005999},
		{10, -0.025, 0.020006513026230778}, {20, -0.05, 0.04005628154445433},
	} {
		before, after := c.mean-1/b, c.mean+1/b
		v1, v2 := 2-(1-before*before), 2-(1-after*after)
		divergence := func(p, q float64) float64 {
			mixed := c.alpha*q + (1-c.alpha)*p
			shift := 2 / math.Sqrt(b)
			return math.Log(q/p)/2 + math.Log(q/mixed)/(2*(c.alpha-1)) + c.alpha*shift*shift/(2*mixed)
		}
		got := divergence(v1, v2)
		near(t, "divergence", got, c.want, 2e-6)
		if bound := repaired(c.alpha, b); got > bound {
			t.Errorf("order %v: %v is above the bound %v", c.alpha, got, bound)
		}
	}
}

// TestStartValues: the steps of deviation 10 on samples of 10^-4 from which the authors' chains start,
// for neighbours that add or replace a record. The figures are upper bounds on a grid.
func TestStartValues(t *testing.T) {
	for mu, want := range map[float64]float64{0.1: 0.0007791709446485599, 0.2: 0.0017905963303617401} {
		term := pld.Term{Kind: pld.Amplified, Mu: mu, Rate: 1e-4, Count: 1000}
		upper, err := pld.Upper([]pld.Term{term}, 1e-6, pld.Precision{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "epsilon", upper, want, 1e-3)
		if upper > want*(1+1e-6) {
			t.Errorf("distance %v: epsilon is %v, more than %v", mu, upper, want)
		}
	}
}

// TestSampledValues: epsilon of batches under public noise, whose bounds were computed before. Those on a
// coarser grid, also from above, are 3 and 4 % larger, and no smaller one than the lower bounds holds.
func TestSampledValues(t *testing.T) {
	for _, c := range []struct{ sigma, lower, want, coarse float64 }{
		{1, 0.0299109, 0.0306908, 0.031558566994364025}, {math.Sqrt2, 0.0205469, 0.0209289, 0.021760511600879003},
	} {
		got, err := sampled(c.sigma, 1000, 1000000, 20000, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "epsilon", got, c.want, 1e-4)
		if got < c.lower || got > c.coarse {
			t.Errorf("sigma %v: epsilon %v is not between %v and %v", c.sigma, got, c.lower, c.coarse)
		}
	}
}

// TestMixtureValues: the authors' records, and the posterior tempered to 100 of them by quadrature.
func TestMixtureValues(t *testing.T) {
	if testing.Short() {
		return // a million records
	}
	x := mixtureData(1000000)
	mean, square := 0.0, 0.0
	for _, v := range x {
		mean += v / 1e6
	}
	for _, v := range x {
		square += (v - mean) * (v - mean) / 1e6
	}
	near(t, "mean", mean, 0.4989762313518934, 1e-9)
	near(t, "variance", square, 2.251660661790856, 1e-9)
	at, n := bins(x, 250)
	got, variance, both := truth(at, n, 100, point{-2.2, -3.2}, point{3.2, 3.2}, 121)
	for j, want := range []point{{0.48891444678576146, 0.20146344231003616}, {0.017975882293801072,
		0.7221721774178618}} {
		if math.Abs(got[j]-want[0]) > 0.002 || math.Abs(variance[j]-want[1]) > 0.002 {
			t.Errorf("theta %d: %v, %v, want %v", j+1, got[j], variance[j], want)
		}
	}
	if math.Abs(both+0.3602267871729647) > 0.002 {
		t.Errorf("the covariance is %v, want -0.36023", both)
	}
}

// scored are the accuracy of weights, the mean log-likelihood and the calibration error in ten bins.
func scored(d bayes.Data, w []float64) (scores [3]float64) {
	n := float64(len(d.Y))
	var excess [10]float64
	for i, y := range d.Y {
		a := 0.0
		for j, v := range w {
			a += v * d.X[i*len(w)+j]
		}
		p := 1 / (1 + math.Exp(-a))
		if (p > 0.5) == (y > 0.5) {
			scores[0] += 1 / n
		}
		scores[1] += (y*math.Log(p) + (1-y)*math.Log1p(-p)) / n
		excess[min(9, int(10*p))] += (y - p) / n
	}
	for _, e := range excess {
		scores[2] += math.Abs(e)
	}
	return scores
}

// TestAdultValues: Adult's posterior without privacy.
func TestAdultValues(t *testing.T) {
	d, test, cut, err := seven(os.Getenv("CHOIR_DATA"))
	if err != nil {
		t.Fatal(err)
	}
	mode, cov, err := laplace(d)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "share of rows that are cut", float64(cut)/float64(len(d.Y)), 0.05739995700377753, 1e-9)
	var eigen mat.EigenSym
	if !eigen.Factorize(cov, false) {
		t.Fatal("no eigenvalues")
	}
	values := eigen.Values(nil)
	for i, want := range []float64{387.9513222908301, 1229.278710881678, 1325.350651087542, 2026.9333579539737,
		3010.6807150110344, 3504.3591497803027, 8257.41548723916} {
		near(t, "eigenvalue of the curvature", 1/values[len(values)-1-i], want, 1e-6)
	}
	scores := scored(test, mode)
	for i, want := range []float64{0.837172163871998, -0.34131631717568034, 0.020700403699846204} {
		if math.Abs(scores[i]-want) > 0.001 {
			t.Errorf("scores of the test rows are %v, the %d-th should be %v", scores, i, want)
		}
	}
	names := strings.Fields("age education hours male married gain bias")
	for j, want := range []point{{0.4344567069561868, 0.02128958083793418}, {0.9269581244577879,
		0.019137511070511638}, {0.41102428460425305, 0.018566913476142928}, {0.047875333158340694,
		0.023791795766277844}, {1.1882255128563288, 0.022750156875316774}, {1.7110195246557107,
		0.05030714290408395}, {-1.9876279669616264, 0.024473778898017672}} {
		near(t, names[j], mode[j], want[0], 1e-6)
		near(t, names[j]+", deviation", math.Sqrt(cov.At(j, j)), want[1], 1e-6)
	}
}

// TestCurvedValues: the curved posterior's mean and deviations.
func TestCurvedValues(t *testing.T) {
	c := newCurved()
	for j, want := range []point{{0.041014558936100086, 0.14155557975675043}, {2.7030678572458458,
		0.6296244116887619}} {
		near(t, "mean", c.mean[j], want[0], 0.01)
		near(t, "deviation", math.Sqrt(c.vary[j]), want[1], 0.01)
	}
}
