package dataset

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// paperLabels are labels with the numbers of the training half of Adult in [DP-PVI]: 24,421
// rows of which 5,906 are positive, a fraction of .24184.
func paperLabels() []float64 {
	y := make([]float64, 24421)
	for i := range 5906 {
		y[i*4] = 1
	}
	return y
}

func majorityFraction(y []float64, rows []int) float64 {
	n := 0
	for _, i := range rows {
		if y[i] == 0 {
			n++
		}
	}
	return float64(n) / float64(len(rows))
}

// round2 rounds to the two decimals that the tables print.
func round2(v float64) float64 { return math.Round(v*100) / 100 }

// Tables 2 and 3 of [DP-PVI], appendix B. Table 3's figures for the large clients are left
// out: with 24,421 rows the mean over large clients must be .76, .73 and .88 for every
// draw, and the table has .78, .68 and .86.
func TestClientSplitTables(t *testing.T) {
	y := paperLabels()
	for _, row := range []struct {
		clients      int
		rho, kappa   float64
		small        int
		lambdaSmall  float64
		lambdaLarge  float64
		largeChecked bool
	}{
		{10, 0, 0, 2442, .76, .76, true},
		{10, .75, .95, 610, .99, .73, true},
		{10, .7, -3, 732, .03, .89, true},
		{200, 0, 0, 122, .75, 0, false},
		{200, .75, .95, 30, .97, 0, false},
		{200, .7, -3, 36, .03, 0, false},
	} {
		c := ClientSplit{Clients: row.clients, Rho: row.rho, Kappa: row.kappa, Seed: 1}
		parts, err := c.Split(y, true)
		if err != nil {
			t.Fatal(err)
		}
		var large []int
		for i, p := range parts {
			if i >= row.clients/2 {
				large = append(large, p...)
				continue
			}
			if len(p) != row.small {
				t.Errorf("%+v: client %d has %d rows, want %d", c, i, len(p), row.small)
			}
			if got := round2(majorityFraction(y, p)); got != row.lambdaSmall {
				t.Errorf("%+v: client %d has majority fraction %.2f, want %.2f", c, i, got, row.lambdaSmall)
			}
		}
		if got := round2(majorityFraction(y, large)); row.largeChecked && got != row.lambdaLarge {
			t.Errorf("%+v: large clients have majority fraction %.2f, want %.2f", c, got, row.lambdaLarge)
		}
	}
}

// Parts are disjoint, of the documented sizes, and fewer rows than clients remain.
func TestClientSplitIsAPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := ClientSplit{
			Clients: rapid.IntRange(1, 12).Draw(t, "clients"),
			Rho:     rapid.Float64Range(0, 1).Draw(t, "rho"),
			Kappa:   rapid.Float64Range(-4, 1).Draw(t, "kappa"),
			Seed:    rapid.Uint64().Draw(t, "seed"),
		}
		y := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1}), 12, 300).Draw(t, "y")
		parts, err := c.Split(y, true)
		if errors.Is(err, ErrFewRows) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		sizes := c.sizes(len(y))
		for i, p := range parts {
			if len(p) != sizes[i] {
				t.Fatalf("client %d: %d rows, want %d", i, len(p), sizes[i])
			}
			for _, r := range p {
				if r < 0 || r >= len(y) || seen[r] {
					t.Fatalf("row %d is out of range or shared", r)
				}
				seen[r] = true
			}
		}
		if left := len(y) - len(seen); left < 0 || left > c.Clients {
			t.Fatalf("%d rows left over", left)
		}
	})
}

func TestClientSplitRefuses(t *testing.T) {
	y := paperLabels()
	for name, c := range map[string]ClientSplit{
		"no clients": {Clients: 0},
		"rho":        {Clients: 2, Rho: 1.1},
		"rho NaN":    {Clients: 2, Rho: math.NaN()},
		"kappa":      {Clients: 2, Kappa: 1.1},
		"kappa NaN":  {Clients: 2, Kappa: math.NaN()},
		"few rows":   {Clients: 24422},
		"minority":   {Clients: 2, Rho: 0, Kappa: -3},
		"negative":   {Clients: 10, Rho: .9, Kappa: -4},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Split(y, true); err == nil {
				t.Errorf("not refused")
			}
		})
	}
	if _, err := (ClientSplit{Clients: 2, Kappa: .5}).Split(y, false); !errors.Is(err, ErrNeedsClasses) {
		t.Errorf("kappa in regression: %v", err)
	}
	if _, err := (ClientSplit{Clients: 2, Kappa: -3}).Split(y, true); !errors.Is(err, ErrFewRows) {
		t.Errorf("kappa beyond the minority: %v", err)
	}
}

func TestClientSplitIsSeeded(t *testing.T) {
	y := paperLabels()
	split := func(seed uint64) [][]int {
		parts, err := ClientSplit{Clients: 10, Rho: .75, Kappa: .95, Seed: seed}.Split(y, true)
		if err != nil {
			t.Fatal(err)
		}
		return parts
	}
	if !slices.EqualFunc(split(3), split(3), slices.Equal[[]int]) {
		t.Error("the same seed gave two splits")
	}
	if slices.EqualFunc(split(3), split(4), slices.Equal[[]int]) {
		t.Error("two seeds gave one split")
	}
}

// With an odd number of clients no row is lost beyond rounding, and the middle client
// has an average share.
func TestClientSplitOdd(t *testing.T) {
	sizes := ClientSplit{Clients: 3, Rho: .75}.sizes(1200)
	if !slices.Equal(sizes, []int{100, 400, 700}) {
		t.Errorf("sizes %v", sizes)
	}
}

func TestPartition(t *testing.T) {
	for _, c := range []struct {
		fractions []float64
		want      []int
	}{
		{[]float64{.5}, []int{24421, 24421}},
		{[]float64{.8}, []int{39073, 9769}},
		{[]float64{.6, .2}, []int{29305, 9768, 9769}},
		{nil, []int{48842}},
	} {
		parts, err := Partition(48842, 7, c.fractions...)
		if err != nil {
			t.Fatal(err)
		}
		all := make([]int, 0, 48842)
		for i, p := range parts {
			if len(p) != c.want[i] {
				t.Errorf("%v: part %d has %d rows, want %d", c.fractions, i, len(p), c.want[i])
			}
			all = append(all, p...)
		}
		slices.Sort(all)
		for i, v := range all {
			if i != v {
				t.Fatalf("%v: not a permutation", c.fractions)
			}
		}
	}
	for _, bad := range [][]float64{{.7, .7}, {-.1}, {math.NaN()}} {
		if _, err := Partition(10, 1, bad...); err == nil {
			t.Errorf("%v: not refused", bad)
		}
	}
}
