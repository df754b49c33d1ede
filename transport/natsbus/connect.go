package natsbus

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"choir/transport"
	"choir/transport/internal/credential"
)

// options returns the configuration for nats.go: reconnect without limit, buffer nothing while
// disconnected (a publish fails at once and is retried), report every event.
func (b *Bus) options() ([]nats.Option, error) {
	identity, err := b.identity()
	if err != nil {
		return nil, err
	}
	options := []nats.Option{
		nats.Name(b.config.name()),
		nats.CustomInboxPrefix(b.config.inboxPrefix()),
		nats.MaxReconnects(-1),
		nats.RetryOnFailedConnect(true),
		nats.CustomReconnectDelay(reconnectDelay),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(3),
		nats.ReconnectErrHandler(b.onConnectError),
		nats.ReconnectHandler(b.onReconnect),
		nats.DisconnectErrHandler(b.onDisconnect),
		nats.ClosedHandler(b.onClosed),
		nats.ErrorHandler(b.onError),
	}
	return append(options, identity...), nil
}

func reconnectDelay(attempts int) time.Duration {
	return min(minBackoff<<min(attempts, 10), maxBackoff)
}

// identity returns the options for reaching the broker and authenticating the client.
func (b *Bus) identity() ([]nats.Option, error) {
	c := b.config
	var options []nats.Option
	if c.Server != nil {
		options = append(options, nats.InProcessServer(c.Server))
	}
	if c.IgnoreAnnounced || !c.overTLS() { // their addresses were not checked for loopback
		options = append(options, nats.IgnoreDiscoveredServers())
	}
	if c.wantsTLS() {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13}))
		files, err := c.tlsFiles()
		if err != nil {
			return nil, err
		}
		options = append(options, files...)
	}
	secret, err := c.secretOption()
	if err != nil {
		return nil, err
	}
	if secret != nil {
		options = append(options, secret)
	}
	return options, nil
}

// secretOption reads the secret, so that an unusable file is an error at once, and again at every
// connect.
func (c Config) secretOption() (nats.Option, error) {
	switch {
	case c.CredentialsFile != "":
		option, _, err := c.credentials()
		if err != nil {
			return nil, fmt.Errorf("credentials_file: %w", err)
		}
		return option, nil
	case c.TokenFile != "":
		if _, err := credential.Read(c.TokenFile); err != nil {
			return nil, fmt.Errorf("token_file: %w", err)
		}
		return nats.TokenHandler(func() string { return readOrEmpty(c.TokenFile) }), nil
	case c.PasswordFile != "":
		if _, err := credential.Read(c.PasswordFile); err != nil {
			return nil, fmt.Errorf("password_file: %w", err)
		}
		userInfo := func() (string, string) { return c.User, readOrEmpty(c.PasswordFile) }
		return nats.UserInfoHandler(userInfo), nil
	case c.Server != nil && c.Server.Token() != "":
		return nats.Token(string(c.Server.Token())), nil
	}
	return nil, nil
}

// readOrEmpty returns an empty secret, which the broker refuses, if the file has become unusable.
func readOrEmpty(path string) string {
	s, err := credential.Read(path)
	if err != nil {
		return ""
	}
	return string(s)
}

// tlsFiles reads the roots and the certificate, so that unusable files are an error at once, and again at
// every connect: a certificate that was renewed counts from the next connection on.
func (c Config) tlsFiles() (options []nats.Option, err error) {
	var roots nats.RootCAsHandler
	if c.TLSCA != "" {
		roots = func() (*x509.CertPool, error) { return readRoots(c.TLSCA) }
		if _, err := roots(); err != nil {
			return nil, err
		}
	}
	var pair nats.TLSCertHandler
	if c.TLSCert != "" {
		pair = func() (tls.Certificate, error) { return readPair(c.TLSCert, c.TLSKey) }
		if _, err := pair(); err != nil {
			return nil, err
		}
	}
	return []nats.Option{nats.ClientTLSConfig(pair, roots)}, nil
}

func readRoots(file string) (*x509.CertPool, error) {
	roots, err := credential.ReadRoots(file)
	if err != nil {
		return nil, fmt.Errorf("tls_ca: %w", err)
	}
	return roots, nil
}

func readPair(cert, key string) (tls.Certificate, error) {
	pair, err := credential.ReadPair(cert, key)
	if err != nil {
		return pair, fmt.Errorf("tls_cert, tls_key: %w", err)
	}
	return pair, nil
}

// onConnectError is called for attempts that fail before the handshake; the errors of others are
// in the connection's LastError.
func (b *Bus) onConnectError(_ *nats.Conn, err error) {
	b.mu.Lock()
	b.last = err
	b.mu.Unlock()
	b.failed(err)
}

// failed calls Config.Failed.
func (b *Bus) failed(why error) {
	if atConnectionLimit(why) && !errors.Is(why, transport.ErrFull) {
		why = atLimit(why)
	}
	if b.config.Failed != nil {
		b.config.Failed(why)
	}
}

// attemptError returns the error of the latest attempt to connect.
func (b *Bus) attemptError() error {
	if err := b.conn.LastError(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// failedTLS reports whether one side refused the other's certificate, or has no TLS.
func failedTLS(err error) bool {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return false // busy
	}
	var alert *net.OpError // from crypto/tls, for the other side's alert
	refused := errors.As(err, &alert) && alert.Op == "remote error"
	return refused || errors.Is(err, nats.ErrTLS) || errors.Is(err, nats.ErrSecureConnWanted)
}

// onDisconnect reports a connection that is lost, unless this side has closed it.
func (b *Bus) onDisconnect(_ *nats.Conn, err error) {
	if b.config.Connected != nil && b.ctx.Err() == nil {
		b.config.Connected(false, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	epoch := b.epoch
	if b.ctx.Err() == nil && b.config.Failed != nil {
		b.asking.Go(func() { b.reportFailures(epoch) })
	}
}

// reportFailures calls Config.Failed while the connection is lost, for what nats.go does not report: that
// the broker has refused the client, or a certificate.
func (b *Bus) reportFailures(epoch context.Context) {
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	defer context.AfterFunc(epoch, stop)()
	for pause := minBackoff; sleep(ctx, &pause); {
		err := b.attemptError()
		if dropped(err) {
			err = cmp.Or(b.config.greeting(ctx), err)
		}
		if err != nil && ctx.Err() == nil {
			b.failed(err)
		}
	}
}

// onReconnect restarts the operations of the old connection: what the broker had sent over it is
// lost.
func (b *Bus) onReconnect(*nats.Conn) {
	b.mu.Lock()
	b.endEpoch()
	b.epoch, b.endEpoch = context.WithCancel(context.Background())
	again := b.accepted
	b.accepted = true
	b.mu.Unlock()
	for _, s := range b.subscriptions() {
		s.detach()
	}
	if b.config.Connected != nil && again {
		b.config.Connected(true, nil)
	}
}

// onClosed is the last callback, after Close or after the broker has refused the client twice.
func (b *Bus) onClosed(conn *nats.Conn) {
	err := conn.LastError()
	if err == nil {
		err = transport.ErrClosed
	}
	b.fail(b.config.blame(authError(err), time.Now()))
	close(b.gone)
}

func (b *Bus) onError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) {
		b.deny(parseViolation(err))
	}
	if errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
		b.fail(errFewSubscriptions)
	}
	if errors.Is(err, nats.ErrSlowConsumer) { // an iterator's, or Listen's, where it is harmless
		for _, s := range b.subscriptions() {
			s.detach()
		}
	}
}

// authError adds transport.ErrAuth to errors of authentication and permissions.
func authError(err error) error {
	for _, auth := range []error{
		nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked,
		nats.ErrAccountAuthExpired, nats.ErrPermissionViolation,
	} {
		if errors.Is(err, auth) {
			return fmt.Errorf("%w: %w", transport.ErrAuth, err)
		}
	}
	// nats.go does not class what the broker answers to a handshake.
	var text string
	if err != nil {
		text = strings.ToLower(err.Error())
	}
	if strings.Contains(text, "authentication expired") || strings.Contains(text, "authentication revoked") {
		return fmt.Errorf("%w: %w", transport.ErrAuth, err)
	}
	return err
}
