package session

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"choir/protocol"
	"choir/transport/natsbus"
)

// RoleConfig is the configuration file of one role in a deployment. Paths are
// relative to the file's folder. Secrets are given by file path only.
type RoleConfig struct {
	PlanFile       string `toml:"plan_file"`       // signed by every member
	KeyFile        string `toml:"key_file"`        // this member's identity, encrypted
	PassphraseFile string `toml:"passphrase_file"` // opens the key file; mode 0600
	CardFile       string `toml:"card_file"`       // this member's card, to notice that it expired; optional
	StoreFile      string `toml:"store_file"`      // durable state of this member under this plan
	DataFile       string `toml:"data_file"`       // party: CSV (.npy or CSV matrix of one row under a plan of sums)
	OutDir         string `toml:"out_dir"`         // aggregator: transcript and model
	Exec           string `toml:"exec"`            // party: program that computes its updates, as external.Split splits it; optional
	WorkerKeyFile  string `toml:"worker_key_file"` // compute: secret that it shares with its workers; default: beside the store

	Bus    BusConfig    `toml:"bus"`
	Timing TimingConfig `toml:"timing"`
	Log    LogConfig    `toml:"log"`
	Budget BudgetConfig `toml:"budget"` // party: its own limit over all plans on its data

	Station StationConfig `toml:"station"`
}

// BusConfig says how to reach the broker; see natsbus.Config.
type BusConfig struct {
	URL             string `toml:"url"`
	CredentialsFile string `toml:"credentials_file"`
	TokenFile       string `toml:"token_file"`
	User            string `toml:"user"`
	PasswordFile    string `toml:"password_file"`
	TLSCA           string `toml:"tls_ca"`
	TLSCert         string `toml:"tls_cert"`
	TLSKey          string `toml:"tls_key"`
	InboxPrefix     string `toml:"inbox_prefix"`
	APIPrefix       string `toml:"api_prefix"`
}

// TimingConfig bounds waits. Zero values stand for the defaults in brackets.
type TimingConfig struct {
	Connect Duration `toml:"connect"` // to reach the broker (1m)
	Resend  Duration `toml:"resend"`  // without progress before the last thing is said again (15s)
	Idle    Duration `toml:"idle"`    // without any message before the role ends with a timeout (never)
	GiveUp  Duration `toml:"give_up"` // aggregator: without progress before the session ends for all (never)
	Exec    Duration `toml:"exec"`    // party: that exec may take over one round (10m)
}

// LogConfig says what is logged.
type LogConfig struct {
	Level string `toml:"level"` // debug, info, warn or error; default info
}

// StationConfig says where an operator can watch the member; see package station.
type StationConfig struct {
	Listen string `toml:"listen"` // host:port of the page and of Prometheus' figures; default: none
}

func (c StationConfig) validate() error {
	if c.Listen == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(c.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err
}

// Duration is a time.Duration in Go's notation, such as "15s". It is no integer
// itself: TOML's 15 would otherwise be read as 15 nanoseconds.
type Duration struct{ time.Duration }

// UnmarshalText reads what time.ParseDuration reads, nothing negative.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v < 0 {
		return fmt.Errorf("%q isn't a duration such as \"15s\"", text)
	}
	d.Duration = v
	return nil
}

// MarshalText is its inverse.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// LoadRoleConfig reads a configuration file strictly and lays over it what the
// environment (CHOIR_PLAN_FILE, CHOIR_BUS_URL, ...) and then the flags say;
// both are keyed as Settings lists them. An empty path is an empty file in the
// working folder.
func LoadRoleConfig(path string, env func(string) (string, bool), flags map[string]string) (*RoleConfig, error) {
	c, dir := new(RoleConfig), "."
	if path != "" {
		if err := ReadTOML(path, c); err != nil {
			return nil, err
		}
		dir = filepath.Dir(path)
	}
	for _, s := range c.settings() {
		s.rebase(dir)
	}
	for _, s := range c.settings() {
		if v, ok := env(s.env()); ok {
			if err := s.set(v); err != nil {
				return nil, protocol.Fail(protocol.ClassInput, "%s: %w", s.env(), err)
			}
		}
		if v, ok := flags[s.key]; ok {
			if err := s.set(v); err != nil {
				return nil, protocol.Fail(protocol.ClassInput, "--%s: %w", s.Flag(), err)
			}
		}
	}
	return c, nil
}

// ReadTOML decodes a file strictly: an unknown key is an error that names it.
func ReadTOML(path string, into any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "config: %w", err)
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // editors on Windows put it there
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(into)
	var strict *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		line, _ := strict.Errors[0].Position()
		return protocol.Fail(protocol.ClassInput, "config: %s:%d: unknown key %q", path, line, strings.Join(strict.Errors[0].Key(), "."))
	case errors.As(err, &bad):
		line, _ := bad.Position()
		return protocol.Fail(protocol.ClassInput, "config: %s:%d: %w", path, line, err)
	case err != nil:
		return protocol.Fail(protocol.ClassInput, "config: %s: %w", path, err)
	}
	return nil
}

// ValidateWorker names the setting that a compute node's worker misses. What only
// the node itself needs may stand in the file.
func (c *RoleConfig) ValidateWorker() error {
	for _, need := range []struct{ key, value string }{{"plan_file", c.PlanFile}, {"store_file", c.StoreFile}, {"bus.url", c.Bus.URL}} {
		if need.value == "" {
			return protocol.Fail(protocol.ClassInput, "config: %s is missing", need.key)
		}
	}
	if _, err := c.Log.Threshold(); err != nil {
		return protocol.Fail(protocol.ClassInput, "config: log.level: %w", err)
	}
	return nil
}

// Validate names the setting that is missing or makes no sense for the role.
func (c *RoleConfig) Validate(role protocol.Role) error {
	for _, need := range []struct {
		key, value string
		applies    bool
	}{
		{"plan_file", c.PlanFile, true}, {"key_file", c.KeyFile, true}, {"passphrase_file", c.PassphraseFile, true},
		{"store_file", c.StoreFile, true}, {"bus.url", c.Bus.URL, true},
		{"data_file", c.DataFile, role == protocol.RoleParty}, {"out_dir", c.OutDir, role == protocol.RoleAggregator},
	} {
		switch {
		case need.applies && need.value == "":
			return protocol.Fail(protocol.ClassInput, "config: %s is missing", need.key)
		case !need.applies && need.value != "":
			return protocol.Fail(protocol.ClassInput, "config: %s means nothing to a role of %s", need.key, role)
		}
	}
	if c.WorkerKeyFile != "" && role != protocol.RoleCompute {
		return protocol.Fail(protocol.ClassInput, "config: worker_key_file means nothing to a role of %s", role)
	}
	if (c.Exec != "" || c.Timing.Exec.Duration != 0) && role != protocol.RoleParty {
		return protocol.Fail(protocol.ClassInput, "config: exec means nothing to a role of %s", role)
	}
	if c.Timing.GiveUp.Duration != 0 && role != protocol.RoleAggregator {
		return protocol.Fail(protocol.ClassInput, "config: timing.give_up means nothing to a role of %s", role)
	}
	if _, err := c.Log.Threshold(); err != nil {
		return protocol.Fail(protocol.ClassInput, "config: log.level: %w", err)
	}
	if err := c.Station.validate(); err != nil {
		return protocol.Fail(protocol.ClassInput, "config: station.listen: %q is not host:port: %w", c.Station.Listen, err)
	}
	return nil
}

// bus is the connection of a member under a plan.
func (c *RoleConfig) bus(s protocol.BoundPlan, member uint32) natsbus.Config {
	b := c.Bus
	return natsbus.Config{URL: b.URL, Plan: s.ID.Short(), Name: s.Name(member), CredentialsFile: b.CredentialsFile, TokenFile: b.TokenFile,
		User: b.User, PasswordFile: b.PasswordFile, TLSCA: b.TLSCA, TLSCert: b.TLSCert, TLSKey: b.TLSKey, InboxPrefix: b.InboxPrefix, APIPrefix: b.APIPrefix}
}
