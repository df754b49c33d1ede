package natsbus_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
	"choir/transport/transporttest"
)

// authority is a certificate authority with its certificate in a file.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key}
	a.cert = template(1)
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	a.file = a.sign("ca", a.cert, &key.PublicKey)
	return a
}

func template(serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "choir test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func (a *authority) sign(name string, cert *x509.Certificate, public *ecdsa.PublicKey) string {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, public, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return write(a.t, name, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

// pair issues a certificate and returns its files.
func (a *authority) pair() (cert, key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	key = write(a.t, "key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	return a.sign("cert", template(2), &private.PublicKey), key
}

func TestTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.pair()
	token := write(t, "token", "s3cret")
	server := startServer(t, embedded.Config{
		StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: token,
		TLSCert: cert, TLSKey: key, TLSClientCA: ca.file,
	})
	url := "nats://" + server.ClientURL()[strings.LastIndex(server.ClientURL(), "/")+1:]
	good := natsbus.Config{URL: url, TokenFile: token, Plan: plan, TLSCA: ca.file}
	good.TLSCert, good.TLSKey = ca.pair()
	b := openBus(t, good)
	subscribedAfter(t, b, 3)

	strangerCert, strangerKey := other.pair()
	for name, change := range map[string]func(*natsbus.Config){
		"unknown broker":         func(c *natsbus.Config) { c.TLSCA = other.file },
		"system roots":           func(c *natsbus.Config) { c.TLSCA = "" },
		"no client certificate":  func(c *natsbus.Config) { c.TLSCert, c.TLSKey = "", "" },
		"stranger's certificate": func(c *natsbus.Config) { c.TLSCert, c.TLSKey = strangerCert, strangerKey },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for several attempts
			c := good
			change(&c)
			b, err := natsbus.Open(newContext(t), c)
			if err == nil {
				_ = b.Close()
			}
			wantAuth(t, err, "tls")
		})
	}
}

// TestRenewedCertificate: files of TLS that are replaced while a member runs count from its next connection
// on, and until they are whole it tries again.
func TestRenewedCertificate(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	token := write(t, "token", "s3cret")
	start := func(ca *authority) *embedded.Server {
		cert, key := ca.pair()
		return startServer(t, embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: token,
			TLSCert: cert, TLSKey: key, TLSClientCA: ca.file})
	}
	p := startProxy(t)
	p.aim(start(before))
	cert, key := before.pair()
	events, failed := make(chan bool, 8), make(chan error, 64)
	openBus(t, natsbus.Config{URL: p.url(), TokenFile: token, TLSCA: before.file, TLSCert: cert, TLSKey: key,
		Connected: func(up bool, _ error) { events <- up },
		Failed: func(err error) {
			select {
			case failed <- err:
			default:
			}
		}})
	newCert, newKey := after.pair()
	replace := func(file, by string) {
		b, err := os.ReadFile(by)
		if err == nil {
			err = os.WriteFile(file, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	replace(before.file, after.file)
	replace(cert, newCert) // and not its key yet
	p.aim(start(after))
	p.cut()
	for err := range failed {
		if strings.Contains(err.Error(), "tls_cert, tls_key") {
			break
		}
	}
	replace(key, newKey)
	lostAndBack(t, events)
}

// A client that requires TLS must not accept a broker without it: its token would travel in the
// clear.
func TestTLSNotOffered(t *testing.T) {
	token := write(t, "token", "s3cret")
	server := startServer(t, embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: token})
	for name, c := range map[string]natsbus.Config{
		"CA":     {URL: server.ClientURL(), TLSCA: newAuthority(t).file},
		"scheme": {URL: strings.Replace(server.ClientURL(), "nats:", "tls:", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for several attempts
			c.TokenFile, c.Plan = token, plan
			b, err := natsbus.Open(newContext(t), c)
			if err == nil {
				_ = b.Close()
			}
			wantAuth(t, err, "secure connection not available")
		})
	}
}

func TestTLSFiles(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.pair()
	junk := write(t, "junk", "no PEM")
	for name, c := range map[string]natsbus.Config{
		"tls_ca":            {TLSCA: junk},
		"tls_cert, tls_key": {TLSCert: cert, TLSKey: junk},
	} {
		t.Run(name, func(t *testing.T) {
			c.URL, c.Plan = "nats://127.0.0.1:1", plan
			_, err := natsbus.Open(newContext(t), c)
			transporttest.CheckMention(t, err, name)
		})
	}
	token := write(t, "token", "s3cret")
	_, err := embedded.Start(embedded.Config{
		Listen: "127.0.0.1:0", TokenFile: token, TLSCert: junk, TLSKey: key,
	})
	transporttest.CheckMention(t, err, "tls_cert")
	_, err = embedded.Start(embedded.Config{
		Listen: "127.0.0.1:0", TokenFile: token, TLSCert: cert, TLSKey: key, TLSClientCA: junk,
	})
	transporttest.CheckMention(t, err, "tls_client_ca")
}

// TestTLSKeyModes: a key that everybody on the machine may read is refused at both ends; its group may.
func TestTLSKeyModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // where a file's mode does not show who may read it
	}
	cert, key := newAuthority(t).pair()
	token := write(t, "token", "s3cret")
	for mode, refused := range map[os.FileMode]bool{0o644: true, 0o604: true, 0o640: false, 0o600: false} {
		t.Run(mode.String(), func(t *testing.T) {
			if err := os.Chmod(key, mode); err != nil {
				t.Fatal(err)
			}
			_, client := natsbus.Open(t.Context(), natsbus.Config{
				URL: "nats://127.0.0.1:1", Plan: plan, TLSCert: cert, TLSKey: key, User: "u", PasswordFile: "none",
			}) // whose password is missing, too
			server, broker := embedded.Start(embedded.Config{
				StoreDir: t.TempDir(), Listen: "127.0.0.1:0", TokenFile: token, TLSCert: cert, TLSKey: key,
			})
			if broker == nil {
				server.Shutdown()
			}
			for _, err := range []error{client, broker} {
				if errors.Is(err, fs.ErrPermission) != refused {
					t.Errorf("error %v, want one of the mode: %t", err, refused)
				}
				if refused {
					transporttest.CheckMention(t, err, "chmod 600")
				}
			}
		})
	}
}
