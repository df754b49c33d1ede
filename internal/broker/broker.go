package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"

	"choir/internal/config"
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
}

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
		if need.v == "" {
			return nil, protocol.Fail(protocol.ClassInput, "%s: is needed", need.field)
		}
	}
	return c, nil
}

// Run serves until ctx ends, which is not an error. ready receives the URL for
// clients.
func Run(ctx context.Context, c *Config, log *slog.Logger, ready func(url string)) error {
	if err := natsbus.NewTokenFile(c.TokenFile, rand.Reader); err != nil && !errors.Is(err, fs.ErrExist) {
		return protocol.Fail(protocol.ClassInput, "token_file: %w", err)
	}
	cfg := embedded.Config{StoreDir: c.StoreDir, Listen: c.Listen, TokenFile: c.TokenFile,
		TLSCert: c.TLSCert, TLSKey: c.TLSKey, TLSClientCA: c.TLSClientCA, SyncAlways: c.SyncAlways, Log: log}
	if err := cfg.Validate(); err != nil {
		return protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	server, err := embedded.Start(cfg)
	if err != nil { // its address, folder or files are unusable
		return protocol.Fail(protocol.ClassInput, "broker: %w", err)
	}
	defer server.Shutdown()
	log.Info("serving", "event", "serving", "url", server.ClientURL())
	ready(server.ClientURL())
	<-ctx.Done()
	return nil
}
