package table

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"choir/learn/bayes"
	"choir/learn/dataset"
)

const schemaText = `missing = "drop"
unseen = "zero"
[target]
died = ["no", "yes"]
[columns]
age = { lo = 0, hi = 100, center = 50, scale = 20 }
ward = ["A", "B", "C"]
smoker = [0, 1]
los = [0, 40]
`

func schema(t *testing.T) *dataset.Schema {
	t.Helper()
	s, err := dataset.ParseTOML([]byte(schemaText))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func data(t *testing.T, s *dataset.Schema, text string) bayes.Data {
	t.Helper()
	rec, err := dataset.ReadRecords(strings.NewReader(text), dataset.CSVOptions{Name: "t"})
	if err != nil {
		t.Fatal(err)
	}
	table, err := rec.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return bayes.Data{X: table.X, Y: table.Y}
}

func all() Config {
	return Config{Counts: []string{"ward", "smoker", "died"}, Means: []string{"age", "los"},
		Histograms: []Bins{{Column: "age", Bins: 10}}, Crosstabs: [][2]string{{"ward", "died"}}, FracBits: 20,
		MaxRecords: 1000}
}

// find returns the value of a figure.
func find(t *testing.T, rows []Row, table, group, level, statistic string) Row {
	t.Helper()
	for _, r := range rows {
		if r.Table == table && r.Group == group && r.Level == level && r.Statistic == statistic {
			return r
		}
	}
	t.Fatalf("no %s %s %s %s", table, group, level, statistic)
	return Row{}
}

// TestEstimateWithoutNoise: every figure is that of the rows, alone and by groups.
func TestEstimateWithoutNoise(t *testing.T) {
	s := schema(t)
	d := data(t, s, "age,ward,smoker,los,died\n10,A,0,4,no\n30,A,1,8,yes\n50,B,0,12,no\n90,Z,1,40,no\n")
	for name, by := range map[string]string{"all": "", "by": "died"} {
		t.Run(name, func(t *testing.T) {
			cfg := all()
			cfg.By = by
			l, err := New(cfg, s)
			if err != nil {
				t.Fatal(err)
			}
			sum, err := l.Sum(d)
			if err != nil || len(sum) != l.Dim() {
				t.Fatalf("%d cells of %d: %v", len(sum), l.Dim(), err)
			}
			rows := l.Estimate(sum, 0, 0.95)
			group := map[string]string{"": "", "died": "no"}[by]
			want := map[string]float64{"": 45, "died": 50}[by]
			sd := map[string]float64{"": math.Sqrt(875), "died": math.Sqrt(3200.0 / 3)}[by]
			check := func(what string, got, want float64) {
				t.Helper()
				if math.Abs(got-want) > 1e-3 {
					t.Errorf("%s is %g, want %g", what, got, want)
				}
			}
			check("records", find(t, rows, "records", "", "", "count").Value, 4)
			check("mean age", find(t, rows, "age", group, "", "mean").Value, want)
			check("sd of age", find(t, rows, "age", group, "", "sd").Value, sd)
			check("ward A", find(t, rows, "ward", group, "A", "count").Value, map[string]float64{"": 2, "died": 1}[by])
			check("smokers", find(t, rows, "smoker", group, "1", "share").Value, map[string]float64{"": 0.5,
				"died": 1. / 3}[by])
			check("A x yes", find(t, rows, "ward x died", "", "A x yes", "count").Value, 1)
			check("bin", find(t, rows, "age", group, "90 to 100", "count").Value, 1)
			if q := find(t, rows, "age", group, "50%", "quantile"); q.Value < 10 || q.Value > 60 {
				t.Errorf("median %g", q.Value)
			}
		})
	}
}

// TestSensitivity: no pair of records is further apart than the mechanism claims, or longer
// than its clip; and there are pairs that come close.
func TestSensitivity(t *testing.T) {
	s := schema(t)
	r := rand.New(rand.NewPCG(1, 2))
	configs := map[string]Config{"all": all()}
	by := all()
	by.By = "ward"
	configs["by ward"] = by
	configs["moments"] = Config{Means: []string{"age"}, FracBits: 8, MaxRecords: 1}
	configs["count"] = Config{Counts: []string{"ward"}, FracBits: 8, MaxRecords: 1}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			l, err := New(cfg, s)
			if err != nil {
				t.Fatal(err)
			}
			m := l.Mechanism()
			draw := func() []int64 {
				x := make([]float64, s.Dim())
				x[0] = []float64{-2.5, 2.5, r.Float64()*5 - 2.5, 1e300}[r.IntN(4)]
				if w := r.IntN(4); w < 3 {
					x[1+w] = 1
				}
				x[4], x[5], x[6] = float64(r.IntN(2)*2-1), []float64{-1, 1, r.Float64()*2 - 1}[r.IntN(3)], 1
				v := make([]int64, l.Dim())
				l.add1(v, x, float64(r.IntN(2)))
				return v
			}
			far, long := 0.0, 0.0
			for range 3000 {
				a, b := draw(), draw()
				d, n := 0.0, 0.0
				for j := range a {
					d += float64(a[j]-b[j]) * float64(a[j]-b[j])
					n += float64(a[j]) * float64(a[j])
				}
				far, long = math.Max(far, math.Sqrt(d)), math.Max(long, math.Sqrt(n))
			}
			if far > float64(m.Sensitivity) || long > float64(m.Clip) {
				t.Errorf("distance %g, claimed %d; norm %g, claimed %d", far, m.Sensitivity, long, m.Clip)
			}
			if far < 0.8*float64(m.Sensitivity) {
				t.Errorf("distance %g is far below the claimed %d", far, m.Sensitivity)
			}
		})
	}
}

// TestMomentPairs: all pairs of values of a coarse grid, in one group.
func TestMomentPairs(t *testing.T) {
	const f, one = 6, 1 << 6
	for k := int64(-one); k <= one; k++ {
		for m := int64(-one); m <= one; m++ {
			a, b := k-m, k*k>>f-m*m>>f
			if a*a+b*b > (2*one+1)*(2*one+1) {
				t.Fatalf("%d and %d are %g apart", k, m, math.Sqrt(float64(a*a+b*b)))
			}
		}
	}
}

// TestIntervals: with the noise of a session, at least the promised share of the intervals
// has the value of the rows. The draws are fixed.
func TestIntervals(t *testing.T) {
	s := schema(t)
	tw := dataset.Twins{Schema: s, Signal: 1, Seed: 3}
	rec, err := tw.Records(0, 400)
	if err != nil {
		t.Fatal(err)
	}
	table, err := rec.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(all(), s)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := l.Sum(bayes.Data{X: table.X, Y: table.Y})
	if err != nil {
		t.Fatal(err)
	}
	truth := l.Estimate(sum, 0, 0.9)
	for _, scale := range []float64{2, 10, 60, 300} {
		sigma := scale * (1 << 20)
		r := rand.New(rand.NewPCG(5, 6))
		inside, total := map[string]int{}, map[string]int{}
		for range 200 {
			noisy := make([]int64, len(sum))
			for j, v := range sum {
				noisy[j] = v + int64(math.Round(r.NormFloat64()*sigma))
			}
			for k, row := range l.Estimate(noisy, sigma*sigma, 0.9) {
				total[row.Statistic]++
				if row.Lower-1e-9 <= truth[k].Value && truth[k].Value <= row.Upper+1e-9 {
					inside[row.Statistic]++
				}
			}
		}
		for statistic, n := range total {
			if share := float64(inside[statistic]) / float64(n); share < 0.88 {
				t.Errorf("noise %g, %s: %.3f of the 90 %% intervals have the value", scale, statistic, share)
			}
		}
	}
}

// TestNewRefuses: each error names the column or the setting.
func TestNewRefuses(t *testing.T) {
	zero := schema(t)
	zero.Missing = dataset.Zero
	for name, c := range map[string]struct {
		cfg    Config
		schema *dataset.Schema
		want   string
	}{
		"none":         {Config{FracBits: 20, MaxRecords: 1}, schema(t), "0 tables"},
		"missing zero": {all(), zero, "missing is zero"},
		"no column":    {Config{Counts: []string{"x"}, FracBits: 20, MaxRecords: 1}, schema(t), `"x" is not in`},
		"count number": {Config{Counts: []string{"age"}, FracBits: 20, MaxRecords: 1}, schema(t),
			`"age" is a number`},
		"mean of words": {Config{Means: []string{"ward"}, FracBits: 20, MaxRecords: 1}, schema(t),
			`"ward" has categories`},
		"one bin": {Config{Histograms: []Bins{{Column: "age", Bins: 1}}, FracBits: 20, MaxRecords: 1},
			schema(t), "1 bins"},
		"by number": {Config{Means: []string{"age"}, By: "age", FracBits: 20, MaxRecords: 1}, schema(t), "age"},
		"grid":      {Config{Means: []string{"age"}, FracBits: 40, MaxRecords: 1}, schema(t), "frac_bits"},
		"records":   {Config{Means: []string{"age"}, FracBits: 20}, schema(t), "max_records"},
		"crosstab": {Config{Crosstabs: [][2]string{{"ward", "los"}}, FracBits: 20, MaxRecords: 1}, schema(t),
			`"los"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(c.cfg, c.schema); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	l, err := New(Config{Means: []string{"age"}, FracBits: 20, MaxRecords: 1}, schema(t))
	if err != nil {
		t.Fatal(err)
	}
	two := data(t, schema(t), "age,ward,smoker,los,died\n1,A,0,4,no\n3,A,1,8,yes\n")
	if _, err := l.Sum(two); err == nil || !strings.Contains(err.Error(), "allows a party 1") {
		t.Errorf("too many records: %v", err)
	}
	if _, err := l.Sum(bayes.Data{X: []float64{1}, Y: []float64{0}}); err == nil {
		t.Error("a record without columns")
	}
}

// TestMissingIsNoLevel: a missing 0/1 number is counted at neither level, in counts, tables of two columns
// and groups, and moves no other count.
func TestMissingIsNoLevel(t *testing.T) {
	text := "missing = \"zero\"\n[target]\ndied = [\"no\", \"yes\"]\n[columns]\nsmoker = [0, 1]\n"
	s, err := dataset.ParseTOML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Counts: []string{"died"}, By: "smoker", Crosstabs: [][2]string{{"smoker", "died"}},
		FracBits: 8, MaxRecords: 10}
	l, err := New(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := l.Sum(data(t, s, "smoker,died\n0,no\n0,no\n,no\n,yes\nNA,no\n1,yes\n"))
	if err != nil {
		t.Fatal(err)
	}
	// records; smoker 0 and 1; died by smoker; smoker x died
	want := []int64{6, 2, 1, 2, 0, 0, 1, 2, 0, 0, 1}
	for i, n := range want {
		if sum[i] != n<<8 {
			t.Errorf("sum %d is %d, want %d", i, sum[i]>>8, n)
		}
	}
}
