package natsbus

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"choir/transport"
	"choir/transport/internal/credential"
)

// Storage is where the broker keeps a stream.
type Storage int

const (
	// File storage survives the broker's restart. It is the default.
	File Storage = iota
	// Memory storage is lost with the broker: for demonstrations and tests.
	Memory
)

// String returns the name that the configuration file uses.
func (s Storage) String() string {
	switch s {
	case File:
		return "file"
	case Memory:
		return "memory"
	}
	return fmt.Sprintf("Storage(%d)", int(s))
}

func (s Storage) jetstream() jetstream.StorageType {
	if s == Memory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

// Bounds of Config.Plan, in hexadecimal digits (4 to 64 bytes).
const (
	minPlan = 8
	maxPlan = 128
)

// InProcess is a broker in this process; package embedded has one.
type InProcess interface {
	InProcessConn() (net.Conn, error)
	// Token is the secret that clients must show, "" for none.
	Token() credential.Secret
}

// Config describes one connection to one plan's stream. Plan and exactly one of URL and Server must
// be set; the other fields have useful zero values. Secrets are given by file path only.
type Config struct {
	// URL of the broker, or several of one cluster with commas between them: nats://, tls://, ws://
	// or wss://, one scheme for all, without credentials. Unless TLS is on, servers that the broker
	// announces are not connected to.
	URL string
	// IgnoreAnnounced makes the client never connect to servers that the broker announces.
	IgnoreAnnounced bool
	// Server is an embedded broker in this process, reached without a socket.
	Server InProcess

	// Plan is the plan's identifier, 4 to 64 bytes in lower-case hexadecimal. The stream is
	// CHOIR_<plan> and has the subjects choir.<plan>.>
	Plan string
	// Name of this client, shown by the broker's tools; default "choir".
	Name string

	// At most one of these three files identifies the client: NATS user credentials (a .creds file, or
	// the seed of an nkey alone), the broker's token, or the password of User. All but an nkey are read
	// again at every reconnect, so that they can be rotated. They are refused if others than the owner
	// may read them. Token and password are sent only over TLS or to a loopback address; of the former
	// nothing secret is sent.
	CredentialsFile string
	TokenFile       string
	PasswordFile    string
	// User is the name that goes with PasswordFile.
	User string

	// TLSCA is a PEM file with the roots that the broker's certificate must chain to (default:
	// the system's); TLSCert and TLSKey are this client's certificate. If any of them is set,
	// TLS is required, at least version 1.3.
	TLSCA, TLSCert, TLSKey string

	// InboxPrefix is the prefix of the subjects of the broker's replies. The broker's permissions
	// must keep it private to this client, else others can read what it pulls. A valid subject;
	// default "_INBOX_<Name>".
	InboxPrefix string

	// APIPrefix is the prefix of the subjects of requests to JetStream; default "$JS.API". A
	// client in another account than the stream's imports them under another subject.
	APIPrefix string

	// The settings of the stream that EnsureStream creates.
	Storage  Storage
	Replicas int           // 1 to 5; 0 means 1
	MaxBytes int64         // the broker refuses more than this (transport.ErrFull); 0 means no limit
	MaxAge   time.Duration // the broker removes older messages, at least a minute; 0 means never

	// Connected is called when an established connection is lost, with the error if there is one,
	// and when it is back; nil: not called. It must not block.
	Connected func(up bool, why error)

	// WaitAtLimits makes Publish, Subscribe and EnsureStream wait while the stream, its account or the
	// server is at a limit that people can raise, rather than return transport.ErrFull.
	WaitAtLimits bool

	// Failed is called when an attempt to connect fails, also while an established connection is lost, and
	// when one of EnsureStream fails that is tried again; nil: not called. The error is transport.ErrFull for
	// a broker that is at its limit. It must not block.
	Failed func(why error)

	// Full is called when the broker refuses to store a message or to be read for want of room or at a
	// limit, with its answer, every minute while it does, and when it goes on; nil: not called. Publish goes
	// on trying. It must not block.
	Full func(full bool, why error)

	// Rand is the source of message identifiers for the broker's deduplication; nil means
	// crypto/rand.Reader. They must be unpredictable: a client that guesses one can make the
	// broker drop the message as a duplicate.
	Rand io.Reader
}

// Validate returns an error that names the field that is wrong. It reads no files.
func (c Config) Validate() error {
	checks := []func() error{c.checkServer, c.checkNames, c.checkIdentity, c.checkStream}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) checkServer() error {
	if (c.URL == "") == (c.Server == nil) {
		return errors.New("exactly one of URL and Server must be set")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("client certificate: tls_cert and tls_key go together")
	}
	if c.Server != nil {
		if c.wantsTLS() {
			return errors.New("fields for TLS make no sense with an in-process Server")
		}
		return nil
	}
	return c.checkURLs()
}

func (c Config) checkURLs() error {
	first := ""
	for _, text := range c.urls() {
		u, err := url.Parse(text)
		if err != nil {
			return errors.New("url: malformed") // url's error would contain any password in it
		}
		if first == "" {
			first = u.Scheme
		}
		switch {
		case !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			return fmt.Errorf("url: scheme %q, want nats, tls, ws or wss", u.Scheme)
		case u.Scheme != first:
			return fmt.Errorf("url: schemes %q and %q in one list, want one for all", first, u.Scheme)
		case u.User != nil:
			return errors.New("url: credentials belong in a file")
		case u.Hostname() == "":
			return errors.New("url: no host")
		case c.sendsSecret() && !c.overTLS() && !isLoopback(u.Hostname()):
			return fmt.Errorf("url: a token or password would travel to %s without TLS: "+
				"write tls:// or wss://, or name tls_ca", u.Hostname())
		}
	}
	return nil
}

func (c Config) urls() []string {
	urls := strings.Split(c.URL, ",")
	for i := range urls {
		urls[i] = strings.TrimSpace(urls[i])
	}
	return urls
}

func (c Config) checkNames() error {
	_, err := hex.DecodeString(c.Plan)
	if err != nil || len(c.Plan) < minPlan || len(c.Plan) > maxPlan || c.Plan != strings.ToLower(c.Plan) {
		return fmt.Errorf("field Plan: %q is not %d to %d lower-case hexadecimal digits",
			c.Plan, minPlan, maxPlan)
	}
	if err := transport.ValidateSubject(c.inboxPrefix()); err != nil {
		return fmt.Errorf("inbox_prefix, or the member's name: %w", err)
	}
	if c.APIPrefix == "" {
		return nil
	}
	if err := transport.ValidateSubject(c.APIPrefix); err != nil {
		return fmt.Errorf("api_prefix: %w", err)
	}
	return nil
}

func (c Config) checkIdentity() error {
	given := 0
	for _, file := range []string{c.CredentialsFile, c.TokenFile, c.PasswordFile} {
		if file != "" {
			given++
		}
	}
	if given > 1 {
		return errors.New("at most one of credentials_file, token_file and password_file may be set")
	}
	if (c.User == "") != (c.PasswordFile == "") {
		return errors.New("user and password_file go together")
	}
	return nil
}

func (c Config) checkStream() error {
	switch {
	case c.Storage != File && c.Storage != Memory:
		return fmt.Errorf("storage: unknown %v", c.Storage)
	case c.Replicas < 0 || c.Replicas > 5:
		return fmt.Errorf("replicas: %d, want 1 to 5", c.Replicas)
	case c.MaxBytes < 0:
		return fmt.Errorf("max_bytes: %d is negative", c.MaxBytes)
	case c.MaxAge != 0 && c.MaxAge < time.Minute:
		return fmt.Errorf("max_age: %v is less than a minute", c.MaxAge)
	}
	return nil
}

func (c Config) wantsTLS() bool { return c.TLSCA != "" || c.TLSCert != "" }

// overTLS reports whether every connection is encrypted.
func (c Config) overTLS() bool {
	scheme, _, _ := strings.Cut(c.URL, "://")
	return c.wantsTLS() || scheme == "tls" || scheme == "wss"
}

func (c Config) sendsSecret() bool { return c.TokenFile != "" || c.PasswordFile != "" }

func (c Config) stream() string { return "CHOIR_" + c.Plan }

// prefix is the prefix of every subject of the plan.
func (c Config) prefix() string { return "choir." + c.Plan + "." }

func (c Config) name() string {
	if c.Name == "" {
		return "choir"
	}
	return c.Name
}

func (c Config) inboxPrefix() string {
	if c.InboxPrefix == "" {
		return "_INBOX_" + c.name()
	}
	return c.InboxPrefix
}

func (c Config) apiPrefix() string {
	if c.APIPrefix == "" {
		return "$JS.API"
	}
	return c.APIPrefix
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
