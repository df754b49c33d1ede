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

// startTimeout bounds an embedded server's start, which takes 26 ms if nothing is recovered.
const startTimeout = 30 * time.Second

// User is a client that an embedded server accepts.
type User struct {
	Name         string
	PasswordFile string // one line, mode 0600
	// Publish and Subscribe list the subjects (with wildcards) that the user may use; an empty
	// list permits everything. NATS's permissions do not prevent spoofing; see package natsbus.
	Publish, Subscribe []string
}

// Config describes an embedded broker. The zero value is one without a socket, with temporary
// storage.
type Config struct {
	// StoreDir is the folder of the streams, created with mode 0700. One broker at a time can use
	// it (ErrLocked). Empty: a temporary folder that Shutdown removes.
	StoreDir string
	// Listen is a TCP address; port 0 means any free port. Empty: only this process can connect,
	// through natsbus.Config.Server. A listener needs TokenFile or Users: on a shared machine
	// every user can reach it.
	Listen string
	// TokenFile is the file of a secret that every client must know (one line, mode 0600).
	// Clients of natsbus.Config.Server get it from there.
	TokenFile string
	// Users replaces TokenFile.
	Users []User
	// TLSCert and TLSKey make the listener use TLS 1.3; with TLSClientCA it requires clients to
	// have a certificate that chains to it. PEM files.
	TLSCert, TLSKey, TLSClientCA string
	// SyncAlways syncs every message before it is acknowledged, at less than half the speed.
	// Otherwise the server syncs at least every two minutes.
	SyncAlways bool
	// MaxMemory and MaxStore bound all streams together, in bytes; 0 means the server's default
	// for the machine.
	MaxMemory, MaxStore int64
	// Log gets the server's warnings and errors; nil drops them.
	Log *slog.Logger
}

// Validate returns an error that names the field that is wrong. It reads no files.
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
		return errors.New("nats server: MaxMemory and MaxStore cannot be negative")
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
	set       *server.Options
	log       *serverLog
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
		e.temporary = dir
		config.StoreDir = dir
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
	e.set = options
	e.log = &serverLog{log: config.Log, fatal: make(chan error, 1), full: make(chan struct{}, 1)}
	if err := available(config.Listen); err != nil {
		return err
	}
	return e.serve()
}

// available returns why no server can listen at an address. The server itself would log the reason.
func available(address string) error {
	if address == "" {
		return nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

func (e *Server) serve() error {
	s, err := server.NewServer(e.set.Clone())
	if err != nil {
		return err
	}
	s.SetLoggerV2(e.log, false, false, false)
	e.server = s
	go s.Start()
	return awaitReady(s, e.log.fatal)
}

// Full receives a value when the server refuses to store for want of room. It goes on doing so until
// Restart.
func (e *Server) Full() <-chan struct{} { return e.log.full }

// Restart stops the server and starts it at the same address with the same streams, with the limit that
// the room on the disk allows now. Other methods must not run at the same time.
func (e *Server) Restart() error {
	if address, ok := e.server.Addr().(*net.TCPAddr); ok {
		e.set.Port = address.Port
	}
	e.server.Shutdown()
	e.server.WaitForShutdown()
	select {
	case <-e.log.full:
	default:
	}
	if err := e.serve(); err != nil {
		return fmt.Errorf("nats server: %w", err)
	}
	return nil
}

// awaitReady polls until the server is ready. The server only logs its fatal errors.
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

// ClientURL returns the address for clients of other processes; "" without a listener.
func (e *Server) ClientURL() string {
	if e.server == nil || e.server.Addr() == nil {
		return ""
	}
	return e.server.ClientURL()
}

// Format prints the server's address under every verb: fmt would otherwise print the token.
func (e *Server) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "embedded NATS server [%s]", e.ClientURL())
}

// Token implements natsbus.InProcess.
func (e *Server) Token() credential.Secret { return e.token }

// InProcessConn opens a connection without a socket. It implements natsbus.InProcess.
func (e *Server) InProcessConn() (net.Conn, error) { return e.server.InProcessConn() }

// Shutdown stops the server and waits for its end. Streams stay in StoreDir. Calling it twice is
// harmless.
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
