package status

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// figures are what Prometheus reads, in a registry of their own.
type figures struct {
	registry *prometheus.Registry

	rounds, round, attempt, settled, counted, channels, returned, last prometheus.Gauge
	contributions, refused, disagreements                              prometheus.Counter
	results                                                            *prometheus.CounterVec
	phases                                                             *prometheus.HistogramVec
}

func newFigures(role string) *figures {
	r := prometheus.NewRegistry()
	labels := prometheus.Labels{"role": role}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "choir", Name: name, Help: help, ConstLabels: labels})
		r.MustRegister(g)
		return g
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "choir", Name: name, Help: help, ConstLabels: labels})
		r.MustRegister(c)
		return c
	}
	f := &figures{
		registry:      r,
		rounds:        gauge("plan_rounds", "Rounds of the plan."),
		round:         gauge("round", "The round under way, from 1."),
		attempt:       gauge("attempt", "The attempt of that round, from 1."),
		settled:       gauge("settled_round", "The last round that is over."),
		counted:       gauge("counted_parties", "Parties in the last sum that was revealed."),
		channels:      gauge("channels", "Channels set up with other members since the start."),
		returned:      gauge("returned_members", "At a party: nodes that hold its contribution to this attempt. At a compute node: parties whose contribution it holds."),
		last:          gauge("last_event_timestamp_seconds", "When something last happened."),
		contributions: counter("contributions_total", "At a party: receipts. At a compute node: contributions taken in."),
		refused:       counter("refused_messages_total", "Messages that were refused."),
		disagreements: counter("disagreements_total", "Times that compute nodes signed different sets."),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "choir", Name: "results_total", ConstLabels: labels,
			Help: "Attempts by what came of them: accepted, void, rejected, or uncounted when this party isn't in the sum."}, []string{"result"}),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "choir", Name: "phase_seconds", ConstLabels: labels,
			Help:    "Time from an attempt's opening to the end of a phase: contribute, agree, reveal, result.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 10)}, []string{"phase"}), // 10 ms to 44 minutes
	}
	r.MustRegister(f.results, f.phases, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return f
}

func (f *figures) phase(name string) prometheus.Observer { return f.phases.WithLabelValues(name) }

func (f *figures) handler() http.Handler {
	return promhttp.HandlerFor(f.registry, promhttp.HandlerOpts{})
}
