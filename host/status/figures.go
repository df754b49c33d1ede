package status

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/VictoriaMetrics/metrics"
)

// figures are a member's metrics. The mutex of the Monitor guards them.
type figures struct {
	role string
	all  []*figure // by name

	rounds, round, attempt, settled, counted, channels, returned, last *figure
	connected, disconnections, missing, expires, spent, budget         *figure
	contributions, refused, disagreements, results, phases             *figure
}

// figure is one metric: a gauge, a counter or a histogram.
type figure struct {
	name, help, kind string
	label            string // the label that tells its series apart; "" for a single series
	series           map[string]*series
}

// series is one value of a figure's label.
type series struct {
	value   float64  // of a histogram, the sum of what was observed
	buckets []uint64 // histogram only: observations by bucket, the last one unbounded
}

// bounds are the upper bounds of a histogram's buckets, in seconds: 10 ms to 44 minutes.
var bounds = []float64{0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84, 655.36, 2621.44}

func newFigures(role string) *figures {
	f := &figures{role: role}
	f.rounds = f.gauge("plan_rounds", "Rounds of the plan.")
	f.round = f.gauge("round", "The round under way, from 1.")
	f.attempt = f.gauge("attempt", "The attempt of that round, from 1.")
	f.settled = f.gauge("settled_round", "The last round that is over.")
	f.counted = f.gauge("counted_parties", "Parties in the last sum that was revealed.")
	f.channels = f.gauge("channels", "Channels set up with other members since the start.")
	f.returned = f.gauge("returned_members", "At a party: nodes that hold its contribution to this attempt. "+
		"At a compute node: parties whose contribution it holds.")
	f.last = f.gauge("last_event_timestamp_seconds", "When something last happened.")
	f.connected = f.gauge("connected", "1 while the broker is reached, else 0.")
	f.disconnections = f.counter("disconnections_total", "", "Times that the connection to the broker was lost.")
	f.missing = f.gauge("missing_members", "Other members that were not heard of for half a minute.")
	f.expires = f.gauge("plan_expiry_timestamp_seconds", "When the plan expires.")
	f.spent = f.gauge("epsilon_spent", "At a party: epsilon of all charges of its ledger.")
	f.budget = f.gauge("epsilon_budget", "At a party: the limit on epsilon.")
	f.contributions = f.counter("contributions_total", "",
		"At a party: receipts. At a compute node: contributions received.")
	f.refused = f.counter("refused_messages_total", "", "Messages that were refused.")
	f.disagreements = f.counter("disagreements_total", "", "Times that compute nodes signed different sets.")
	f.results = f.counter("results_total", "result", "Attempts by what came of them: accepted, void, rejected, "+
		"or uncounted when this party is not in the sum.")
	f.phases = f.histogram("phase_seconds", "phase",
		"Time from an attempt's opening to the end of a phase: contribute, agree, reveal, result.")
	slices.SortFunc(f.all, func(a, b *figure) int { return cmp.Compare(a.name, b.name) })
	return f
}

func (f *figures) gauge(name, help string) *figure { return f.add("gauge", name, "", help) }
func (f *figures) counter(name, label, help string) *figure {
	return f.add("counter", name, label, help)
}
func (f *figures) histogram(name, label, help string) *figure {
	return f.add("histogram", name, label, help)
}

func (f *figures) add(kind, name, label, help string) *figure {
	m := &figure{name: "choir_" + name, help: help, kind: kind, label: label, series: map[string]*series{}}
	if label == "" {
		m.of("") // it is 0 until it is set
	}
	f.all = append(f.all, m)
	return m
}

// of returns the series with a value of the figure's label, which it makes if it is new.
func (m *figure) of(label string) *series {
	if m.series[label] == nil {
		m.series[label] = &series{buckets: make([]uint64, len(bounds)+1)}
	}
	return m.series[label]
}

func (m *figure) set(x float64)    { m.of("").value = x }
func (m *figure) inc(label string) { m.of(label).value++ }

// observe adds a duration, in seconds, to a histogram.
func (m *figure) observe(label string, seconds float64) {
	s := m.of(label)
	s.value += seconds
	i, _ := slices.BinarySearch(bounds, seconds)
	s.buckets[i]++
}

// write renders the figures in Prometheus' text format, then those of the process and
// its Go runtime.
func (f *figures) write(w *bytes.Buffer) {
	for _, m := range f.all {
		if len(m.series) > 0 {
			fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		}
		for _, label := range slices.Sorted(maps.Keys(m.series)) {
			labels := fmt.Sprintf("role=%q", f.role)
			if m.label != "" {
				labels = fmt.Sprintf("%s=%q,%s", m.label, label, labels)
			}
			m.series[label].write(w, m, labels)
		}
	}
	metrics.WriteProcessMetrics(w)
}

func (s *series) write(w io.Writer, m *figure, labels string) {
	if m.kind != "histogram" {
		fmt.Fprintf(w, "%s{%s} %s\n", m.name, labels, number(s.value))
		return
	}
	var count uint64
	for i, n := range s.buckets {
		count += n
		bound := math.Inf(1)
		if i < len(bounds) {
			bound = bounds[i]
		}
		fmt.Fprintf(w, "%s_bucket{%s,le=%q} %d\n", m.name, labels, number(bound), count)
	}
	fmt.Fprintf(w, "%s_sum{%s} %s\n%s_count{%s} %d\n", m.name, labels, number(s.value), m.name, labels, count)
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
