package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// RangedGenerator makes records with a label, or a number, whose columns are as files of people have them:
// years, incomes, counts and flags, of which round ranges are public and nothing else. Few fill their ranges,
// and few lie in their middle. The squared correlation of a column with a factor that all have is
// Correlation, and its sign is in turn. Logits have a standard deviation of about 1.5, and the one of a
// typical record has one of .7. Effects of levels have one of .5.
type RangedGenerator struct {
	Rows        int
	Features    int     // that are numbers
	Correlation float64 // in [0, 1)
	Categories  int     // columns of two to six levels of different shares, after the numbers
	Missing     float64 // share of the cells that are missing at random, in [0, 1)
	Linear      bool    // the target is the logit with a standard deviation of .7, and its range is public
	// Wider is how many times as wide the ranges of a quarter of the columns are; another quarter's are a
	// third of that. Flags keep theirs. 0 is 1.
	Wider float64
	Seed  uint64
}

// rangedLaw is that of a column.
type rangedLaw struct {
	lo, hi, mean, sd float64
	of               func(l rangedLaw, z float64) float64 // a value, by a standard normal number
}

func rangedLaws(flag float64) []rangedLaw {
	normal := func(l rangedLaw, z float64) float64 { return l.mean + l.sd*z }
	above := func(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }
	income := func(_ rangedLaw, z float64) float64 { return math.Exp(3.3 + 0.6*z) }
	visits := func(_ rangedLaw, z float64) float64 { return math.Floor(-2.5 * math.Log(above(z))) }
	is := func(l rangedLaw, z float64) float64 {
		if above(z) < l.mean {
			return 1
		}
		return 0
	}
	return []rangedLaw{
		{18, 95, 50, 17, normal}, // years
		{0, 200, 33, 22, income},
		{0, 20, 2, 2.5, visits},
		{12, 60, 26, 5, normal}, // body mass index
		{-8, 8, 1, 1, normal},   // a measurement
		{0, 1, flag, math.Sqrt(flag * (1 - flag)), is},
	}
}

func (g RangedGenerator) validate() error {
	like := Generator{Rows: g.Rows, Features: g.Features, Signal: 1, Correlation: g.Correlation}
	if err := like.validate(); err != nil {
		return err
	}
	switch {
	case g.Correlation < 0:
		return fmt.Errorf("dataset: generator: correlation %g is not in [0, 1)", g.Correlation)
	case g.Categories < 0 || g.Categories > maxEncoded/maxLevels:
		return fmt.Errorf("dataset: generator: %d categories, want 0 to %d", g.Categories, maxEncoded/maxLevels)
	case !(g.Missing >= 0 && g.Missing < 1):
		return fmt.Errorf("dataset: generator: a share of %g of the cells missing, want [0, 1)", g.Missing)
	case g.Wider != 0 && !(g.Wider >= 1 && g.Wider <= 1e6):
		return fmt.Errorf("dataset: generator: ranges are %g times as wide, want 1 to 1e6", g.Wider)
	}
	return nil
}

// Generate draws the rows.
func (g RangedGenerator) Generate() (*Generated, error) {
	if err := g.validate(); err != nil {
		return nil, err
	}
	r := newRand(g.Seed, streamRanged)
	laws, own := make([]rangedLaw, g.Features), make([]float64, g.Features+1)
	out := &Generated{Weights: make([]float64, g.Features+1), Schema: &Schema{Version: SchemaVersion,
		Source: "public: documented ranges of generated data", Missing: Refuse, Unseen: Refuse,
		Target: Binary(generatedTarget, "0", "1")}}
	for i := range laws {
		all := rangedLaws(0.1 + 0.8*r.Float64())
		l := all[r.IntN(len(all))]
		if g.Wider > 1 {
			l = l.wider([]float64{1, 1, max(1, g.Wider/3), g.Wider}[r.IntN(4)])
		}
		c := byRange(fmt.Sprintf("x%d", i+1), l.lo, l.hi)
		laws[i], out.Schema.Columns = l, append(out.Schema.Columns, c)
		own[i] = r.NormFloat64() * 1.5 / math.Sqrt(float64(g.Features)) / l.sd
		out.Weights[i] = own[i] * c.Numeric.Scale
		out.Weights[g.Features] += own[i] * (c.Numeric.Center - l.mean)
	}
	own[g.Features] = 0.7 * r.NormFloat64()
	out.Weights[g.Features] += own[g.Features]
	all := make([]levelLaw, g.Categories)
	for i := range all {
		all[i] = drawLevels(r)
		out.Schema.Columns = append(out.Schema.Columns, all[i].column(fmt.Sprintf("c%d", i+1)))
		out.Weights = slices.Insert(out.Weights, len(out.Weights)-1, all[i].effects...)
	}
	if g.Missing > 0 {
		out.Schema.Missing = Zero
	}
	if g.Linear {
		out.Schema.Target = Numeric(generatedTarget, -targetReach, targetReach)
		for i := range out.Weights {
			out.Weights[i] /= out.Schema.Target.Numeric.Scale
		}
	}
	out.Records = g.records(out.Schema, laws, all, own, r)
	return out, nil
}

// A category has up to maxLevels levels, and a target that is a number lies within targetReach of 0.
const (
	maxLevels   = 6
	targetReach = 12
)

// levelLaw is that of a category: its levels' shares and effects.
type levelLaw struct{ shares, effects []float64 }

func drawLevels(r *rand.Rand) (l levelLaw) {
	all := 0.0
	for range 2 + r.IntN(maxLevels-1) {
		l.shares = append(l.shares, math.Exp(0.6*r.NormFloat64()))
		l.effects = append(l.effects, 0.5*r.NormFloat64())
		all += l.shares[len(l.shares)-1]
	}
	for i := range l.shares {
		l.shares[i] /= all
	}
	return l
}

func (l levelLaw) column(name string) Column {
	c := Column{Name: name}
	for i := range l.shares {
		c.Categories = append(c.Categories, fmt.Sprintf("l%d", i+1))
	}
	return c
}

// draw is a level.
func (l levelLaw) draw(r *rand.Rand) int {
	u := r.Float64()
	for i, s := range l.shares {
		if u -= s; u < 0 {
			return i
		}
	}
	return len(l.shares) - 1
}

// wider multiplies the width of the law's range, whose lower end stays unless the range has numbers on both
// sides of 0. A flag keeps its own.
func (l rangedLaw) wider(by float64) rangedLaw {
	switch {
	case l.hi == 1:
	case l.lo < 0:
		l.lo, l.hi = l.lo*by, l.hi*by
	default:
		l.hi *= by
	}
	return l
}

// records draws rows, whose logits are by the weights of columns about their laws' means, and by levels'
// effects.
func (g RangedGenerator) records(s *Schema, laws []rangedLaw, levels []levelLaw, weights []float64,
	r *rand.Rand) *Records {
	out := &Records{Name: "generated data"}
	for _, c := range s.Columns {
		out.Header = append(out.Header, c.Name)
	}
	out.Header = append(out.Header, generatedTarget)
	for n := range g.Rows {
		factor, logit, sign := r.NormFloat64(), weights[len(laws)], 1.0
		var cells []string
		for i, l := range laws {
			z := sign*math.Sqrt(g.Correlation)*factor + math.Sqrt(1-g.Correlation)*r.NormFloat64()
			x := math.Round(1000*min(l.hi, max(l.lo, l.of(l, z)))) / 1000
			cells = append(cells, strconv.FormatFloat(x, 'g', -1, 64))
			logit += weights[i] * (x - l.mean)
			sign = -sign
		}
		for i, l := range levels {
			at := l.draw(r)
			cells = append(cells, s.Columns[len(laws)+i].Categories[at])
			logit += l.effects[at]
		}
		for i := range cells {
			if g.Missing > 0 && r.Float64() < g.Missing {
				cells[i] = ""
			}
		}
		out.Cells = append(out.Cells, append(cells, g.target(logit, r)))
		out.Lines = append(out.Lines, n+2)
	}
	return out
}

// target is a label, or a number.
func (g RangedGenerator) target(logit float64, r *rand.Rand) string {
	if g.Linear {
		y := min(targetReach, max(-targetReach, logit+0.7*r.NormFloat64()))
		return strconv.FormatFloat(math.Round(1000*y)/1000, 'g', -1, 64)
	}
	return label(r.Float64() < 1/(1+math.Exp(-logit)))
}
