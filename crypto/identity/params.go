package identity

import "fmt"

// Params are the costs of argon2id (RFC 9106) for a key file. The zero value
// stands for DefaultParams.
type Params struct {
	Time      uint32 // passes over the memory, 1 to 16
	MemoryKiB uint32 // memory in KiB, from 8 per lane to 1 GiB
	Lanes     uint8  // degree of parallelism, 1 to 16
}

// DefaultParams returns the second recommendation of RFC 9106, section 4, for
// machines without memory to spare: 3 passes, 64 MiB, 4 lanes.
func DefaultParams() Params { return Params{Time: 3, MemoryKiB: 64 << 10, Lanes: 4} }

// Bounds of what a key file may ask for, so that a hostile file costs its
// reader a gigabyte and some seconds at most.
const (
	maxTimeCost  = 16
	maxMemoryKiB = 1 << 20
	maxLanes     = 16
)

// Validate refuses parameters out of the bounds given at the fields.
func (p Params) Validate() error {
	switch {
	case p.Time < 1 || p.Time > maxTimeCost:
		return fmt.Errorf("identity: argon2id time %d is not in [1, %d]", p.Time, maxTimeCost)
	case p.Lanes < 1 || p.Lanes > maxLanes:
		return fmt.Errorf("identity: argon2id lanes %d is not in [1, %d]", p.Lanes, maxLanes)
	case p.MemoryKiB < 8*uint32(p.Lanes) || p.MemoryKiB > maxMemoryKiB:
		return fmt.Errorf("identity: argon2id memory %d KiB is not in [%d, %d]", p.MemoryKiB, 8*uint32(p.Lanes), maxMemoryKiB)
	}
	return nil
}

func (p Params) orDefault() Params {
	if p == (Params{}) {
		return DefaultParams()
	}
	return p
}
