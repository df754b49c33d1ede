package member

import (
	"net"
	"path/filepath"
	"strconv"

	"choir/internal/config"
	"choir/protocol"
	"choir/transport/natsbus"
)

// Config is the configuration file of one role in a deployment. Paths are
// relative to the file's folder. Secrets are given by file path only.
type Config struct {
	PlanFile       string `toml:"plan_file"`       // signed by every member
	KeyFile        string `toml:"key_file"`        // this member's identity, encrypted
	PassphraseFile string `toml:"passphrase_file"` // opens the key file; mode 0600
	CardFile       string `toml:"card_file"`       // this member's card, to notice that it expired; optional
	StoreFile      string `toml:"store_file"`      // durable state of this member under this plan
	DataFile       string `toml:"data_file"`       // party: CSV; under a plan of sums one row, CSV or .npy
	// Party: the largest share of a column's values, or of the rows, that the encoding may change or
	// leave out; 0: any.
	MaxAltered    config.Share `toml:"max_altered"`
	Origin        string       `toml:"origin"`          // successor plan: what it begins with; optional
	TestFile      string       `toml:"test_file"`       // aggregator: rows to score every model on
	OutDir        string       `toml:"out_dir"`         // model; aggregator: transcript; party: ledger
	Exec          string       `toml:"exec"`            // party: program for its updates; optional
	WorkerKeyFile string       `toml:"worker_key_file"` // compute: default StoreFile.worker-key

	Bus    BusConfig    `toml:"bus"`
	Timing TimingConfig `toml:"timing"`
	Log    LogConfig    `toml:"log"`
	Budget BudgetConfig `toml:"budget"` // party: its own limit over all plans on its data

	Station StationConfig `toml:"station"`
}

// BusConfig describes the connection to the broker; see natsbus.Config.
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

	IgnoreAnnounced config.Switch `toml:"ignore_announced"` // never use servers that the broker announces

	Replicas config.Count `toml:"replicas"` // of the plan's stream, if this member makes it
}

// TimingConfig bounds waits. The default of each is in brackets.
type TimingConfig struct {
	Connect config.Duration `toml:"connect"` // for connecting to the broker (1m)
	Resend  config.Duration `toml:"resend"`  // retransmit interval without progress (15s)
	Idle    config.Duration `toml:"idle"`    // without messages until the role ends with a timeout (never)
	GiveUp  config.Duration `toml:"give_up"` // aggregator: without progress until it ends the session (never)
	Exec    config.Duration `toml:"exec"`    // party: for a run of exec (10m)
}

// LogConfig selects what is logged.
type LogConfig struct {
	Level string `toml:"level"` // debug, info, warn or error; default info
}

// StationConfig has the address of the member's status page; see package status.
type StationConfig struct {
	Listen string `toml:"listen"` // host:port of the page and of the metrics for Prometheus; default: none
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

// LoadConfig reads a configuration file strictly. Environment variables
// (CHOIR_PLAN_FILE, CHOIR_BUS_URL, ...) override it, and flags override both; flags
// are keyed by Setting.Key. An empty path is an empty file in the working folder.
func LoadConfig(path string, env func(string) (string, bool), flags map[string]string) (*Config, error) {
	c, dir := new(Config), "."
	if path != "" {
		if err := config.ReadTOML(path, c); err != nil {
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

// validateWorker checks the settings that a compute node's worker needs. The file may
// also have settings of the node.
func (c *Config) validateWorker() error {
	for _, need := range []struct{ key, value string }{
		{"plan_file", c.PlanFile}, {"store_file", c.StoreFile}, {"bus.url", c.Bus.URL},
	} {
		if need.value == "" {
			return protocol.Fail(protocol.ClassInput, "config: %s is missing", need.key)
		}
	}
	if _, err := c.Log.Threshold(); err != nil {
		return protocol.Fail(protocol.ClassInput, "config: log.level: %w", err)
	}
	return nil
}

// Validate checks that the settings of the role are set, and no others.
func (c *Config) Validate(role protocol.Role) error {
	for _, need := range []struct {
		key, value string
		applies    bool
	}{
		{"plan_file", c.PlanFile, true}, {"key_file", c.KeyFile, true}, {"passphrase_file", c.PassphraseFile, true},
		{"store_file", c.StoreFile, true}, {"bus.url", c.Bus.URL, true},
		{"data_file", c.DataFile, role == protocol.RoleParty},
		{"out_dir", c.OutDir, role == protocol.RoleAggregator},
	} {
		switch {
		case need.key == "out_dir" && role == protocol.RoleParty: // may have one
		case need.applies && need.value == "":
			return protocol.Fail(protocol.ClassInput, "config: %s is missing", need.key)
		case !need.applies && need.value != "":
			return protocol.Fail(protocol.ClassInput, "config: %s means nothing to a role of %s", need.key, role)
		}
	}
	if c.MaxAltered != 0 && role != protocol.RoleParty {
		return protocol.Fail(protocol.ClassInput, "config: max_altered means nothing to a role of %s", role)
	}
	if c.TestFile != "" && role != protocol.RoleAggregator {
		return protocol.Fail(protocol.ClassInput, "config: test_file means nothing to a role of %s", role)
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
		return protocol.Fail(protocol.ClassInput, "config: station.listen: %q is not host:port: %w",
			c.Station.Listen, err)
	}
	return nil
}

// bus describes the connection of a member under a plan.
func (c *Config) bus(s protocol.BoundPlan, member uint32) natsbus.Config {
	return c.busOf(s.ID.Short(), s.Name(member))
}

// busOf describes a connection to the stream with an identifier.
func (c *Config) busOf(id, name string) natsbus.Config {
	b := c.Bus
	return natsbus.Config{URL: b.URL, Plan: id, Name: name,
		CredentialsFile: b.CredentialsFile, TokenFile: b.TokenFile, User: b.User, PasswordFile: b.PasswordFile,
		TLSCA: b.TLSCA, TLSCert: b.TLSCert, TLSKey: b.TLSKey, InboxPrefix: b.InboxPrefix, APIPrefix: b.APIPrefix,
		IgnoreAnnounced: bool(b.IgnoreAnnounced), Replicas: int(b.Replicas)}
}
