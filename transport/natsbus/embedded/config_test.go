package embedded_test

import (
	"testing"

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
