package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"choir/internal/config"
	"choir/internal/disk"
	"choir/protocol"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// Config is the configuration of a broker; see embedded.Config.
type Config struct {
	Listen      string `toml:"listen"`
	StoreDir    string `toml:"store_dir"`
	TokenFile   string `toml:"token_file"` // created with a new token if it does not exist
	TLSCert     string `toml:"tls_cert"`
	TLSKey      string `toml:"tls_key"`
	TLSClientCA string `toml:"tls_client_ca"`
	SyncAlways  bool   `toml:"sync_always"`
	// Users, in the place of TokenFile, gives every member its own password, by name; a file is
	// created with a new password if it does not exist. They cannot delete or change streams.
	Users map[string]string `toml:"users"`
}

// mayPublish is what members publish: the plans' subjects, announcements, and the requests that they
// make of JetStream.
var mayPublish = []string{"choir.>", "choir-here.>", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.CREATE.*",
	"$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.MSG.NEXT.>"}

// Load reads a configuration file, if one is named; the given settings override it.
func Load(path string, over Config) (*Config, error) {
	c := new(Config)
	if path != "" {
		if err := config.ReadTOML(path, c); err != nil {
			return nil, err
		}
		for _, p := range []*string{&c.StoreDir, &c.TokenFile, &c.TLSCert, &c.TLSKey, &c.TLSClientCA} {
			*p = config.InDir(filepath.Dir(path), *p)
		}
		for name := range c.Users {
			c.Users[name] = config.InDir(filepath.Dir(path), c.Users[name])
		}
	}
	for _, s := range []struct {
		to   *string
		from string
	}{{&c.Listen, over.Listen}, {&c.StoreDir, over.StoreDir}, {&c.TokenFile, over.TokenFile},
		{&c.TLSCert, over.TLSCert}, {&c.TLSKey, over.TLSKey}, {&c.TLSClientCA, over.TLSClientCA}} {
		if s.from != "" {
			*s.to = s.from
		}
	}
	for _, need := range []struct{ field, v string }{{"listen", c.Listen}, {"store", c.StoreDir},
		{"token_file", c.TokenFile}} {
		if need.v == "" && (need.field != "token_file" || len(c.Users) == 0) {
			return nil, protocol.Fail(protocol.ClassInput, "%s: is needed", need.field)
		}
	}
	return c, nil
}

// secrets creates the files of secrets that do not exist, with their folders, and returns the users.
func (c *Config) secrets() (users []embedded.User, err error) {
	create := func(what, path string) error {
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = natsbus.NewTokenFile(path, rand.Reader)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return protocol.Fail(protocol.ClassInput, "%s: %w", what, err)
		}
		return nil
	}
	if c.TokenFile != "" {
		err = create("token_file", c.TokenFile)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Users)) {
		err = errors.Join(err, create("users."+name, c.Users[name]))
		users = append(users, embedded.User{Name: name, PasswordFile: c.Users[name], Publish: mayPublish})
	}
	return users, err
}

// Run serves until ctx ends, which is not an error. ready receives the URL for
// clients.
func Run(ctx context.Context, c *Config, log *slog.Logger, ready func(url string)) error {
	users, err := c.secrets()
	if err != nil {
		return err
	}
	cfg := embedded.Config{StoreDir: c.StoreDir, Listen: c.Listen, TokenFile: c.TokenFile,
		TLSCert: c.TLSCert, TLSKey: c.TLSKey, TLSClientCA: c.TLSClientCA, SyncAlways: c.SyncAlways, Users: users,
		Log: log}
	if err := cfg.Validate(); err != nil {
		return protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	server, err := embedded.Start(cfg)
	if err != nil { // its address, folder or files are unusable
		return protocol.Fail(protocol.ClassInput, "broker: %w", err)
	}
	defer server.Shutdown()
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && c.TLSCert == "" && !loopback(host) {
		log.Warn("the broker listens without TLS on an address that others reach, and members refuse to send it a "+
			"token or password: set tls_cert and tls_key", "event", "serving", "listen", c.Listen)
	}
	log.Info("serving", "event", "serving", "url", server.ClientURL())
	ready(server.ClientURL())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-server.Full():
		}
		if !awaitRoom(ctx, c.StoreDir, log) {
			return nil
		}
		if err := server.Restart(); err != nil {
			return fmt.Errorf("broker: %w", err)
		}
		log.Info("there is room again, and the broker stores", "event", "room", "url", server.ClientURL())
	}
}

// Times of a broker whose disk is full.
const (
	roomPoll   = 2 * time.Second
	roomReport = time.Minute
)

// more is by how much the free space on a disk must grow before the broker tries again, in bytes. It
// uses three quarters of what is free.
const more = 1 << 20

// awaitRoom waits until there is more room on the disk than now. It returns false if the context ends
// first.
func awaitRoom(ctx context.Context, dir string, log *slog.Logger) bool {
	before, err := disk.Free(dir)
	var reported time.Time
	for {
		if time.Since(reported) >= roomReport {
			reported = time.Now()
			log.Error("no room for the streams: members wait, and nothing is lost; free or add space on the disk "+
				"of the store, and the broker goes on by itself", "event", "full", "store", dir, "free_bytes", before)
		}
		if !sleep(ctx, roomPoll) {
			return false
		}
		now, again := disk.Free(dir)
		if err != nil || again != nil { // it can't be told: try now and then
			return sleep(ctx, roomReport)
		}
		if now >= before+more {
			return true
		}
		before = min(before, now)
	}
}

// sleep returns false if the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// loopback reports whether only this machine reaches a host.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
