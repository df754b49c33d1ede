package member

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"choir/compute"
	"choir/crypto/channel"
	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport/natsbus"
)

// Worker is one worker of a compute node of a deployment, checked and ready to run.
// It has no identity, only the key that it shares with its node.
type Worker struct {
	member *Member // without a key
	worker int
	group  compute.Group
}

// workerKeyPath is the file of the secret of a compute node from which its workers' keys follow.
func (c *Config) workerKeyPath() string {
	if c.WorkerKeyFile != "" {
		return c.WorkerKeyFile
	}
	return c.StoreFile + ".worker-key"
}

// oneWorkerKeyPath is the file of a worker's key.
func (c *Config) oneWorkerKeyPath(worker int) string {
	return fmt.Sprintf("%s-%d", c.workerKeyPath(), worker)
}

// EnsureWorkerKeys writes a new secret to the file unless it exists, and the workers' keys next to it.
func (c *Config) EnsureWorkerKeys(workers int) error {
	path := c.workerKeyPath()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = natsbus.NewTokenFile(path, rand.Reader)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return protocol.Fail(protocol.ClassInput, "worker key: %w", err)
	}
	group, err := c.workerGroup(workers)
	if err != nil {
		return err
	}
	for k := range workers {
		if err := writeWorkerKey(c.oneWorkerKeyPath(k), group.Worker(k).Secret); err != nil {
			return err
		}
	}
	return nil
}

// writeWorkerKey writes a worker's key, or checks that the file has it.
func writeWorkerKey(path string, key *channel.Secret) error {
	err := natsbus.NewTokenFile(path, bytes.NewReader(key.Bytes()))
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	have, err := readWorkerKey(path)
	if err == nil && !bytes.Equal(have.Bytes(), key.Bytes()) {
		err = protocol.Fail(protocol.ClassInput,
			"worker key %s: it does not belong to the node's; remove it, and it is written again", path)
	}
	return err
}

// readWorkerKey reads a secret: 64 hexadecimal digits in a file that only its owner may read.
func readWorkerKey(path string) (*channel.Secret, error) {
	line, err := identity.ReadPassphraseFile(path)
	if err != nil {
		return nil, terms.FileError("worker key", path, err)
	}
	raw, err := hex.DecodeString(string(line))
	if err != nil || len(raw) != channel.SecretSize {
		return nil, protocol.Fail(protocol.ClassInput, "worker key %s: want %d hexadecimal digits", path,
			2*channel.SecretSize)
	}
	return channel.NewSecret(raw)
}

// workerGroup reads the node's secret.
func (c *Config) workerGroup(workers int) (compute.Group, error) {
	return groupOf(c.workerKeyPath(), workers)
}

func groupOf(path string, workers int) (compute.Group, error) {
	secret, err := readWorkerKey(path)
	if err != nil {
		return compute.Group{}, err
	}
	g := compute.Group{Workers: workers, Secret: secret}
	if err := g.Validate(); err != nil {
		return compute.Group{}, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	return g, nil
}

// OpenWorker checks all that can be checked before a connection is made, as Open
// does for the node. node is the name of the compute node in the plan.
func OpenWorker(c *Config, node string, worker, of int, log *slog.Logger, now time.Time) (*Worker, error) {
	if err := c.validateWorker(); err != nil {
		return nil, err
	}
	m, err := openPlan(c, now)
	if err != nil {
		return nil, err
	}
	if of < 1 || worker < 0 || worker >= of {
		return nil, protocol.Fail(protocol.ClassInput, "worker: %d isn't in 0..%d", worker, of-1)
	}
	group, err := groupOf(c.oneWorkerKeyPath(worker), of)
	if err != nil {
		return nil, err
	}
	if m.Index, err = computeNamed(m.Signed.Plan, node); err != nil {
		return nil, err
	}
	m.suffix = fmt.Sprintf("-worker-%d", worker)
	m.Log = log.With("role", "compute-worker", "member", node, "worker", worker, "plan", m.Session.ID.Short())
	if err := m.bus().Validate(); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	return &Worker{m, worker, group}, nil
}

func computeNamed(p *protocol.Plan, name string) (uint32, error) {
	for k := range p.Computes() {
		if i := p.Compute(k); p.Members[i].Name == name {
			return i, nil
		}
	}
	return 0, protocol.Fail(protocol.ClassInput, "node: the plan has no compute node %q", name)
}

// Run connects and runs the worker to the end of the session. Its store is named
// after the configured one.
func (w *Worker) Run(ctx context.Context) error {
	m := w.member
	store, err := openStoreAt(fmt.Sprintf("%s.worker-%d", m.Config.StoreFile, w.worker), m.Session)
	if err != nil {
		return err
	}
	defer store.Close()
	last, err := m.connected(ctx, func(bus *run.CountingBus) error {
		if err := m.sameStream(store); err != nil {
			return err
		}
		t := m.Config.Timing
		r := &run.Worker{Session: m.Session, Node: m.Index, Worker: w.worker, Group: w.group, Store: store,
			Bus: bus, Rand: rand.Reader, Resend: t.Resend.Duration, IdleTimeout: t.Idle.Duration,
			Notify: func(n protocol.Notice) { logNotice(m.Log, n, bus) }}
		return r.Run(ctx)
	})
	last()
	return err
}
