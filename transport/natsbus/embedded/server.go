package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	bolt "go.etcd.io/bbolt"

	"choir/transport/internal/credential"
)

// readyPoll is how long a poll for readiness lasts.
const readyPoll = 50 * time.Millisecond

// startTimeout bounds an embedded server's start; it takes 26 ms when nothing is recovered.
const startTimeout = 30 * time.Second

// User is someone an embedded server lets in.
type User struct {
	Name         string
	PasswordFile string // one line, mode 0600
	// Publish and Subscribe list the subjects (with wildcards) that the user may use; an empty
	// list permits everything. NATS's permissions don't stop spoofing; see the package comment.
	Publish, Subscribe []string
}

// Config describes an embedded broker. Its zero value is one without a socket
// whose storage ends with it.
type Config struct {
	// StoreDir holds the streams (created with mode 0700); one broker at a time has it
	// (ErrLocked). Empty: a temporary folder that Shutdown removes.
	StoreDir string
	// Listen is a TCP address; port 0 picks a free one. Empty: only this process can
	// connect, through natsbus.Config.Server. A listener needs TokenFile or Users: on a shared
	// machine anybody can reach it.
	Listen string
	// TokenFile holds a secret that every client must know (one line, mode 0600). Clients of
	// natsbus.Config.Server are given it.
	TokenFile string
	// Users replaces TokenFile.
	Users []User
	// TLSCert and TLSKey make the listener speak TLS 1.3; TLSClientCA makes it demand a
	// certificate of its clients that chains to it. PEM files.
	TLSCert, TLSKey, TLSClientCA string
	// SyncAlways makes an acknowledgement mean that the message is on the disk, at less than half the
	// speed. Otherwise the disk is at most two minutes behind.
	SyncAlways bool
	// MaxMemory and MaxStore bound all streams together, in bytes; 0 lets the server choose
	// from what the machine has.
	MaxMemory, MaxStore int64
	// Log gets the server's warnings and errors; nil drops them.
	Log *slog.Logger
}

// Validate says what is wrong with the configuration, naming the field. It reads no files.
func (c Config) Validate() error {
	switch {
	case c.TokenFile != "" && len(c.Users) > 0:
		return errors.New("nats server: TokenFile and Users exclude each other")
	case c.Listen != "" && c.TokenFile == "" && len(c.Users) == 0:
		return errors.New("nats server: Listen needs TokenFile or Users")
	case (c.TLSCert == "") != (c.TLSKey == "") || c.TLSClientCA != "" && c.TLSCert == "":
		return errors.New("nats server: TLSCert and TLSKey go together, and with TLSClientCA")
	case c.TLSCert != "" && c.Listen == "":
		return errors.New("nats server: TLS needs Listen")
	case c.MaxMemory < 0 || c.MaxStore < 0:
		return errors.New("nats server: MaxMemory and MaxStore can't be negative")
	}
	for _, u := range c.Users {
		if u.Name == "" || u.PasswordFile == "" {
			return errors.New("nats server: Users: each needs a Name and a PasswordFile")
		}
	}
	if _, _, err := c.address(); err != nil {
		return fmt.Errorf("nats server: Listen: %w", err)
	}
	return nil
}

// address splits Listen; a free port is -1 in the server's options.
func (c Config) address() (host string, port int, err error) {
	if c.Listen == "" {
		return "", 0, nil
	}
	host, text, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, err
	}
	if n == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, int(n), nil
}

// Server is a running NATS server with JetStream in this process.
type Server struct {
	server    *server.Server
	token     credential.Secret
	temporary string // folder to remove, or ""
	held      *bolt.DB
}

// Start starts a server and returns when it is ready for clients. It installs
// no signal handlers and opens no monitoring port.
func Start(config Config) (*Server, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	e := &Server{}
	err := e.start(config)
	if err != nil {
		e.Shutdown()
		return nil, fmt.Errorf("nats server: %w", err)
	}
	return e, nil
}

func (e *Server) start(config Config) error {
	if config.StoreDir == "" {
		dir, err := os.MkdirTemp("", "choir-nats-")
		if err != nil {
			return err
		}
		e.temporary, config.StoreDir = dir, dir
	}
	if err := os.MkdirAll(config.StoreDir, 0o700); err != nil {
		return err
	}
	if e.temporary == "" {
		held, err := lock(config.StoreDir)
		if err != nil {
			return err
		}
		e.held = held
	}
	options, err := e.options(config)
	if err != nil {
		return err
	}
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	log := &serverLog{log: config.Log, fatal: make(chan error, 1)}
	s.SetLoggerV2(log, false, false, false)
	e.server = s
	go s.Start()
	return awaitReady(s, log.fatal)
}

// awaitReady polls; what the server calls fatal it only logs.
func awaitReady(s *server.Server, fatal <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for ctx.Err() == nil {
		ready := s.ReadyForConnections(readyPoll)
		select {
		case err := <-fatal:
			return err
		default:
		}
		if ready && s.JetStreamEnabled() {
			return nil
		}
	}
	return fmt.Errorf("not ready after %v", startTimeout)
}

// ClientURL is where clients of other processes connect; "" without a listener.
func (e *Server) ClientURL() string {
	if e.server == nil || e.server.Addr() == nil {
		return ""
	}
	return e.server.ClientURL()
}

// Format prints where the server listens, under every verb: fmt would otherwise reach the token.
func (e *Server) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "embedded NATS server [%s]", e.ClientURL())
}

// Token implements natsbus.InProcess.
func (e *Server) Token() credential.Secret { return e.token }

// InProcessConn opens a connection without a socket; it lets natsbus.Config.Server work.
func (e *Server) InProcessConn() (net.Conn, error) { return e.server.InProcessConn() }

// Shutdown stops the server and waits for it. Stored streams stay in StoreDir. Calling it
// twice is harmless.
func (e *Server) Shutdown() {
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	if e.held != nil {
		_ = e.held.Close()
	}
	if e.temporary != "" {
		_ = os.RemoveAll(e.temporary)
	}
}
