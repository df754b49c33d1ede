package embedded_test

import (
	"crypto/rand"
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
	"choir/transport/transporttest"
)

func TestConfigValidate(t *testing.T) {
	for _, row := range []struct {
		name    string
		config  embedded.Config
		mention string
	}{
		{"zero value", embedded.Config{}, ""},
		{"open listener", embedded.Config{Listen: "127.0.0.1:0"}, "TokenFile or Users"},
		{"token and users", embedded.Config{
			TokenFile: "t", Users: []embedded.User{{Name: "u", PasswordFile: "p"}},
		}, "exclude"},
		{"user without password", embedded.Config{Users: []embedded.User{{Name: "u"}}}, "PasswordFile"},
		{"no port", embedded.Config{Listen: "127.0.0.1", TokenFile: "t"}, "Listen"},
		{"bad port", embedded.Config{Listen: "127.0.0.1:70000", TokenFile: "t"}, "Listen"},
		{"negative port", embedded.Config{Listen: "127.0.0.1:-1", TokenFile: "t"}, "Listen"},
		{"key alone", embedded.Config{Listen: "127.0.0.1:0", TokenFile: "t", TLSKey: "k"}, "TLSCert"},
		{"client roots alone", embedded.Config{Listen: "127.0.0.1:0", TokenFile: "t", TLSClientCA: "c"}, "TLSCert"},
		{"TLS without listener", embedded.Config{TLSCert: "c", TLSKey: "k"}, "Listen"},
		{"negative memory", embedded.Config{MaxMemory: -1}, "MaxMemory"},
		{"negative store", embedded.Config{MaxStore: -1}, "MaxStore"},
	} {
		t.Run(row.name, func(t *testing.T) {
			transporttest.CheckMention(t, row.config.Validate(), row.mention)
			if row.mention != "" {
				_, err := embedded.Start(row.config)
				transporttest.CheckMention(t, err, row.mention)
			}
		})
	}
}

// TestPortInUse: the error is the system's, so that programs can name a remedy.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := natsbus.NewTokenFile(token, rand.Reader); err != nil {
		t.Fatal(err)
	}
	_, err = embedded.Start(embedded.Config{Listen: l.Addr().String(), TokenFile: token})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("error %v", err)
	}
}
