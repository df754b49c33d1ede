package run

import (
	"context"
	"errors"

	"choir/protocol"
	"choir/transport"
	"choir/transport/memory"
	"choir/transport/natsbus"
)

// Connect opens a member's connection to the others.
type Connect func(member uint32) (transport.Bus, error)

// InMemory connects the members of a session in this process.
func InMemory(s protocol.BoundPlan) Connect {
	hub := memory.NewHub()
	return func(i uint32) (transport.Bus, error) { return hub.Connect(s.Name(i)), nil }
}

// OverNATS connects members over the broker that c describes; plan and names are
// filled in. Member 0, which must connect first, creates the stream.
func OverNATS(ctx context.Context, s protocol.BoundPlan, c natsbus.Config) Connect {
	return func(i uint32) (transport.Bus, error) {
		own := c
		own.Plan = s.ID.Short()
		own.Name = s.Name(i)
		bus, err := natsbus.Open(ctx, own)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			return bus, nil
		}
		if err := bus.EnsureStream(ctx); err != nil {
			return nil, errors.Join(err, bus.Close())
		}
		return bus, nil
	}
}
