package natsbus_test

import (
	"strings"
	"testing"
	"time"

	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
	"choir/transport/transporttest"
)

func TestConfigValidate(t *testing.T) {
	base := natsbus.Config{URL: "nats://localhost:4222", Plan: plan}
	server := new(embedded.Server)
	rows := []struct {
		name    string
		change  func(*natsbus.Config)
		mention string // "" when valid
	}{
		{"as it is", func(*natsbus.Config) {}, ""},
		{"in process", func(c *natsbus.Config) { c.URL, c.Server = "", server }, ""},
		{"no broker", func(c *natsbus.Config) { c.URL = "" }, "URL"},
		{"two brokers", func(c *natsbus.Config) { c.Server = server }, "Server"},
		{"scheme", func(c *natsbus.Config) { c.URL = "http://x" }, "http"},
		{"several brokers", func(c *natsbus.Config) { c.URL = "nats://localhost:1, nats://127.0.0.1:2" }, ""},
		{"a list with another scheme", func(c *natsbus.Config) { c.URL = "tls://a,nats://b" }, "schemes"},
		{"a list with a gap", func(c *natsbus.Config) { c.URL = "tls://a," }, "scheme"},
		{"token to the second in the clear", func(c *natsbus.Config) {
			c.URL, c.TokenFile = "nats://localhost:1,nats://10.0.0.1", "t"
		}, "10.0.0.1 without TLS"},
		{"token over ws", func(c *natsbus.Config) { c.URL, c.TokenFile = "ws://10.0.0.1", "t" }, "without TLS"},
		{"token over wss", func(c *natsbus.Config) { c.URL, c.TokenFile = "wss://10.0.0.1", "t" }, ""},
		{"no host", func(c *natsbus.Config) { c.URL = "nats://" }, "host"},
		{"password in URL", func(c *natsbus.Config) {
			c.URL = "nats://u:" + transporttest.Password + "@localhost"
		}, "file"},
		{"broken URL", func(c *natsbus.Config) {
			c.URL = "nats://u:" + transporttest.Password + "@["
		}, "url"},
		{"no plan", func(c *natsbus.Config) { c.Plan = "" }, "Plan"},
		{"odd plan", func(c *natsbus.Config) { c.Plan = "123456789" }, "Plan"},
		{"short plan", func(c *natsbus.Config) { c.Plan = "123456" }, "Plan"},
		{"long plan", func(c *natsbus.Config) { c.Plan = strings.Repeat("0", 130) }, "Plan"},
		{"longest plan", func(c *natsbus.Config) { c.Plan = strings.Repeat("0", 128) }, ""},
		{"upper-case plan", func(c *natsbus.Config) { c.Plan = "00C0FFEE" }, "Plan"},
		{"wildcard plan", func(c *natsbus.Config) { c.Plan = "*.>" }, "Plan"},
		{"name", func(c *natsbus.Config) { c.Name = "a b" }, "name"},
		{"inbox", func(c *natsbus.Config) { c.InboxPrefix = "_INBOX.>" }, "inbox_prefix"},
		{"two identities", func(c *natsbus.Config) { c.TokenFile, c.CredentialsFile = "a", "b" }, "at most one"},
		{"user alone", func(c *natsbus.Config) { c.User = "u" }, "password_file"},
		{"password alone", func(c *natsbus.Config) { c.PasswordFile = "p" }, "user"},
		{"certificate alone", func(c *natsbus.Config) { c.TLSCert = "c" }, "tls_key"},
		{"TLS in process", func(c *natsbus.Config) { c.URL, c.Server, c.TLSCA = "", server, "ca" }, "TLS"},
		{"token over loopback", func(c *natsbus.Config) { c.TokenFile = "t" }, ""},
		{"token over loopback IP", func(c *natsbus.Config) { c.URL, c.TokenFile = "nats://[::1]:4222", "t" }, ""},
		{"token in the clear", func(c *natsbus.Config) {
			c.URL, c.TokenFile = "nats://10.0.0.1", "t"
		}, "without TLS"},
		{"password in the clear", func(c *natsbus.Config) {
			c.URL, c.User, c.PasswordFile = "nats://x", "u", "t"
		}, "without TLS"},
		{"token over tls://", func(c *natsbus.Config) { c.URL, c.TokenFile = "tls://10.0.0.1", "t" }, ""},
		{"token with TLSCA", func(c *natsbus.Config) {
			c.URL, c.TokenFile, c.TLSCA = "nats://10.0.0.1", "t", "ca"
		}, ""},
		{"credentials are signed", func(c *natsbus.Config) {
			c.URL, c.CredentialsFile = "nats://10.0.0.1", "t"
		}, ""},
		{"storage", func(c *natsbus.Config) { c.Storage = 2 }, "storage"},
		{"replicas", func(c *natsbus.Config) { c.Replicas = 6 }, "replicas"},
		{"bytes", func(c *natsbus.Config) { c.MaxBytes = -1 }, "max_bytes"},
		{"age", func(c *natsbus.Config) { c.MaxAge = time.Second }, "max_age"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			c := base
			row.change(&c)
			transporttest.CheckMention(t, c.Validate(), row.mention)
			if row.mention != "" {
				_, err := natsbus.Open(newContext(t), c)
				transporttest.CheckMention(t, err, row.mention)
			}
		})
	}
}
