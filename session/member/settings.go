package member

import (
	"encoding"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
)

// Setting is a key of a Config, with its flag and environment variable.
type Setting struct {
	key  string // as in the file, with its table: "bus.url"
	Help string
	path bool
	text *string
	any  encoding.TextUnmarshaler // instead of text
}

// Settings lists the keys of a Config.
func Settings() []Setting { return new(Config).settings() }

// Key returns the setting's name in the file.
func (s Setting) Key() string { return s.key }

// Flag returns the setting's flag without the dashes.
func (s Setting) Flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(s.key) }

// env returns the setting's environment variable.
func (s Setting) env() string {
	return "CHOIR_" + strings.ToUpper(strings.NewReplacer(".", "_").Replace(s.key))
}

func (s Setting) set(v string) error {
	if s.any != nil {
		return s.any.UnmarshalText([]byte(v))
	}
	if v == "" {
		return fmt.Errorf("is empty")
	}
	*s.text = v
	return nil
}

// rebase makes a path in the file relative to the file's folder.
func (s Setting) rebase(dir string) {
	if s.path && *s.text != "" && !filepath.IsAbs(*s.text) {
		*s.text = filepath.Join(dir, *s.text)
	}
}

func (c *Config) settings() []Setting {
	file := func(key string, v *string, help string) Setting {
		return Setting{key: key, Help: help, path: true, text: v}
	}
	text := func(key string, v *string, help string) Setting { return Setting{key: key, Help: help, text: v} }
	parsed := func(key string, v encoding.TextUnmarshaler, help string) Setting {
		return Setting{key: key, Help: help, any: v}
	}
	return []Setting{
		file("plan_file", &c.PlanFile, "plan, signed by every member"),
		file("key_file", &c.KeyFile, "this member's identity key, encrypted"),
		file("passphrase_file", &c.PassphraseFile, "file with the passphrase of the key"),
		file("card_file", &c.CardFile, "this member's card, whose expiry is checked"),
		file("store_file", &c.StoreFile, "durable state of this member under this plan"),
		file("data_file", &c.DataFile, "party: the data"),
		parsed("max_altered", &c.MaxAltered, "party: largest share of a column's values that the encoding may "+
			"change, such as 0.05 (default any)"),
		file("test_file", &c.TestFile, "aggregator: rows on which the model of every round is scored, in the log"),
		file("origin", &c.Origin, "party, aggregator: what a successor plan begins with, if the store "+
			"lacks it: the file of \"plan new --after\", or the folder of the predecessor's results"),
		file("out_dir", &c.OutDir, "party, aggregator: folder for the model and the record of the session"),
		text("exec", &c.Exec, "party: program that computes its updates (docs/own-model.md)"),
		file("worker_key_file", &c.WorkerKeyFile, "compute: file with the secret shared with its workers"),
		text("bus.url", &c.Bus.URL, "broker, such as tls://host:port; several with commas"),
		file("bus.credentials_file", &c.Bus.CredentialsFile, "NATS user's .creds, or its nkey's seed"),
		file("bus.token_file", &c.Bus.TokenFile, "file with the broker's token"),
		text("bus.user", &c.Bus.User, "user name at the broker"),
		file("bus.password_file", &c.Bus.PasswordFile, "file with the user's password"),
		file("bus.tls_ca", &c.Bus.TLSCA, "PEM file with the roots of the broker's certificate"),
		file("bus.tls_cert", &c.Bus.TLSCert, "PEM file with this client's certificate"),
		file("bus.tls_key", &c.Bus.TLSKey, "PEM file with the certificate's key"),
		text("bus.inbox_prefix", &c.Bus.InboxPrefix, "prefix of the subjects of the broker's replies"),
		text("bus.api_prefix", &c.Bus.APIPrefix, "prefix of JetStream's API in another account (default $JS.API)"),
		parsed("bus.ignore_announced", &c.Bus.IgnoreAnnounced,
			"true: never use servers that the broker announces, only those of bus.url (default false)"),
		parsed("bus.replicas", &c.Bus.Replicas,
			"copies of the plan's stream in a cluster, if this member makes it (default 1)"),
		parsed("timing.connect", &c.Timing.Connect, "limit on reaching the broker (default 1m)"),
		parsed("timing.resend", &c.Timing.Resend,
			"retransmit interval: after this time without progress the last message is sent again (default 15s)"),
		parsed("timing.idle", &c.Timing.Idle,
			"idle limit: after this time without a message the member ends with a timeout (default none)"),
		parsed("timing.give_up", &c.Timing.GiveUp,
			"aggregator: limit without progress, after which it ends the session (default none)"),
		parsed("timing.exec", &c.Timing.Exec, "party: limit on exec in one round (default 10m)"),
		text("log.level", &c.Log.Level, "debug, info, warn or error"),
		text("station.listen", &c.Station.Listen,
			"host:port of a status page and of Prometheus figures (default none)"),
	}
}

// Threshold returns the lowest level that is logged.
func (l LogConfig) Threshold() (level slog.Level, err error) {
	if l.Level == "" {
		return slog.LevelInfo, nil
	}
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		return level, fmt.Errorf("%q is not debug, info, warn or error", l.Level)
	}
	return level, nil
}
