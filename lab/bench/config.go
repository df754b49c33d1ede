package bench

import (
	"fmt"
	"runtime"

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
	// of one session (host), or whole sessions (stream), 1 to 1000
	Rounds    int    `json:"rounds"`
	Transport string `json:"transport"` // Memory or NATS (embedded server, file-backed JetStream)
	// DriverAuto: host over NATS and up to 64 parties, else stream
	Driver string        `json:"driver"`
	Suite  channel.Suite `json:"-"` // 0: hybrid
	// Sigma is the standard deviation of one party's noise in grid units, 0 to 2^31;
	// 0 is a plan without noise, whose sum is compared exactly.
	Sigma uint64 `json:"sigma"`
	// Pairs says whether two coordinates share an element: PairsYes, with rows as small as the
	// headroom asks for, PairsNo, or PairsAuto: under the stream driver, where rows of at
	// least autoUnits fit.
	Pairs string `json:"pairs"`
	// Settle is how many parties of the stream driver take their receipts and the
	// result in, beside the round; 0: 16. The host driver's all do.
	Settle int `json:"-"`
	// Workers is how many goroutines step machines in the stream driver and measure
	// limits; 0: one a core.
	Workers int `json:"-"`
	// Dir is where a broker's files go; empty: a temporary folder.
	Dir string `json:"-"`
}

// hostParties is up to where the automatic choice runs a member as a deployment
// does, with goroutines and a bus of its own.
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
		if c.Transport == NATS || c.Parties <= hostParties {
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
	c.Settle = min(c.Settle, c.Parties)
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	return c
}

// Validate refuses what no run is made for, naming the field.
func (c Config) Validate() error {
	refuse := func(format string, args ...any) error {
		return protocol.Fail(protocol.ClassInput, format,
			args...)
	}
	c = c.withDefaults()
	switch {
	case c.Parties < 2 || c.Parties > 1<<17:
		return refuse("parties: %d isn't in 2..%d", c.Parties, 1<<17)
	case c.Dim < 1 || c.Dim > 1<<24:
		return refuse("dim: %d isn't in 1..%d", c.Dim, 1<<24)
	case c.Computes < 2 || c.Computes > 100:
		return refuse("compute_nodes: %d isn't in 2..100; one node alone would see every row", c.Computes)
	case c.Rounds < 1 || c.Rounds > 1000:
		return refuse("rounds: %d isn't in 1..1000", c.Rounds)
	case c.Transport != Memory && c.Transport != NATS:
		return refuse("transport: %q isn't one of %q", c.Transport, []string{Memory, NATS})
	case c.Driver != DriverHost && c.Driver != DriverStream:
		return refuse("driver: %q isn't one of %q", c.Driver, []string{DriverAuto, DriverHost, DriverStream})
	case c.Driver == DriverStream && c.Transport != Memory:
		return refuse("driver: %s steps machines without a bus; it has no transport %s", c.Driver,
			c.Transport)
	case c.Sigma > 1<<31:
		return refuse("sigma: %d isn't in 0..2^31", c.Sigma)
	case c.Pairs != PairsYes && c.Pairs != PairsNo:
		return refuse("pairs: %q isn't one of %q", c.Pairs, []string{PairsAuto, PairsYes, PairsNo})
	case c.units() == 0:
		return refuse("pairs: two coordinates in an element have no room for %d parties with a noise of %d",
			c.Parties, c.Sigma)
	case c.Settle < 0 || c.Workers < 0 || c.Workers > 4096:
		return refuse("workers: %d isn't in 1..4096", c.Workers)
	}
	return c.Suite.Validate()
}

// maxUnits is the largest magnitude of a row's coordinate on the grid, and autoUnits what
// pairs must have room for to be chosen.
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

// perElement is how many coordinates an element stands for.
func (c Config) perElement() int {
	if c.Pairs == PairsYes {
		return 2
	}
	return 1
}

// pairing says it, and how large rows are.
func (c Config) pairing() string {
	if c.Pairs == PairsYes {
		return fmt.Sprintf("two coordinates of at most %d units in an element", c.units())
	}
	return "a coordinate an element"
}

// Pairing says how many coordinates are in an element of the run.
func (r *Result) Pairing() string { return r.pairing() }

// elements is how many field elements a row has.
func (c Config) elements() int {
	if c.Pairs == PairsYes {
		return fixedpoint.Paired(c.Dim)
	}
	return c.Dim
}
