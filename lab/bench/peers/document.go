package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"choir/lab/bench"
)

// Config is what is compared.
type Config struct {
	Parties  int `json:"parties"`       // N, 4 to 1000
	Dim      int `json:"dim"`           // d, 1 to 10^6
	Computes int `json:"compute_nodes"` // M, 2 to 100
	Repeats  int `json:"repeats"`       // 1 to 100; the median counts
}

// Validate refuses what no comparison is made for.
func (c Config) Validate() error {
	switch {
	case c.Parties < 4 || c.Parties > 1000:
		return fmt.Errorf("parties: %d isn't in 4..1000", c.Parties)
	case c.Dim < 1 || c.Dim > 1e6:
		return fmt.Errorf("dim: %d isn't in 1..1000000", c.Dim)
	case c.Computes < 2 || c.Computes > 100:
		return fmt.Errorf("compute-nodes: %d isn't in 2..100", c.Computes)
	case c.Repeats < 1 || c.Repeats > 100:
		return fmt.Errorf("repeats: %d isn't in 1..100", c.Repeats)
	}
	return nil
}

// Row is one protocol.
type Row struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Parties int    `json:"parties"`
	Servers int    `json:"servers"` // nodes, aggregators or servers
	// ClientSeconds is a client's processor time for one contribution, ServerSeconds one
	// server's for one contribution, both on one core and without setting up keys.
	ClientSeconds float64 `json:"client_seconds"`
	ServerSeconds float64 `json:"server_seconds"`
	// wall time of a whole round over NATS, where it ran over NATS
	RoundSeconds float64 `json:"round_seconds,omitempty"`
	UploadBytes  int64   `json:"upload_bytes"`    // by a client, a contribution
	Messages     int     `json:"client_messages"` // how often a client must speak for one sum
	// Versus is Choir's row of the same parties and as many nodes; the ratios are this
	// row's cost over that one's.
	Versus      string  `json:"versus,omitempty"`
	ClientRatio float64 `json:"client_ratio,omitempty"`
	ServerRatio float64 `json:"server_ratio,omitempty"`
	RoundRatio  float64 `json:"round_ratio,omitempty"`
	Gives       string  `json:"guarantees_that_choir_does_not"`
	Lacks       string  `json:"choir_guarantees_that_it_does_not"`
}

// Document is what a run gives.
type Document struct {
	SchemaVersion int               `json:"schema_version"`
	Command       string            `json:"command"`
	Machine       bench.Machine     `json:"machine"`
	Go            string            `json:"go"`
	Versions      map[string]string `json:"versions"`
	Config
	Rows []Row `json:"rows"`
}

// Measure runs every protocol, Repeats times each, one after the other.
func Measure(ctx context.Context, cfg Config) (*Document, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	d := &Document{SchemaVersion: 1, Machine: bench.ThisMachine(), Go: runtime.Version(),
		Versions: bench.Versions(), Config: cfg,
		Command: fmt.Sprintf("cd bench/peers && go run . --parties %d --dim %d --compute-nodes %d "+
			"--repeats %d", cfg.Parties, cfg.Dim, cfg.Computes, cfg.Repeats)}
	for _, f := range []func(context.Context, Config) (Row, error){choirTwo, choirMany, choirNATS, prio,
		classic, secagg, plain} {
		var runs []Row
		for range cfg.Repeats {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r, err := f(ctx, cfg)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Name, err)
			}
			runs = append(runs, r)
		}
		d.Rows = append(d.Rows, median(runs))
	}
	d.compare()
	return d, nil
}

// median takes each figure's median over the runs.
func median(runs []Row) Row {
	r := runs[0]
	pick := func(f func(Row) float64) float64 {
		v := make([]float64, len(runs))
		for i := range runs {
			v[i] = f(runs[i])
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	r.ClientSeconds = pick(func(r Row) float64 { return r.ClientSeconds })
	r.ServerSeconds = pick(func(r Row) float64 { return r.ServerSeconds })
	r.RoundSeconds = pick(func(r Row) float64 { return r.RoundSeconds })
	return r
}

// compare relates each peer to the row of Choir's that it names.
func (d *Document) compare() {
	ratio := func(a, b float64) float64 {
		if a == 0 || b == 0 {
			return 0
		}
		return a / b
	}
	for i := range d.Rows {
		r := &d.Rows[i]
		for _, own := range d.Rows {
			if own.Name == r.Versus {
				r.ClientRatio, r.ServerRatio = ratio(r.ClientSeconds, own.ClientSeconds),
					ratio(r.ServerSeconds, own.ServerSeconds)
				r.RoundRatio = ratio(r.RoundSeconds, own.RoundSeconds)
			}
		}
	}
}

// Markdown is the table that docs/benchmarks shows.
func (d *Document) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "d = %d, N = %d, median of %d\n\n", d.Dim, d.Parties, d.Repeats)
	b.WriteString("| protocol | servers | client, ms | server, ms a contribution | upload, bytes | " +
		"client speaks | compared with | client costs | server costs | round over NATS " +
		"|\n|---|---|---|---|---|---|---|---|---|---|\n")
	times := func(v float64) string {
		if v == 0 {
			return ""
		}
		return fmt.Sprintf("%.3gx", v)
	}
	for _, r := range d.Rows {
		round := ""
		if r.RoundSeconds > 0 {
			round = strings.TrimSuffix(fmt.Sprintf("%.3g s %s", r.RoundSeconds, times(r.RoundRatio)), " ")
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %d | %d | %s | %s | %s | %s |\n", r.Name, r.Servers,
			ms(r.ClientSeconds), ms(r.ServerSeconds),
			r.UploadBytes, r.Messages, r.Versus, times(r.ClientRatio), times(r.ServerRatio), round)
	}
	b.WriteString("\n")
	for _, r := range d.Rows {
		fmt.Fprintf(&b, "- **%s** (%s).", r.Name, r.Source)
		if r.Gives != "" {
			fmt.Fprintf(&b, " It gives what Choir doesn't: %s.", r.Gives)
		}
		if r.Lacks != "" {
			fmt.Fprintf(&b, " Choir gives what it doesn't: %s.", r.Lacks)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func ms(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g", 1000*seconds)
}
