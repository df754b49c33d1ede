package bench

import (
	"fmt"
	"runtime"
	"slices"

	"choir/crypto/channel"
	"choir/crypto/fixedpoint"
	"choir/protocol"
)

// The transports and drivers of a run.
const (
	Memory = "memory"
	NATS   = "nats"

	DriverAuto   = "auto"
	DriverHost   = "host"
	DriverStream = "stream"

	PairsAuto = "auto"
	PairsYes  = "yes"
	PairsNo   = "no"
)

// Config is one cell: a secure sum of Parties vectors of Dim coordinates over
// Computes nodes.
type Config struct {
	Parties  int `json:"parties"`       // N, 2 to 2^17
	Dim      int `json:"dim"`           // d, 1 to 2^24
	Computes int `json:"compute_nodes"` // M, 2 to 100
	Rounds   int `json:"rounds"`        // of a session, 1 to 1000; under the stream driver 1
	// Dropouts is how many parties set up channels and then never contribute, up to N-2. The nodes wait for
	// them until the plan's deadline, which the stream driver's clock jumps to.
	Dropouts int `json:"dropouts"`
	// Repeats is the number of sessions, up to 1000; 0: one, under the host driver bareRuns of them
	// unless they take long.
	Repeats   int    `json:"repeats"`
	Transport string `json:"transport"` // Memory or NATS (embedded server, file-backed JetStream)
	Link      Link   `json:"link"`      // over NATS
	// DriverAuto: host over NATS and up to 64 parties, else stream
	Driver string        `json:"driver"`
	Suite  channel.Suite `json:"-"` // 0: hybrid
	// Sigma is the standard deviation of one party's noise in grid units, 0 to 2^31;
	// 0 is a plan without noise, whose sum is compared exactly.
	Sigma uint64 `json:"sigma"`
	// Pairs is PairsYes if two coordinates share an element, with rows as small as the headroom
	// requires, PairsNo, or PairsAuto: under the stream driver, where rows of at least autoUnits
	// fit.
	Pairs string `json:"pairs"`
	// Settle is how many parties of the stream driver process their receipts and the result,
	// outside of the round; 0: 16. With the host driver all do.
	Settle int `json:"-"`
	// Workers is how many goroutines step machines in the stream driver and measure
	// limits; 0: one a core.
	Workers int `json:"-"`
	// Dir is where a broker's files go; empty: a temporary folder.
	Dir string `json:"-"`
	// Progress is called with what is under way, often; nil: not called.
	Progress func(doing string) `json:"-"`
}

// progress tells what is under way in the cell.
func (c Config) progress(format string, a ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf("N = %d, d = %d, M = %d: ", c.Parties, c.Dim, c.Computes) +
			fmt.Sprintf(format, a...))
	}
}

// hostParties is the largest number of parties for which the automatic choice is the host
// driver.
const hostParties = 64

// withDefaults fills in what is left open.
func (c Config) withDefaults() Config {
	if c.Rounds == 0 {
		c.Rounds = 1
	}
	if c.Transport == "" {
		c.Transport = Memory
	}
	if c.Driver == "" || c.Driver == DriverAuto {
		c.Driver = DriverStream
		if c.Transport == NATS || c.Parties <= hostParties && c.Dropouts == 0 {
			c.Driver = DriverHost
		}
	}
	if c.Suite == 0 {
		c.Suite = channel.SuiteHybrid
	}
	if c.Pairs == "" || c.Pairs == PairsAuto {
		if c.Pairs = PairsYes; c.Driver != DriverStream || c.units() < autoUnits {
			c.Pairs = PairsNo
		}
	}
	if c.Settle == 0 {
		c.Settle = 16
	}
	c.Settle = min(c.Settle, c.contributing())
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	return c
}

// validate refuses a run that cannot be measured, naming the field.
func (c Config) validate() error {
	c = c.withDefaults()
	for _, f := range []struct {
		name      string
		v, lo, hi int
	}{
		{"parties", c.Parties, 2, 1 << 17},
		{"dim", c.Dim, 1, 1 << 24},
		{"compute_nodes", c.Computes, 2, 100}, // one node alone would see every row
		{"rounds", c.Rounds, 1, 1000},
		{"repeats", c.Repeats, 0, 1000},
		{"workers", c.Workers, 1, 4096},
		{"dropouts", c.Dropouts, 0, c.Parties - 2}, // a sum of one would be that party's row
		{"settle", c.Settle, 0, c.Parties},
	} {
		if f.v < f.lo || f.v > f.hi {
			return protocol.Fail(protocol.ClassInput, "%s: %d is not in %d..%d", f.name, f.v, f.lo, f.hi)
		}
	}
	for _, f := range []struct {
		name, v string
		allowed []string
	}{
		{"transport", c.Transport, []string{Memory, NATS}},
		{"driver", c.Driver, []string{DriverHost, DriverStream}},
		{"pairs", c.Pairs, []string{PairsNo, PairsYes}},
	} {
		if !slices.Contains(f.allowed, f.v) {
			return protocol.Fail(protocol.ClassInput, "%s: %q is not auto or one of %q", f.name, f.v, f.allowed)
		}
	}
	if err := c.validateDriver(); err != nil {
		return err
	}
	switch {
	case c.Sigma > 1<<31:
		return protocol.Fail(protocol.ClassInput, "sigma: %d is not in 0..2^31", c.Sigma)
	case c.units() == 0:
		return protocol.Fail(protocol.ClassInput,
			"pairs: two coordinates do not fit an element with %d parties and a noise of %d", c.Parties, c.Sigma)
	}
	if err := c.Link.validate(c.Transport); err != nil {
		return err
	}
	return c.Suite.Validate()
}

// validateDriver refuses what the driver does not have.
func (c Config) validateDriver() error {
	switch {
	case c.Driver == DriverStream && c.Transport != Memory:
		return protocol.Fail(protocol.ClassInput, "driver: %s has no transport %s", c.Driver, c.Transport)
	case c.Dropouts > 0 && c.Driver != DriverStream:
		return protocol.Fail(protocol.ClassInput, "dropouts: under driver %s a round would wait for the plan's "+
			"deadline; driver %s measures the rest", c.Driver, DriverStream)
	case c.Driver == DriverStream && c.Rounds > 1:
		return protocol.Fail(protocol.ClassInput, "rounds: a session under driver %s has one round; repeats "+
			"sets how many sessions run", c.Driver)
	}
	return nil
}

// maxUnits is the largest magnitude of a row's coordinate on the grid, and autoUnits the one that
// pairs must allow to be chosen.
const (
	maxUnits  = 1023
	autoUnits = 127
)

// units is the largest magnitude of a coordinate, 2^k - 1, for which sums of all rows
// have headroom; 0 when nothing has.
func (c Config) units() uint64 {
	h := fixedpoint.Headroom{Parties: max(1, c.Parties), NoiseVariance: c.Sigma * c.Sigma,
		Dim: max(1, c.Dim), Rounds: max(1, c.Rounds), Paired: c.Pairs == PairsYes}
	for u := uint64(maxUnits); u > 0; u >>= 1 {
		if h.PerParty = rowBound(u, c.Dim); h.Check() == nil {
			return u
		}
	}
	return 0
}

// contributing is how many parties a sum has.
func (c Config) contributing() int { return c.Parties - c.Dropouts }

// perElement is how many coordinates an element has.
func (c Config) perElement() int {
	if c.Pairs == PairsYes {
		return 2
	}
	return 1
}

// pairing describes the elements and the largest row.
func (c Config) pairing() string {
	if c.Pairs == PairsYes {
		return fmt.Sprintf("two coordinates of at most %d units in an element", c.units())
	}
	return "a coordinate an element"
}

// Pairing describes the elements of the run.
func (r *Result) Pairing() string { return r.pairing() }

// elements is how many field elements a row has.
func (c Config) elements() int {
	if c.Pairs == PairsYes {
		return fixedpoint.Paired(c.Dim)
	}
	return c.Dim
}
