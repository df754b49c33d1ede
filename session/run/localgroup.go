package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"

	"choir/compute"
	"choir/crypto/channel"
	"choir/host"
	"choir/protocol"
)

// nodeWithWorkers runs a compute node and its workers. The first that fails ends
// all of them.
func (r *localRun) nodeWithWorkers(ctx context.Context, i uint32, node *Role) error {
	var raw [channel.SecretSize]byte
	if _, err := io.ReadFull(rand.Reader, raw[:]); err != nil {
		return fmt.Errorf("worker key: %w", err)
	}
	secret, err := channel.NewSecret(raw[:])
	if err != nil {
		return fmt.Errorf("worker key: %w", err)
	}
	node.Group = compute.Group{Workers: r.Workers, Secret: secret}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for k := range r.Workers {
		workers.Go(func() {
			if err := r.worker(ctx, i, k, node.Group.Worker(k)); err != nil {
				cancel(fmt.Errorf("worker %d: %w", k, err))
			}
		})
	}
	err = node.Run(ctx)
	if err != nil {
		cancel(err)
	}
	workers.Wait() // they end with the node's last message
	return err
}

func (r *localRun) worker(ctx context.Context, node uint32, k int, g compute.Group) (err error) {
	bus, err := r.Connect(node)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	w := &Worker{Session: r.Session, Node: node, Worker: k, Group: g, Store: host.NewRam(), Bus: bus,
		Rand: rand.Reader, Resend: r.Resend, Notify: func(n protocol.Notice) { r.Notify(node, n) }}
	return w.Run(ctx)
}
