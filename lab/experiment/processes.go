package experiment

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/pelletier/go-toml/v2"

	"choir/crypto/identity"
	"choir/internal/atomicfile"
	"choir/internal/config"
	"choir/protocol"
	"choir/session/member"
	"choir/transport/natsbus"
)

// RunProcesses is Run with the broker and every member in an operating-system
// separate process: executable, called with the roles' verbs. This process
// only supervises; it starts again what is killed. The folder Out can be given
// to Resume when this process itself is killed.
func (d *Demo) RunProcesses(ctx context.Context, executable string) (*Result, error) {
	r := &demoRun{Demo: d, began: time.Now()}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	out, err := filepath.Abs(r.Out)
	if err != nil {
		return nil, err
	}
	r.Out = out
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	if err := r.lay(address); err != nil {
		return nil, err
	}
	if err := r.save(address); err != nil {
		return nil, err
	}
	return r.supervised(ctx, executable, address)
}

// Resume carries on with a session that RunProcesses began, or computes
// its results when it is over.
func (d *Demo) Resume(ctx context.Context, executable string) (*Result, error) {
	out, err := filepath.Abs(d.Out)
	if err != nil {
		return nil, err
	}
	d.Out = out
	r := &demoRun{Demo: d}
	address, err := r.load()
	if err != nil {
		return nil, err
	}
	if address, err = r.sameAddress(address); err != nil {
		return nil, err
	}
	return r.supervised(ctx, executable, address)
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("no free port: %w", err)
	}
	address := l.Addr().String()
	return address, l.Close()
}

// sameAddress is the broker's old address, or a new one, told to every member,
// when another process has taken that by now. An old broker gets time to stop.
func (r *demoRun) sameAddress(address string) (string, error) {
	for range 50 {
		if l, err := net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	address, err := freeAddress()
	if err != nil {
		return "", err
	}
	for i := range r.plan.Members {
		if err := r.configure(uint32(i), address); err != nil {
			return "", err
		}
	}
	return address, r.save(address)
}

// member is a path in a member's own folder.
func (r *demoRun) member(i uint32, name string) string {
	return filepath.Join(r.Out, "members", r.s.Name(i), name)
}

func (r *demoRun) broker(name string) string { return filepath.Join(r.Out, "broker", name) }

// lay writes what each process needs into its own folder: a key that only
// its own passphrase opens, its configuration, a party's data.
func (r *demoRun) lay(address string) error {
	text, err := r.signed.MarshalText()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(r.Out, planFile), text); err != nil {
		return err
	}
	if err := os.MkdirAll(r.broker(""), 0o700); err != nil {
		return err
	}
	if err := natsbus.NewTokenFile(r.broker("token"), rand.Reader); err != nil {
		return err
	}
	for i := range uint32(len(r.plan.Members)) {
		if err := os.MkdirAll(r.member(i, ""), 0o700); err != nil {
			return err
		}
		configure := func(i uint32) error { return r.configure(i, address) }
		for _, write := range []func(uint32) error{r.writeKey, r.writeData, configure} {
			if err := write(i); err != nil {
				return fmt.Errorf("%s: %w", r.s.Name(i), err)
			}
		}
	}
	return nil
}

// cheap are the costs of a key file whose passphrase is 256 random bits: a
// search is hopeless without slowing it down, and restarts stay fast.
var cheap = identity.Params{Time: 1, MemoryKiB: 64, Lanes: 1}

func (r *demoRun) writeKey(i uint32) error {
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return err
	}
	passphrase := hex.EncodeToString(secret[:])
	if err := os.WriteFile(r.member(i, "passphrase"), []byte(passphrase+"\n"), 0o600); err != nil {
		return err
	}
	return identity.WriteKeyFile(r.member(i, "key"), r.keys[i], r.s.Name(i), []byte(passphrase),
		identity.KeyFileConfig{Params: cheap, Rand: rand.Reader})
}

func (r *demoRun) writeData(i uint32) error {
	name, rows := "data.csv", r.data.tests
	switch r.plan.Members[i].Role {
	case protocol.RoleParty:
		rows = r.data.rows[i]
	case protocol.RoleAggregator:
		name = "test.csv"
	default:
		return nil
	}
	f, err := os.OpenFile(r.member(i, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := r.data.records.WriteCSV(f, rows); err != nil { // read by the same schema, the same rows again
		f.Close()
		return err
	}
	return f.Close()
}

// configure writes a member's configuration file.
func (r *demoRun) configure(i uint32, address string) error {
	c := member.Config{
		PlanFile:       filepath.Join(r.Out, planFile),
		KeyFile:        "key",
		PassphraseFile: "passphrase",
		StoreFile:      "store.db",
		Bus:            member.BusConfig{URL: "nats://" + address, TokenFile: r.broker("token")},
		Timing: member.TimingConfig{
			Connect: config.Duration{Duration: time.Minute},
			Resend:  config.Duration{Duration: 2 * time.Second},
		},
		Log: member.LogConfig{Level: "info"},
	}
	switch r.plan.Members[i].Role {
	case protocol.RoleParty:
		c.DataFile = "data.csv"
	case protocol.RoleAggregator:
		c.TestFile = "test.csv"
		c.OutDir, c.Timing.GiveUp = r.Out, config.Duration{Duration: 5 * time.Minute}
	}
	b, err := toml.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(r.member(i, "role.toml"), b, 0o600)
}
