package member

import (
	"crypto/x509"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"

	"choir/transport"
)

// BrokerRemedy returns what a site can do about a broker that it does not reach or that refuses it.
func BrokerRemedy(err error) string {
	if remedy := certificateRemedy(err); remedy != "" {
		return remedy
	}
	switch text := err.Error(); {
	case errors.Is(err, nats.ErrSecureConnWanted):
		return "the broker has no TLS: give it a certificate; if it is on this machine, write nats:// and leave " +
			"bus.tls_ca and bus.tls_cert out"
	case errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAccountAuthExpired):
		return "the credentials have expired: get new ones from whoever runs the broker"
	case errors.Is(err, nats.ErrAuthRevoked):
		return "the credentials were withdrawn: ask whoever runs the broker"
	case errors.Is(err, nats.ErrAuthorization):
		return "compare bus.token_file, bus.user with bus.password_file, or bus.credentials_file with the broker's"
	case errors.Is(err, nats.ErrPermissionViolation):
		return "allow this member the subject: docs/operating.md, section 3, lists what a member needs"
	case errors.Is(err, transport.ErrFull):
		return "raise the limit of the stream, the account or the server, or remove what is over"
	case errors.Is(err, nats.ErrMaxSubscriptionsExceeded):
		return "raise max_subscriptions in the server's file, or the account's limit"
	case strings.Contains(text, "max_payload"):
		return "max_payload: 1MB in the server's file"
	case strings.Contains(text, "no such host"):
		return "correct the host in bus.url"
	case errors.Is(err, transport.ErrAuth):
		return "compare bus.url and what follows it in the member's file with the broker's settings"
	}
	return "start the broker, look at bus.url and at the firewall"
}

// certificateRemedy is BrokerRemedy for what one side finds wrong with the other's certificate, else "".
func certificateRemedy(err error) string {
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch text := err.Error(); {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && strings.Contains(text, "is before"):
		return "the broker's certificate is not valid yet: look at this machine's clock, and at that of the " +
			"machine where it was made"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the broker's certificate has expired: whoever runs the broker renews it (look at this machine's " +
			"clock, too)"
	case errors.As(err, &host):
		return "write a name in bus.url that the broker's certificate is for, or make a certificate for this one"
	case errors.As(err, &unknown):
		return "name the roots that the broker's certificate chains to in bus.tls_ca"
	case strings.Contains(text, "x509: "):
		return "the broker's certificate is of no use: make another"
	case strings.Contains(text, "remote error: tls: expired certificate"):
		return "this member's certificate has expired: renew bus.tls_cert"
	case strings.Contains(text, "remote error: tls: certificate required"):
		return "the broker asks for a client's certificate: set bus.tls_cert and bus.tls_key"
	case strings.Contains(text, "protocol version"):
		return "the broker must speak TLS 1.3"
	case strings.Contains(text, "remote error: tls: "), strings.Contains(text, "after TLS handshake"):
		// the connection may end before the broker's reason is read
		return "the broker asks for a client's certificate and refuses this one, or that there is none: " +
			"bus.tls_cert must be valid and chain to the broker's roots for clients (tls_client_ca of choir broker)"
	}
	return ""
}
