package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// axisTicks labels an axis at steps of 1, 2 or 5 times a power of ten.
type axisTicks struct {
	whole bool // whole numbers only
}

// Ticks implements plot.Ticker with four to nine labelled ticks and no others.
func (t axisTicks) Ticks(lo, hi float64) []plot.Tick {
	step := tickStep((hi - lo) / 8)
	if t.whole {
		step = math.Max(step, 1)
	}
	decimals := int(math.Max(0, -math.Floor(math.Log10(step)+1e-9)))
	var out []plot.Tick
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		// Adding 0 turns a negative zero into zero.
		out = append(out, plot.Tick{Value: k * step, Label: number(k*step+0, decimals)})
	}
	return out
}

// tickStep is the smallest 1, 2 or 5 times a power of ten that is at least v.
func tickStep(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// logTicks labels 1, 2 and 5 in every decade, or the powers of ten if there are many.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(lo, hi float64) []plot.Tick {
	multiples := []float64{1, 2, 5}
	if hi/lo > 1e4 {
		multiples = multiples[:1]
	}
	var out []plot.Tick
	for power := math.Pow(10, math.Floor(math.Log10(lo))); power <= hi; power *= 10 {
		for _, m := range multiples {
			if v := m * power; v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				out = append(out, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)})
			}
		}
	}
	return out
}

// number formats with a real minus sign.
func number(v float64, decimals int) string {
	return strings.ReplaceAll(strconv.FormatFloat(v, 'f', decimals, 64), "-", "−")
}
