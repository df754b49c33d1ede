package paper2

import (
	"math"
	"testing"

	"choir/learn/mcmc"
)

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// simplex solves max c x over a x <= b, x >= 0, for b >= 0: it returns x and the multipliers of the rows.
// The rows' limits are perturbed by up to 1e-13 against cycles, so callers check what it returns.
func simplex(a [][]float64, b, c []float64) (x, multipliers []float64) {
	rows, columns := len(a), len(c)
	t := make([][]float64, rows+1) // a row's limit and the last row's value are in the last column
	basis, other := make([]int, rows), make([]int, columns)
	for i := range rows {
		t[i] = append(append([]float64(nil), a[i]...), b[i]+1e-13*float64(i%89+1)/90)
		basis[i] = columns + i
	}
	t[rows] = make([]float64, columns+1)
	for j := range columns {
		t[rows][j], other[j] = -c[j], j
	}
	for {
		enter, leave := 0, -1
		for j := range columns {
			if t[rows][j] < t[rows][enter] {
				enter = j
			}
		}
		if t[rows][enter] > -1e-13 {
			break
		}
		for i := range rows {
			if t[i][enter] > 1e-10 && (leave < 0 ||
				t[i][columns]*t[leave][enter] < t[leave][columns]*t[i][enter]) {
				leave = i
			}
		}
		if leave < 0 {
			break
		}
		exchange(t, leave, enter)
		basis[leave], other[enter] = other[enter], basis[leave]
	}
	all := make([]float64, columns+rows)
	for i, k := range basis {
		all[k] = t[i][columns]
	}
	multipliers = make([]float64, rows)
	for j, k := range other {
		if k >= columns {
			multipliers[k-columns] = t[rows][j]
		}
	}
	return all[:columns], multipliers
}

func exchange(t [][]float64, row, column int) {
	by := t[row][column]
	for j := range t[row] {
		t[row][j] /= by
	}
	t[row][column] = 1 / by
	for i := range t {
		if f := t[i][column]; i != row && f != 0 {
			for j, v := range t[row] {
				t[i][j] -= f * v
			}
			t[i][column] = -f / by
		}
	}
}

// TestBestTests: the least error of any test of d + N(0, C) against the logistic function for d up to 14,
// which was computed independently to the tolerance of a linear programme. A test accepts y with
// probability g(y) = 1 - g(-y) on a grid of step 0.1 up to 22. The value is enclosed: by the error of a
// test, and by weights on the errors whose mean no test makes smaller.
func TestBestTests(t *testing.T) {
	for _, c := range []struct{ variance, want, tolerance float64 }{
		{2, 0.0002201011748533925, 1e-9}, {0.5, 1.5177669189175982e-10, 1e-8},
		{1, -3.7359838631445433e-10, 1e-8}, {1.5, 5.8902524058301696e-06, 1e-9},
		{2.5, 0.0022621576371867503, 2e-9}, {3, 0.013004035372569667, 4e-9},
	} {
		if testing.Short() && c.variance != 2 {
			continue
		}
		m, target := testsOnGrid(c.variance)
		// Weights p - q on the errors, and for every y the excess of what g(y) = 1 would change.
		n, k := len(m), len(m[0])
		a, gain := make([][]float64, k+1), make([]float64, 2*n+k)
		for y := range k + 1 {
			a[y] = make([]float64, 2*n+k)
			for i := range n {
				a[y][i], a[y][n+i] = 1, 1
				if y < k {
					a[y][i], a[y][n+i] = -m[i][y], m[i][y]
				}
			}
			if y < k {
				a[y][2*n+y], gain[2*n+y] = -1, -1
			}
		}
		for i := range n {
			gain[i], gain[n+i] = -target[i], target[i]
		}
		limits := make([]float64, k+1)
		limits[k] = 1
		x, g := simplex(a, limits, gain)
		lower, upper, mass := 0.0, 0.0, 0.0
		for i := range n {
			value := -target[i]
			for y := range k {
				value += m[i][y] * min(1, max(0, g[y]))
			}
			upper = max(upper, math.Abs(value))
			lower -= (x[i] - x[n+i]) * target[i]
			mass += math.Abs(x[i] - x[n+i])
		}
		for y := range k {
			pull := 0.0
			for i := range n {
				pull += (x[i] - x[n+i]) * m[i][y]
			}
			lower += min(0, pull)
		}
		lower = max(0, lower/mass)
		if upper-lower > 1e-6*upper+1e-9 || math.Abs(upper-c.want) > c.tolerance {
			t.Errorf("C %v: the least error is in %.10g to %.10g, want %.10g", c.variance, lower, upper, c.want)
		}
	}
}

// testsOnGrid is, for d = 0, 0.1, ..., 14 and y = 0.1, ..., 22, how much g(y) adds to the acceptance, and
// what the acceptance lacks of the logistic function if g is 0 for all of them.
func testsOnGrid(variance float64) (m [][]float64, target []float64) {
	const half = 220
	for i := range 141 {
		d := 0.1 * float64(i)
		weight := make([]float64, 2*half+1)
		total := 0.0
		for y := range weight {
			z := 0.1*float64(y-half) - d
			weight[y] = math.Exp(-z * z / 2 / variance)
			total += weight[y]
		}
		row, rest := make([]float64, half), weight[half]/2
		for y := 1; y <= half; y++ {
			row[y-1] = (weight[half+y] - weight[half-y]) / total
			rest += weight[half-y]
		}
		m, target = append(m, row), append(target, logistic(d)-rest/total)
	}
	return m, target
}

// TestMixtureOfNormalsValues: the largest errors, on a grid of step 1/40, of corrections that are mixtures
// of components (weight, center, deviation), half of each at minus the center: Barker's test as published.
// Three are as good as the atoms of mcmc.Correction to 1e-7, and more do not help.
func TestMixtureOfNormalsValues(t *testing.T) {
	for _, c := range []struct {
		variance   float64
		components [][3]float64
		want       float64
	}{
		{2, [][3]float64{{0.850167201408633, 1.7416702732118202e-58, 1.3155232090462603e-08},
			{0.14983279859136706, 2.7776594163887407, 0.7458569241422509}}, 0.0008204557223414621},
		{2, [][3]float64{{0.8659622301873792, 1.0725576387693943e-05, 2.8328679575657856e-05},
			{0.13179600988219695, 2.9511315924705497, 2.1323006111212816e-05}, {0.002241759930423836,
				9.186790147730349, 0.0003366519621390568}}, 0.0005875014629310726},
		{2, [][3]float64{{0.8659138421295008, 4.03741853205452e-05, 4.970190388031735e-05},
			{4.843385972420134e-05, 0.007506375894422907, 0.007502383524235883}, {0.13179599334170822,
				2.951132789630156, 8.235769337120764e-05}, {0.002241730669066745, 9.186373760053966,
				0.0006446759992176105}}, 0.0005874991679268859},
		{2, [][3]float64{{0.8658761212729998, 9.322681268464162e-05, 7.990939319656687e-05},
			{4.579024422127017e-05, 0.0090031612874269, 0.009002343968624406}, {3.870986888886512e-05,
				0.009045656548311954, 0.009034851574404257}, {1.717143291193503e-06, 0.043883056552087935,
				0.04552520771109766}, {0.13179604352377308, 2.9511351606849194, 0.0002013564017971993},
			{0.002241617946825582, 9.185261041417187, 0.0015845145361216683}}, 0.0005874978870183956},
		{1, [][3]float64{{0.14314070632702827, 0.005738440333027288, 0.005724001697182603},
			{0.39946744630204756, 0.09844594697103508, 1.8100342479603775}, {0.0662400384911282,
				0.1382323964526914, 2.916161254750078}, {0.39115180887979584, 0.6511738313318819,
				0.7932609038068545}}, 5.611612409861522e-06},
	} {
		worst := 0.0
		for i := range 601 {
			d, p := float64(i)/40, 0.0
			for _, k := range c.components {
				sd := math.Sqrt(c.variance + k[2]*k[2])
				p += k[0] / 2 * (phi((d-k[1])/sd) + phi((d+k[1])/sd))
			}
			worst = max(worst, math.Abs(p-logistic(d)))
		}
		near(t, "error", worst, c.want, 1e-6)
	}
}

// TestNoCorrectionIsBetter: no distribution has a smaller error with a normal variable of variance 2 than
// 5.87e-4 (in three digits). By duality: weights on the errors at some points whose mean is at least that
// for an atom anywhere.
func TestNoCorrectionIsBetter(t *testing.T) {
	if testing.Short() {
		return // a linear programme of 270 rows
	}
	var atoms []float64
	for at := 0.0; at < 16; at += 0.1 {
		atoms = append(atoms, at)
	}
	for i := range 40 { // where the best ones are
		d := 0.01 * float64(i-20)
		atoms = append(atoms, d+0.2, d+2.95, d+9.2)
	}
	columns := len(atoms)
	error := func(d, at float64) float64 {
		return (phi((d-at)/math.Sqrt2)+phi((d+at)/math.Sqrt2))/2 - logistic(d)
	}
	var points []float64
	for d := 0.05; d < 12; d += 0.05 {
		points = append(points, d)
	}
	n := len(points)
	a, gain := make([][]float64, columns+1), make([]float64, 2*n+1)
	for k := range a {
		a[k] = make([]float64, 2*n+1)
		for i, d := range points {
			a[k][i], a[k][n+i] = 1, 1
			if k < columns {
				e := error(d, atoms[k])
				a[k][i], a[k][n+i] = -e, e
			}
		}
		if k < columns {
			a[k][2*n] = 1
		}
	}
	gain[2*n] = 1
	limits := make([]float64, columns+1)
	limits[columns] = 1
	x, _ := simplex(a, limits, gain)
	least, mass := math.Inf(1), 0.0
	for i := range n {
		mass += math.Abs(x[i] - x[n+i])
	}
	for k := range 20001 { // also between the atoms
		mean := 0.0
		for i, d := range points {
			mean += (x[i] - x[n+i]) * error(d, 0.001*float64(k))
		}
		least = min(least, mean/mass)
	}
	correction, err := mcmc.Correction(2)
	if err != nil {
		t.Fatal(err)
	}
	attained := 0.0
	for i := range 1501 {
		d := float64(i) / 100
		attained = max(attained, math.Abs(correction.BarkerAcceptance(d, 2)-logistic(d)))
	}
	if least < 5.865e-4 || least > attained {
		t.Errorf("corrections have an error of at least %.6g, and that of the atoms is %.6g", least, attained)
	}
}

// TestLogisticShareValues: the Fisher information of location of what stays hidden of a logistic variable
// whose characteristic function is (pi t / sinh pi t)^share, for some shares.
func TestLogisticShareValues(t *testing.T) {
	for share, want := range map[float64]float64{0.5: 0.75959324576562, 0.6: 0.6060621206429346,
		0.7: 0.5034722132575384, 0.8: 0.430341691725521, 0.9: 0.3756841684920747, 1: 1. / 3} {
		const step, wide, cell = 0.05, 40.0, 0.02
		var at, size []float64
		for u := 0.0; u < 12/share; u += step {
			v := step / math.Pi * math.Pow(math.Pi*u/math.Sinh(math.Pi*u), share)
			if u == 0 {
				v = step / math.Pi / 2
			}
			at, size = append(at, u), append(size, v)
		}
		information := 0.0
		for x := cell / 2; x < wide; x += cell {
			f, slope := 0.0, 0.0
			for i, u := range at {
				s, c := math.Sincos(u * x)
				f += size[i] * c
				slope -= size[i] * u * s
			}
			if f > 1e-13 {
				information += 2 * cell * slope * slope / f
			}
		}
		near(t, "information", information, want, 1e-6)
	}
}
