package identity

import "fmt"

// Params are the costs of argon2id (RFC 9106) for a key file. The zero value means DefaultParams.
type Params struct {
	Time      uint32 // passes over the memory, 1 to 16
	MemoryKiB uint32 // memory in KiB, from 8 per lane to 1 GiB
	Lanes     uint8  // degree of parallelism, 1 to 16
}

// DefaultParams returns the second recommendation of RFC 9106, section 4, for
// memory-constrained environments: 3 passes, 64 MiB, 4 lanes.
func DefaultParams() Params { return Params{Time: 3, MemoryKiB: 64 << 10, Lanes: 4} }

// Bounds on the costs in a key file. A hostile file can cost its reader at most a gigabyte of memory
// and some seconds.
const (
	maxTimeCost  = 16
	maxMemoryKiB = 1 << 20
	maxLanes     = 16
)

// validate returns an error if a parameter is out of the bounds documented at its field.
func (p Params) validate() error {
	switch {
	case p.Time < 1 || p.Time > maxTimeCost:
		return fmt.Errorf("identity: argon2id time %d is not in [1, %d]", p.Time, maxTimeCost)
	case p.Lanes < 1 || p.Lanes > maxLanes:
		return fmt.Errorf("identity: argon2id lanes %d is not in [1, %d]", p.Lanes, maxLanes)
	case p.MemoryKiB < 8*uint32(p.Lanes) || p.MemoryKiB > maxMemoryKiB:
		return fmt.Errorf("identity: argon2id memory %d KiB is not in [%d, %d]",
			p.MemoryKiB, 8*uint32(p.Lanes), maxMemoryKiB)
	}
	return nil
}

func (p Params) orDefault() Params {
	if p == (Params{}) {
		return DefaultParams()
	}
	return p
}
