//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"
)

func (c *cluster) certificates() {
	c.t.Helper()
	var err error
	if c.caKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		c.t.Fatal(err)
	}
	c.ca = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "consortium"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	c.issue("ca.pem", c.ca, &c.caKey.PublicKey)
	for i, host := range c.hosts {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			c.t.Fatal(err)
		}
		name := fmt.Sprintf("nats-%d", i+1)
		c.issue(name+".crt", &x509.Certificate{SerialNumber: big.NewInt(int64(i) + 2),
			Subject: pkix.Name{CommonName: name}, NotBefore: c.ca.NotBefore, NotAfter: c.ca.NotAfter,
			IPAddresses: []net.IP{net.ParseIP(host), net.ParseIP(c.far[i])},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, &key.PublicKey)
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			c.t.Fatal(err)
		}
		c.write(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	}
}

func (c *cluster) issue(name string, cert *x509.Certificate, public *ecdsa.PublicKey) {
	c.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, c.ca, public, c.caKey)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(name, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

// configurations are those of examples/deploy, with addresses, folders and passwords of this
// test in their places.
func (c *cluster) configurations() {
	c.t.Helper()
	replace := []string{"127.0.0.1:4222", c.leaf + ":4222", "/etc/nats", c.dir, "/var/lib/nats",
		c.path("streams")}
	for i, host := range c.hosts {
		name := fmt.Sprintf("nats-%d.example.org", i+1)
		replace = append(replace, "tls://"+name, "tls://"+c.far[i], "PASSWORD@"+name,
			password("hospital-c")+"@"+c.far[i], name, host)
	}
	if c.far != c.hosts { // nobody is told the addresses behind the links
		replace = append(replace, "cluster {", "cluster {\n  no_advertise: true", "leafnodes {\n  listen",
			"leafnodes {\n  no_advertise: true\n  listen")
	}
	placeholder := regexp.MustCompile(`REPLACE-[a-z-]+`)
	for _, name := range []string{"accounts", "server-1", "server-2", "server-3", "leaf"} {
		b, err := os.ReadFile(filepath.Join("../../examples/deploy/nats", name+".conf"))
		if err != nil {
			c.t.Fatal(err)
		}
		text := strings.NewReplacer(replace...).Replace(string(b))
		for i := range c.hosts { // over links two servers have one connection, so that none is a duplicate
			if c.far != c.hosts && name == fmt.Sprintf("server-%d", (i+1)%len(c.hosts)+1) {
				text = strings.ReplaceAll(text, fmt.Sprintf("%q\n", "tls://"+c.far[i]+":6222"), "\n")
			}
		}
		text = placeholder.ReplaceAllStringFunc(text, func(s string) string {
			secret := []byte(password(strings.TrimPrefix(s, "REPLACE-")))
			hash, err := bcrypt.GenerateFromPassword(secret, bcrypt.MinCost)
			if err != nil {
				c.t.Fatal(err)
			}
			return string(hash)
		})
		c.write(name+".conf", text)
	}
}

func password(user string) string { return "pw-" + user }

// users are the members' at the broker, and sites are where their processes run.
var users = []struct {
	member, role, user string
	site               int
}{
	{"party-01", "party", "hospital-a", 0}, {"party-02", "party", "hospital-b", 1},
	{"party-03", "party", "hospital-c", 2}, {"compute-01", "compute", "node-x", 0},
	{"compute-02", "compute", "node-y", 1}, {"aggregator", "aggregator", "hub", 2},
}
