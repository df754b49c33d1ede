package pvi

import (
	"fmt"
	"math"
	"strings"

	"choir/learn/bayes"
	"choir/learn/gauss"
	"choir/learn/model"
)

func (d Dataset) check(c Config, bad badField) { d.Fit.check(c, bad) }

func (v Virtual) check(c Config, bad badField) {
	checkShards(v.Shards, bad)
	if !(v.ShardPower >= 0 && v.ShardPower <= 2) {
		bad("shard_power", v.ShardPower, "0 to 2")
	}
	if v.ShardRows < 0 || v.ShardRows > 0 && v.ShardPower != 0 {
		bad("shard_rows", v.ShardRows, "at least 0, and 0 with a shard_power")
	}
	v.Fit.check(c, bad)
}

func (a Averaging) check(c Config, bad badField) {
	checkShards(a.Shards, bad)
	if kind, ok := model.Lookup(string(c.Model)); ok && !kind.Tempered {
		bad("strategy", a.Name(), fmt.Sprintf("another one with model %q", c.Model))
	}
	a.Fit.check(c, bad)
}

func (p Perturbation) check(c Config, bad badField) { p.Fit.check(c, bad) }

func (o Optimisation) check(c Config, bad badField) {
	o.checkOptimiser(c, bad)
	if o.SDUnit != 0 && (c.Family != gauss.MeanField || !(o.SDUnit >= 0x1p-20 && o.SDUnit <= 0x1p10)) {
		bad("sd_unit", o.SDUnit, "0, or 2^-20 to 2^10 in the mean-field family")
	}
	if o.Steps < 1 || o.Steps > maxSteps {
		bad("steps", o.Steps, fmt.Sprintf("1 to %d", maxSteps))
	}
	if !(o.LearningRate > 0 && o.LearningRate <= 1e3) {
		bad("learning_rate", o.LearningRate, "in (0, 1000]")
	}
	checkSampling(o.Sampling, o.SampleRate, bad)
	checkRecords(c, bad)
}

func (a Analytic) check(c Config, bad badField) {
	checkLinear(c, bad)
	if c.Family != gauss.Full && c.Features > 1 {
		bad("family", c.Family,
			`"full" with strategy "analytic": a mean-field posterior is not a sum over records`)
	}
	checkSampling(a.Sampling, a.SampleRate, bad)
	checkRecords(c, bad)
}

func (h hybrid) check(c Config, bad badField) {
	checkLinear(c, bad)
	h.Optimisation.check(c, bad)
	b, err := c.grid().IntBound(h.StatisticClip)
	if (c.Clip > 0) != (h.StatisticClip > 0) || err != nil || (c.Clip > 0 && b == 0) {
		bad("statistic_clip", h.StatisticClip, "positive and representable exactly when clip is above 0")
	}
}

func (b BCMSame) check(c Config, bad badField) {
	checkOnce(c, bad)
	b.Optimisation.check(c, bad)
}

func (b BCMSplit) check(c Config, bad badField) {
	checkOnce(c, bad)
	if b.Parties < 1 || b.Parties > 1<<20 {
		bad("parties", b.Parties, "the number of members, 1 to 2^20")
	}
	b.Optimisation.check(c, bad)
}

// check does not check the ranges of Steps and LearningRate; the model does.
func (f Fit) check(c Config, bad badField) {
	switch f.Optimiser {
	case "", Newton:
	case Natural:
		if kind, ok := model.Lookup(string(c.Model)); ok && !kind.Natural {
			bad("optimiser", f.Optimiser, `another one unless the model is "logistic" or "bnn"`)
		}
	default:
		bad("optimiser", f.Optimiser, fmt.Sprintf(`"natural", "newton" or none with strategy %q`, c.name()))
	}
}

// checkOptimiser: a natural-gradient step of rate above 1 overshoots. Other rates may
// exceed 1, since a gradient scales them.
func (o Optimisation) checkOptimiser(c Config, bad badField) {
	switch o.Optimiser {
	case "", Adam, Adagrad, SGD:
	case Proximal:
		if c.Family == gauss.Full {
			bad("optimiser", o.Optimiser, `another one with family "full"`)
		}
	case Natural:
		if c.Family == gauss.Full {
			bad("optimiser", o.Optimiser, `another one with family "full"`)
		} else if o.LearningRate > 1 {
			bad("learning_rate", o.LearningRate, `in (0, 1] with optimiser "natural"`)
		}
	default:
		bad("optimiser", o.Optimiser, `"adam", "adagrad", "sgd", "proximal" or "natural"`)
	}
}

func checkShards(shards int, bad badField) {
	if shards < 1 || shards > MaxShards {
		bad("shards", shards, fmt.Sprintf("1 to %d", MaxShards))
	}
}

const minRate = 0x1p-32

func checkSampling(s Sampling, rate float64, bad badField) {
	switch {
	case s != SamplingNone && s != SamplingPoisson && s != SamplingFixed:
		bad("sampling", s, `"poisson", "fixed" or none`)
	case s == SamplingNone && rate != 0:
		bad("sample_rate", rate, "0 without sampling")
	case s != SamplingNone && !(rate >= minRate && rate <= 1):
		bad("sample_rate", rate, "in [2^-32, 1]")
	}
}

// checkRecords: the model computes the gradients of single records.
func checkRecords(c Config, bad badField) {
	if kind, ok := model.Lookup(string(c.Model)); ok && kind.External {
		bad("strategy", c.name(),
			fmt.Sprintf("another one with model %q, which has no gradients of single records", c.Model))
	}
}

func checkLinear(c Config, bad badField) {
	if c.Model != bayes.Linear {
		bad("strategy", c.name(), `another one unless the model is "linear"`)
	}
}

// checkOnce: a committee has one undamped round.
func checkOnce(c Config, bad badField) {
	if c.Damping != 1 {
		bad("damping", c.Damping, fmt.Sprintf("1 with strategy %q", c.name()))
	}
	if c.Beta != 0 {
		bad("beta", c.Beta, fmt.Sprintf("0 with strategy %q", c.name()))
	}
}

// checkStrategy checks the strategy and what every one has.
func (c Config) checkStrategy(bad badField) {
	if c.Strategy == nil {
		bad("strategy", `""`, wantStrategy())
		return
	}
	c.Strategy.check(c, bad)
	c.checkFactors(bad)
	local := c.params().Local
	if c.UpdateClip != 0 && !local {
		bad("update_clip", c.UpdateClip, "0 without local noise")
	}
	b, err := c.grid().IntBound(c.updateClip())
	if local && (err != nil || b == 0) || math.IsNaN(c.UpdateClip) {
		bad("update_clip", c.UpdateClip, "at least 2^-frac_bits and below 2^(62-frac_bits)")
	}
}

func wantStrategy() string {
	names := make([]string, len(strategyNames))
	for i, n := range strategyNames {
		names[i] = string(n)
	}
	return "one of " + strings.Join(names, ", ")
}
