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

// Ticks implements plot.Ticker with four to nine labelled ticks.
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

// logTicks labels 1, 2 and 5 in every decade, or the powers of ten if there are many. The
// other multiples have minor ticks.
type logTicks struct {
	apart bool // labels are in a row: fewer of them fit
}

// Ticks implements plot.Ticker.
func (t logTicks) Ticks(lo, hi float64) []plot.Tick {
	decades := math.Log10(hi / lo)
	labelled := []float64{1, 2, 5}
	if decades > 2.6 || t.apart && decades > 1.95 {
		labelled = labelled[:1]
	}
	every := int(math.Ceil(decades / 7)) // of the decades, so that labels stay apart
	var out []plot.Tick
	for e := int(math.Floor(math.Log10(lo))); math.Pow10(e) <= hi; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow10(e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: v}
			for _, l := range labelled {
				if l == m && e%every == 0 {
					tick.Label = decimal(v)
				}
			}
			out = append(out, tick)
		}
	}
	return out
}

// decimal writes a tick of a logarithmic axis: with digits where they are few, else as a
// power of ten.
func decimal(v float64) string {
	if v >= 1e-3 && v < 1e5 {
		return strconv.FormatFloat(v, 'g', 12, 64)
	}
	e := int(math.Floor(math.Log10(v) + 1e-9))
	power := "10" + superscript(e)
	if m := strconv.FormatFloat(v/math.Pow10(e), 'g', 3, 64); m != "1" {
		return m + "·" + power
	}
	return power
}

func superscript(n int) string {
	digits := strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
		"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
	return digits.Replace(strconv.Itoa(n))
}

// categories labels the positions 0, 1, 2, ...
func categories(names []string) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
	}
	return ticks
}

// number formats with a real minus sign.
func number(v float64, decimals int) string {
	return strings.ReplaceAll(strconv.FormatFloat(v, 'f', decimals, 64), "-", "−")
}
