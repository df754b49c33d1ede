package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"choir/protocol"
	"choir/transport"
	"choir/transport/memory"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// network is what the members of a session meet over.
type network struct {
	session protocol.BoundPlan
	hub     *memory.Hub // or
	server  *embedded.Server
	token   string
	relays  []*relay // by member; nil: none
}

// startNetwork starts it, with the broker's files in a folder.
func startNetwork(s protocol.BoundPlan, cfg Config, dir string) (*network, error) {
	n := &network{session: s, token: dir + ".token"}
	if cfg.Transport == Memory {
		n.hub = memory.NewHub()
		return n, nil
	}
	if err := os.WriteFile(n.token, []byte(rand.Text()), 0o600); err != nil {
		return nil, err
	}
	// Sockets: a member of a deployment has one.
	server, err := embedded.Start(embedded.Config{StoreDir: dir, Listen: "127.0.0.1:0", TokenFile: n.token})
	if err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	n.server = server
	if cfg.Link == (Link{}) {
		return n, nil
	}
	for range s.Plan.Members {
		r, err := startRelay(cfg.Link, server.ClientURL())
		if err != nil {
			n.shutdown()
			return nil, err
		}
		n.relays = append(n.relays, r)
	}
	return n, nil
}

// connect connects a member; the first one creates the stream for all.
func (n *network) connect(ctx context.Context, i uint32) (transport.Bus, error) {
	if n.hub != nil {
		return n.hub.Connect(n.session.Name(i)), nil
	}
	url := n.server.ClientURL()
	if n.relays != nil {
		url = n.relays[i].url()
	}
	bus, err := natsbus.Open(ctx, natsbus.Config{URL: url, TokenFile: n.token, Plan: n.session.ID.Short(),
		Name: n.session.Name(i)})
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

// wire is what has passed each member's link, nil without links.
func (n *network) wire() (all []Wire) {
	for _, r := range n.relays {
		all = append(all, Wire{r.sent.Load(), r.received.Load()})
	}
	return all
}

func (n *network) shutdown() {
	for _, r := range n.relays {
		r.close()
	}
	if n.server != nil {
		n.server.Shutdown()
	}
}
