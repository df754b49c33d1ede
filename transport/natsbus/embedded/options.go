package embedded

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"choir/transport/internal/credential"
)

// clientBuffer is how much the server buffers for a client before it disconnects it as slow:
// several subscriptions of pullBytes each.
const clientBuffer = 256 << 20

func (e *Server) options(c Config) (*server.Options, error) {
	host, port, err := c.address()
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName:             "choir",
		Host:                   host,
		Port:                   port,
		DontListen:             c.Listen == "",
		JetStream:              true,
		StoreDir:               c.StoreDir,
		SyncAlways:             c.SyncAlways,
		JetStreamMaxMemory:     c.MaxMemory,
		JetStreamMaxStore:      c.MaxStore,
		DisableJetStreamBanner: true,
		MaxPending:             clientBuffer,
		NoSigs:                 true,
	}
	if c.TokenFile != "" {
		if e.token, err = credential.Read(c.TokenFile); err != nil {
			return nil, fmt.Errorf("token_file: %w", err)
		}
		o.Authorization = string(e.token)
	}
	for _, u := range c.Users {
		user, err := u.server()
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", u.Name, err)
		}
		o.Users = append(o.Users, user)
	}
	if c.TLSCert != "" {
		if o.TLSConfig, err = c.tls(); err != nil {
			return nil, err
		}
		o.TLS = true
		o.TLSVerify = c.TLSClientCA != ""
		o.TLSTimeout = 10 // seconds
	}
	return o, nil
}

func (u User) server() (*server.User, error) {
	password, err := credential.Read(u.PasswordFile)
	if err != nil {
		return nil, err
	}
	user := &server.User{Username: u.Name, Password: string(password)}
	if len(u.Publish)+len(u.Subscribe) > 0 {
		user.Permissions = &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: u.Publish},
			Subscribe: &server.SubjectPermission{Allow: u.Subscribe},
		}
	}
	return user, nil
}

func (c Config) tls() (*tls.Config, error) {
	pair, err := credential.ReadPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("tls_cert, tls_key: %w", err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}}
	if c.TLSClientCA != "" {
		if config.ClientCAs, err = credential.ReadRoots(c.TLSClientCA); err != nil {
			return nil, fmt.Errorf("tls_client_ca: %w", err)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// serverLog forwards the server's warnings and errors, and keeps the first fatal one: the server
// itself only logs it and stops before it has started.
type serverLog struct {
	log   *slog.Logger
	fatal chan error
	full  chan struct{} // it refuses to store
}

// refusals are parts of what the server logs, and reports in no other way, when it refuses to store for
// want of room: at its limit, and when a write has failed.
var refusals = []string{"resource limits exceeded", "will be DISABLED"}

var _ server.Logger = (*serverLog)(nil)

func (l *serverLog) Noticef(string, ...any) {}
func (l *serverLog) Debugf(string, ...any)  {}
func (l *serverLog) Tracef(string, ...any)  {}

func (l *serverLog) Warnf(format string, v ...any) {
	if l.log != nil {
		l.log.Warn("nats server", "message", fmt.Sprintf(format, v...))
	}
}

func (l *serverLog) Errorf(format string, v ...any) {
	if slices.ContainsFunc(refusals, func(part string) bool { return strings.Contains(format, part) }) {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
	if l.log != nil {
		l.log.Error("nats server", "message", fmt.Sprintf(format, v...))
	}
}

func (l *serverLog) Fatalf(format string, v ...any) {
	l.Errorf(format, v...)
	select {
	case l.fatal <- fmt.Errorf(format, v...):
	default:
	}
}
