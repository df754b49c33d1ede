package bench

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"choir/crypto/channel"
	"choir/protocol"
)

// small is a cell that takes some tenths of a second.
func small(transport, driver string, sigma uint64) Config {
	c := Config{Parties: 5, Dim: 300, Computes: 3, Rounds: 2, Transport: transport, Driver: driver,
		Sigma: sigma, Suite: channel.SuiteX25519}
	if driver == DriverStream {
		c.Rounds, c.Repeats = 1, 3
	}
	return c
}

// TestCells: every driver and transport gives the right sum (Run fails otherwise),
// with and without noise, and a complete document.
func TestCells(t *testing.T) {
	with := func(pairs string, c Config) Config {
		c.Pairs = pairs
		return c
	}
	for _, cfg := range []Config{
		small(Memory, DriverStream, 0), small(Memory, DriverStream, 1<<10),
		with(PairsNo, small(Memory, DriverStream, 1<<10)),
		small(Memory, DriverHost, 0), small(NATS, DriverHost, 1<<10),
		with(PairsYes, small(NATS, DriverHost, 1<<10)),
	} {
		t.Run(cfg.Transport+" "+cfg.Driver+" "+cfg.Pairs, func(t *testing.T) {
			r, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			checkResult(t, r)
		})
	}
}

func checkResult(t *testing.T, r *Result) {
	t.Helper()
	m := map[string]any{}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"schema_version", "machine", "go", "parties", "dim", "compute_nodes",
		"transport", "rounds", "upload_bytes_per_party",
		"node_peak_bytes", "seconds_setup", "seconds_round", "seconds_noise", "seconds_total", "phases",
		"limit_ratio", "setup_ratio"} {
		if _, ok := m[key]; !ok {
			t.Errorf("the document lacks %q", key)
		}
	}
	if r.SecondsAggregate <= 0 || r.SecondsAggregate > r.SecondsRound ||
		(r.Driver == DriverStream) != (r.SecondsAggregate == r.SecondsRound) {
		t.Errorf("the sum after %g s of a round of %g", r.SecondsAggregate, r.SecondsRound)
	}
	if v := r.Versions["choir"]; v == "" {
		t.Errorf("the document does not name Choir's version: %v", r.Versions)
	}
	if r.SecondsSetup <= 0 || r.SecondsRound <= 0 || r.SecondsTotal < r.SecondsRound+r.SecondsSetup ||
		(r.SecondsNoise > 0) != (r.Sigma > 0) {
		t.Errorf("set-up %g, round %g, noise %g, total %g s", r.SecondsSetup, r.SecondsRound,
			r.SecondsNoise, r.SecondsTotal)
	}
	if r.Repeats < 1 || len(r.RoundsAll) != r.Repeats || !slices.Contains(r.RoundsAll, r.SecondsRound) ||
		(len(r.Quartiles) == 3) != (r.Repeats > 1) {
		t.Errorf("%d sessions of %v s, quartiles %v, the median one of %g s", r.Repeats, r.RoundsAll, r.Quartiles,
			r.SecondsRound)
	}
	if limit := int64(8*r.elements() + 4096*r.Computes); r.UploadBytesPerParty < int64(8*r.elements()) ||
		r.UploadBytesPerParty+r.UploadSetupBytes > limit {
		t.Errorf("a party uploads %d and %d bytes, the bound is %d", r.UploadBytesPerParty,
			r.UploadSetupBytes, limit)
	}
	if r.NodePeakBytes < int64(8*r.elements()) || r.LimitRatio <= 0 {
		t.Errorf("a node's peak is %d, the limit ratio %g", r.NodePeakBytes, r.LimitRatio)
	}
	for _, want := range []string{"party share", "compute open", "compute add", "compute agree",
		"aggregator combine"} {
		role, phase, _ := strings.Cut(want, " ")
		if p := r.Phase(role, phase); !p.InRound || p.Seconds <= 0 || p.LimitRatio <= 0 ||
			p.LimitSeconds <= 0 || p.Bytes <= 0 {
			t.Errorf("%s: %+v", want, p)
		}
	}
	if (r.Bare != nil) != (r.Transport == NATS) {
		t.Errorf("bare transfer: %+v", r.Bare)
	} else if r.Bare != nil && (len(r.Bare.All) != bareRuns ||
		r.Bare.Bytes < int64(r.Rounds*8*r.elements()*(r.Parties+r.Computes+1)) ||
		r.Bare.ReadBytes < r.Bare.Bytes) {
		t.Errorf("bare transfer: %+v", r.Bare)
	}
}

// TestInterrupted: a run ends when its context does, within a phase's work on some parties, with
// an error. This one would take a quarter of a minute.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	cfg := small(Memory, DriverStream, 0)
	cfg.Parties = 5000
	if _, err := Run(ctx, cfg); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run whose context has ended: %v", err)
	}
}

// TestRepeats checks that both drivers run as many sessions as asked for.
func TestRepeats(t *testing.T) {
	for _, driver := range []string{DriverStream, DriverHost} {
		cfg := small(Memory, driver, 0)
		cfg.Repeats = 5
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, r)
		if r.Repeats != 5 {
			t.Errorf("%s: %d sessions", driver, r.Repeats)
		}
		if sorted := slices.Sorted(slices.Values(r.RoundsAll)); r.SecondsRound != sorted[2] ||
			!slices.Equal(r.Quartiles, sorted[1:4]) {
			t.Errorf("%s: %g s and quartiles %v of %v", driver, r.SecondsRound, r.Quartiles, r.RoundsAll)
		}
	}
}

// TestDropouts checks that a round goes on without the parties that have a channel and never contribute,
// that its sum is that of the others (Run fails otherwise), and that it sends what they alone would.
func TestDropouts(t *testing.T) {
	for _, sigma := range []uint64{0, 1 << 10} {
		cfg := small(Memory, DriverAuto, sigma)
		cfg.Rounds, cfg.Repeats, cfg.Parties, cfg.Dropouts = 1, 2, 9, 4
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		checkResult(t, r)
		cfg.Parties, cfg.Dropouts, cfg.Driver = 5, 0, DriverStream
		alone, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i, role := range r.Traffic {
			if got, want := role.Round, alone.Traffic[i].Round; got.MessagesSent != want.MessagesSent {
				t.Errorf("%s: %+v, without drop-outs %+v", role.Role, got, want)
			}
		}
		if got, want := r.Traffic[2].Setup.MessagesReceived, int64(9+cfg.Computes); got != want {
			t.Errorf("the aggregator has %d messages of the set-up, want %d", got, want)
		}
	}
}

// TestProgress checks that each driver tells its stages.
func TestProgress(t *testing.T) {
	for _, test := range []struct {
		transport, driver string
		want              []string
	}{
		{Memory, DriverStream,
			[]string{"keys", "channels, 0 of 5 parties", "contributions, 0 of 5 parties", "settling"}},
		{NATS, DriverHost, []string{"session 1", "bare transfer 3 of 3", "channels, 0 of 5 parties"}},
	} {
		cfg, told := small(test.transport, test.driver, 0), []string{}
		cfg.Repeats = 1
		cfg.Progress = func(doing string) { told = append(told, doing) }
		if _, err := Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if want = "N = 5, d = 300, M = 3: " + want; !slices.Contains(told, want) {
				t.Errorf("%s: not told: %q in %q", test.driver, want, told)
			}
		}
	}
}

// TestQuartiles compares with quartiles by hand.
func TestQuartiles(t *testing.T) {
	for _, test := range []struct{ v, want []float64 }{
		{nil, nil}, {[]float64{3}, nil}, {[]float64{3, 1}, []float64{1.5, 2, 2.5}},
		{[]float64{9, 1, 5}, []float64{3, 5, 7}}, {[]float64{4, 1, 3, 2}, []float64{1.75, 2.5, 3.25}},
	} {
		if got := quartiles(test.v); !slices.Equal(got, test.want) {
			t.Errorf("of %v: %v, want %v", test.v, got, test.want)
		}
	}
}

// TestUnits: rows in pairs are as large as the plan's headroom allows, and pairs are chosen where
// that suffices.
func TestUnits(t *testing.T) {
	tests := []struct {
		name  string
		cfg   Config
		pairs string
		units uint64
	}{
		{"1000 parties", Config{Parties: 1000, Dim: 10000, Computes: 10, Sigma: 1 << 10}, PairsYes, 1023},
		{"100000 parties", Config{Parties: 100000, Dim: 10000, Computes: 10, Sigma: 1 << 10}, PairsYes, 127},
		{"long rows", Config{Parties: 100000, Dim: 1000000, Computes: 10, Sigma: 1 << 10}, PairsNo, 1023},
		{"long rows in pairs",
			Config{Parties: 100000, Dim: 1000000, Computes: 10, Sigma: 1 << 10, Pairs: PairsYes}, PairsYes, 15},
		{"host driver", Config{Parties: 10, Dim: 1000000, Computes: 3, Sigma: 1 << 10}, PairsNo, 1023},
		{"no headroom", Config{Parties: 1000, Dim: 10, Computes: 3, Sigma: 1 << 24, Pairs: PairsYes}, PairsYes, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := test.cfg.withDefaults()
			if cfg.Pairs != test.pairs || cfg.units() != test.units {
				t.Errorf("pairs %s, units %d, want %s and %d", cfg.Pairs, cfg.units(), test.pairs, test.units)
			}
			if err := test.cfg.validate(); (err == nil) != (test.units > 0) {
				t.Error(err)
			}
		})
	}
}

// TestWrongSums: the check that every run ends with notices a unit too much, and
// noise that is missing, too large, or of one party too many.
func TestWrongSums(t *testing.T) {
	for _, sigma := range []uint64{0, 1 << 10} {
		cfg := small(Memory, DriverStream, sigma).withDefaults()
		cfg.Dim = 4000
		w, err := newWorld(cfg)
		if err != nil {
			t.Fatal(err)
		}
		sum := w.rows.plain(cfg.Parties)
		if err := w.check(sum); (err == nil) != (sigma == 0) {
			t.Errorf("sigma %d: the plain sum: %v", sigma, err)
		}
		sum[17]++
		if err := w.check(sum); err == nil {
			t.Errorf("sigma %d: a unit too much was taken", sigma)
		}
		for j := range sum { // a square wave of the standard deviation of six parties' noise
			sum[j] += int64(2508) * int64(1-2*(j%2))
		}
		if err := w.check(sum); err == nil {
			t.Errorf("sigma %d: the noise of a party too many was taken", sigma)
		}
	}
}

// TestRows: the plain sum in closed form is the sum of the rows.
func TestRows(t *testing.T) {
	r := newRows(7, maxUnits)
	const n = 2*span + 5
	want, v := make([]int64, 7), make([]int64, 7)
	for i := range n {
		if err := r.encodeTo(v, i); err != nil {
			t.Fatal(err)
		}
		for j := range want {
			want[j] += v[j]
		}
	}
	for j, v := range r.plain(n) {
		if v != want[j] {
			t.Errorf("coordinate %d is %d, not %d", j, v, want[j])
		}
	}
}

// TestRefused: bad cells are bad input, by field.
func TestRefused(t *testing.T) {
	good := small(Memory, DriverStream, 0)
	tests := []struct {
		field  string
		change func(*Config)
	}{
		{"parties", func(c *Config) { c.Parties = 1 }},
		{"dim", func(c *Config) { c.Dim = 0 }},
		{"compute_nodes", func(c *Config) { c.Computes = 1 }},
		{"rounds", func(c *Config) { c.Rounds = -1 }},
		{"rounds", func(c *Config) { c.Rounds = 2 }},
		{"repeats", func(c *Config) { c.Repeats = -1 }},
		{"repeats", func(c *Config) { c.Repeats = 1001 }},
		{"transport", func(c *Config) { c.Transport = "pigeon" }},
		{"driver", func(c *Config) { c.Transport = NATS }},
		{"driver", func(c *Config) { c.Driver = "walk" }},
		{"sigma", func(c *Config) { c.Sigma = 1 << 40 }},
		{"pairs", func(c *Config) { c.Pairs = "three" }},
		{"rtt, mbit", func(c *Config) { c.Link.RTT = 1 }},
		{"rtt", func(c *Config) { *c = small(NATS, DriverHost, 0); c.Link.RTT = -1 }},
		{"mbit", func(c *Config) { *c = small(NATS, DriverHost, 0); c.Link.Mbit = 0.001 }},
		{"dropouts", func(c *Config) { c.Dropouts = 4 }},
		{"dropouts", func(c *Config) { c.Dropouts = -1 }},
		{"dropouts", func(c *Config) { *c = small(Memory, DriverHost, 0); c.Dropouts = 1 }},
		{"workers", func(c *Config) { c.Workers = -1 }},
	}
	for _, test := range tests {
		t.Run(test.field, func(t *testing.T) {
			cfg := good
			test.change(&cfg)
			_, err := Run(t.Context(), cfg)
			if protocol.ClassOf(err) != protocol.ClassInput || !strings.HasPrefix(err.Error(), test.field+":") {
				t.Error(err)
			}
		})
	}
}

// TestPack: what a parked party's store held is there again.
func TestPack(t *testing.T) {
	f := new(few)
	f.apply([]protocol.Record{{Key: "a", Value: []byte("1")}, {Key: "b/1", Value: []byte{}},
		{Key: "b/2", Value: []byte("xyz")}, {Key: "a"}})
	got := unpack(f.pack())
	if len(got.records) != 2 || string(got.Get("b/2")) != "xyz" || got.Get("b/1") == nil ||
		got.Get("a") != nil || len(got.Keys("b/")) != 2 {
		t.Errorf("%+v", got.records)
	}
	if empty := unpack(nil); len(empty.records) != 0 {
		t.Errorf("%+v", empty.records)
	}
}
