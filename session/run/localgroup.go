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

// runGroup drives a compute node and its workers. The first that fails ends all.
func (l *Local) runGroup(ctx context.Context, i uint32, r *Role) error {
	var raw [channel.SecretSize]byte
	if _, err := io.ReadFull(rand.Reader, raw[:]); err != nil {
		return fmt.Errorf("worker key: %w", err)
	}
	secret, err := channel.NewSecret(raw[:])
	if err != nil {
		return fmt.Errorf("worker key: %w", err)
	}
	r.Group = compute.Group{Workers: l.Workers, Secret: secret}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for k := range l.Workers {
		workers.Go(func() {
			if err := l.runWorker(ctx, i, k, r.Group); err != nil {
				cancel(fmt.Errorf("worker %d: %w", k, err))
			}
		})
	}
	err = r.Run(ctx)
	if err != nil {
		cancel(err)
	}
	workers.Wait() // the node's last word is theirs to end
	return err
}

func (l *Local) runWorker(ctx context.Context, node uint32, k int, g compute.Group) (err error) {
	bus, err := l.Connect(node)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	w := &Worker{Session: l.Session, Node: node, Worker: k, Group: g, Store: host.NewRam(), Bus: bus, Rand: rand.Reader, Resend: l.Resend}
	if l.Notify != nil {
		w.Notify = func(n protocol.Notice) { l.Notify(node, n) }
	}
	return w.Run(ctx)
}
