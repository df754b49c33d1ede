package member_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// untilLogged collects a log and ends a context when it has a text.
type untilLogged struct {
	strings.Builder
	text string
	end  context.CancelFunc
}

func (u *untilLogged) Write(b []byte) (int, error) {
	n, err := u.Builder.Write(b)
	if strings.Contains(string(b), u.text) {
		u.end()
	}
	return n, err
}

// TestExpiringCredentials: credentials for the broker that expire before the plan are named before the
// session and at its start, with what to do; others are not.
func TestExpiringCredentials(t *testing.T) {
	s := startServer(t, server.Options{JetStream: true})
	account, user := must(nkeys.CreateAccount()), must(nkeys.CreateUser())
	dir, configOf := site.Deploy(t, time.Now())
	for name, row := range map[string]struct {
		valid time.Duration
		warns bool
	}{"forever": {0, false}, "an hour": {time.Hour, true}, "longer": {1000 * time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			claims := jwt.NewUserClaims(must(user.PublicKey()))
			if row.valid != 0 {
				claims.Expires = time.Now().Add(row.valid).Unix()
			}
			creds := string(must(jwt.FormatUserConfig(must(claims.Encode(account)), must(user.Seed()))))
			c := configOf("party-a")
			c.Bus = member.BusConfig{URL: s.ClientURL(), CredentialsFile: rig.WriteFile(t, dir, "creds", creds)}
			found := false
			for _, check := range member.RunPreflight(t.Context(), c, time.Now()).Checks {
				found = found || check.Name == "credentials" && check.Verdict == member.Warning &&
					strings.Contains(check.Detail, "expires at ") && strings.Contains(check.Remedy, "replace")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			log := &untilLogged{text: "event=connected", end: cancel}
			if row.warns {
				log.text = "event=expiring"
			}
			m := must(member.Open(c, protocol.RoleParty, slog.New(slog.NewTextHandler(log, nil)), time.Now()))
			_ = m.Run(ctx)
			if logged := strings.Contains(log.String(), "event=expiring"); found != row.warns || logged != row.warns {
				t.Errorf("warned: %t, logged: %t, want %t\n%s", found, logged, row.warns, log.String())
			}
		})
	}
}
