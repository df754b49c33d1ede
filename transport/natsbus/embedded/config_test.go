package embedded_test

import (
	"strings"
	"testing"

	"choir/transport/natsbus/embedded"
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
			check(t, row.config.Validate(), row.mention)
			if row.mention != "" {
				_, err := embedded.Start(row.config)
				check(t, err, row.mention)
			}
		})
	}
}

// check checks for no error if want is "", else for one that contains it and no password.
func check(t *testing.T, err error, mention string) {
	t.Helper()
	switch {
	case mention == "" && err != nil:
		t.Errorf("refused: %v", err)
	case mention != "" && err == nil:
		t.Errorf("accepted, want an error that mentions %q", mention)
	case mention != "" && (!strings.Contains(err.Error(), mention) || strings.Contains(err.Error(), "hunter2")):
		t.Errorf("error %v, want one that mentions %q", err, mention)
	}
}
