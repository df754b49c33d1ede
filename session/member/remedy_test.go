package member_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/transport/natsbus/embedded"
)

// certificates makes certificates, with their files in a folder.
type certificates struct {
	t    *testing.T
	dir  string
	key  *ecdsa.PrivateKey
	root *x509.Certificate
}

func newCertificates(t *testing.T) *certificates {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &certificates{t: t, dir: t.TempDir(), key: key, root: certificate()}
	c.root.IsCA, c.root.BasicConstraintsValid, c.root.KeyUsage = true, true, x509.KeyUsageCertSign
	return c
}

func certificate() *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "choir test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
}

// sign returns the files of a certificate and of its key.
func (c *certificates) sign(name string, change func(*x509.Certificate)) (cert, key string) {
	c.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	template := certificate()
	if change != nil {
		change(template)
	}
	return c.write(name, template, private)
}

func (c *certificates) write(name string, template *x509.Certificate, private *ecdsa.PrivateKey) (
	cert, key string) {
	c.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, c.root, private.Public(), c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		c.t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return rig.WriteFile(c.t, c.dir, name+".crt", text("CERTIFICATE", der)),
		rig.WriteFile(c.t, c.dir, name+".key", text("PRIVATE KEY", secret))
}

// roots returns the file of the root.
func (c *certificates) roots() string {
	file, _ := c.write("root", c.root, c.key)
	return file
}

// TestBrokerRefusals: each cause for which a member and a broker refuse each other has a remedy that fits it,
// in a preflight and when the member runs.
func TestBrokerRefusals(t *testing.T) {
	dir, configOf := site.Deploy(t, time.Now())
	ca, other := newCertificates(t), newCertificates(t)
	roots := ca.roots()
	cert, key := ca.sign("own", nil)
	strangerCert, strangerKey := other.sign("stranger", nil)
	lateCert, lateKey := ca.sign("late", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	token := rig.WriteFile(t, dir, "token", "s3cret\n")
	wrong := rig.WriteFile(t, dir, "wrong", "guess\n")
	for name, c := range map[string]struct {
		broker  func(*x509.Certificate) // its certificate; nil: a good one
		clients string                  // its roots for clients
		plain   bool                    // it has no TLS
		change  func(*member.BusConfig)
		want    string
	}{
		"expired": {broker: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) },
			want: "certificate has expired"},
		"not yet": {broker: func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }, want: "clock"},
		"host": {broker: func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)} },
			want: "name in bus.url"},
		"roots":        {change: func(b *member.BusConfig) { b.TLSCA = other.roots() }, want: "in bus.tls_ca"},
		"TLS required": {change: func(b *member.BusConfig) { b.TLSCA = "" }, want: "in bus.tls_ca"},
		"no TLS":       {plain: true, want: "has no TLS"},
		"token":        {change: func(b *member.BusConfig) { b.TokenFile = wrong }, want: "compare bus.token_file"},
		"no token":     {change: func(b *member.BusConfig) { b.TokenFile = "" }, want: "compare bus.token_file"},
		"no client":    {clients: roots, want: "bus.tls_cert"},
		"stranger": {clients: roots, change: func(b *member.BusConfig) {
			b.TLSCert, b.TLSKey = strangerCert, strangerKey
		}, want: "bus.tls_cert"},
		"late client": {clients: roots, change: func(b *member.BusConfig) {
			b.TLSCert, b.TLSKey = lateCert, lateKey
		}, want: "bus.tls_cert"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for several attempts
			config := embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: token}
			if !c.plain {
				config.TLSCert, config.TLSKey, config.TLSClientCA = cert, key, c.clients
			}
			if c.broker != nil {
				config.TLSCert, config.TLSKey = ca.sign("broker "+name, c.broker)
			}
			broker, err := embedded.Start(config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(broker.Shutdown)
			own := configOf("party-a")
			own.StoreFile = filepath.Join(t.TempDir(), "store.db")
			own.Bus = member.BusConfig{URL: broker.ClientURL(), TokenFile: token, TLSCA: roots}
			if c.change != nil {
				c.change(&own.Bus)
			}
			checkRemedy(t, own, c.want)
		})
	}
}

// checkRemedy checks what is the matter with a configuration's broker.
func checkRemedy(t *testing.T, c *member.Config, want string) {
	t.Helper()
	for _, check := range member.RunPreflight(t.Context(), c, time.Now()).Checks {
		if check.Verdict == member.Wrong && (check.Name != "broker" || !strings.Contains(check.Remedy, want)) {
			t.Errorf("%+v", check)
		}
	}
	var log lockedText
	m, err := member.Open(c, protocol.RoleParty, slog.New(slog.NewTextHandler(&log, nil)), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	err = m.Run(t.Context())
	if protocol.ClassOf(err) != protocol.ClassAuth || !strings.Contains(member.BrokerRemedy(err), want) {
		t.Errorf("%v: %s", err, member.BrokerRemedy(err))
	}
	if !log.has("event=broker-refused") {
		t.Error("the log does not tell of the refusal")
	}
	if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "guess") {
		t.Errorf("a secret in %v", err)
	}
}
