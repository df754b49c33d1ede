package simulate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"choir/protocol"
)

// wantCheaters is how many rows the table has at least.
const wantCheaters = 70

// TestCheaters runs every row of the table in the simulator, whose oracle checks
// the honest members.
func TestCheaters(t *testing.T) {
	rows := cheaters()
	if len(rows) < wantCheaters {
		t.Fatalf("%d rows, want at least %d", len(rows), wantCheaters)
	}
	for _, row := range rows {
		t.Run(row.who+": "+row.what, func(t *testing.T) { checkRow(t, row) })
	}
}

// checkRow runs a row in the simulator and compares what comes of it with the table.
func checkRow(t *testing.T, row cheater) {
	t.Helper()
	o, violations, err := simulateCheats(row)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Errorf("violation: %s", v)
	}
	for _, problem := range row.judge(row.table(), o) {
		t.Error(problem)
	}
	if t.Failed() {
		t.Log(o)
	}
}

// TestShapedCheats: the table comes out alike for other numbers of members, and on a shape's N_min and noise
// the oracle finds nothing wrong with the honest ones.
func TestShapedCheats(t *testing.T) {
	shapes := []Shape{{Parties: 5, Computes: 2, MinParties: 3, Noise: protocol.NoiseCompute},
		{Parties: 14, Computes: 4, MinParties: 14, Noise: protocol.NoiseParty}}
	if testing.Short() {
		shapes = shapes[:1]
	}
	for _, h := range shapes {
		t.Run(fmt.Sprintf("%d parties, %d nodes", h.Parties, h.Computes), func(t *testing.T) {
			t.Parallel()
			for _, c := range Cheats(h) {
				if c.mix != nil {
					continue // it has its own session
				}
				problems, err := c.Run()
				if err != nil || len(problems) > 0 {
					t.Errorf("%s: %s: %q, %v", c.Who, c.What, problems, err)
				}
				violations, err := Together(c.OnTerms())
				if err != nil && !errors.Is(err, ErrUnfit) || len(violations) > 0 {
					t.Errorf("on terms: %s: %s: %v, %v", c.Who, c.What, violations, err)
				}
			}
		})
	}
}

// TestCheatsTogether runs pairs of cheats by different members: whatever they do, the oracle finds
// nothing wrong with the honest ones. Every pair in full; in short a sample.
func TestCheatsTogether(t *testing.T) {
	all, ran := Cheats(Shape{}), 0
	step := 7
	if testing.Short() {
		step = 97
	}
	for i, a := range all {
		for j, b := range all[:i] {
			if (i*len(all)+j)%step != 0 || !a.Fits(b) {
				continue
			}
			violations, err := Together(a, b)
			if errors.Is(err, ErrUnfit) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			ran++
			for _, v := range violations {
				t.Errorf("%s: %s; %s: %s: %s", a.Who, a.What, b.Who, b.What, v)
			}
		}
	}
	if ran < 10 {
		t.Errorf("only %d pairs", ran)
	}
	if _, err := Together(all[0], all[0]); err == nil {
		t.Error("two cheats of one member ran together")
	}
}

// TestLargestCoalition runs every row of the table while all others of the largest coalition lie, too:
// both other nodes, the aggregator and a party, each by another row. The oracle checks the honest members.
func TestLargestCoalition(t *testing.T) {
	setup := cheater{}.table()
	setup.Until = 3000
	lies := map[byte][]string{}
	for _, row := range cheaters() {
		if !row.audit && !row.pairs && row.shows == "" && row.with == nil {
			lies[row.who[0]] = append(lies[row.who[0]], strings.ReplaceAll(row.what, " ", "-"))
		}
	}
	most := max(len(lies['p']), len(lies['c']), len(lies['a']))
	step := 1
	if testing.Short() {
		step = 5
	}
	ran := 0
	for i := 0; i < most; i += step {
		var script []Fault
		for k, who := range []string{"p0", "c0", "c2", "agg"} {
			list := lies[who[0]]
			script = append(script, Fault{Kind: "lie", Key: who + " " + list[(i+k*i/7+k)%len(list)]})
		}
		r := replay(setup, script)
		for _, v := range r.Violations {
			t.Errorf("%s: %s", formatScript(setup, script), v)
		}
		if r.Faults["lie"] == len(script) {
			ran++
		}
	}
	if ran != (most+step-1)/step {
		t.Errorf("%d of %d coalitions lied", ran, (most+step-1)/step)
	}
}
