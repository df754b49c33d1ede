package natsbus_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"choir/transport"
	"choir/transport/natsbus"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// operated is a broker whose operator signs accounts, which sign users.
type operated struct {
	t                 *testing.T
	server            *server.Server
	operator, account nkeys.KeyPair
	claims            *jwt.AccountClaims
}

func startOperated(t *testing.T) *operated {
	o := &operated{t: t, operator: must(nkeys.CreateOperator()), account: must(nkeys.CreateAccount())}
	o.claims = jwt.NewAccountClaims(must(o.account.PublicKey()))
	limits := &o.claims.Limits
	limits.DiskStorage, limits.MemoryStorage, limits.Streams, limits.Consumer = -1, -1, -1, -1
	system := jwt.NewAccountClaims(must(must(nkeys.CreateAccount()).PublicKey()))
	resolver := &server.MemAccResolver{}
	for _, claims := range []*jwt.AccountClaims{o.claims, system} {
		if err := resolver.Store(claims.Subject, must(claims.Encode(o.operator))); err != nil {
			t.Fatal(err)
		}
	}
	o.server = ordinary(t, server.Options{
		TrustedOperators: []*jwt.OperatorClaims{jwt.NewOperatorClaims(must(o.operator.PublicKey()))},
		SystemAccount:    system.Subject, AccountResolver: resolver,
	})
	return o
}

// flip returns another letter.
func flip(letter byte) string {
	if letter == 'A' {
		return "B"
	}
	return "A"
}

// user makes a user's .creds file; it does not expire if the time is zero.
func (o *operated) user(expires time.Time) (file, subject string) {
	keys := must(nkeys.CreateUser())
	claims := jwt.NewUserClaims(must(keys.PublicKey()))
	if !expires.IsZero() {
		claims.Expires = expires.Unix()
	}
	creds := must(jwt.FormatUserConfig(must(claims.Encode(o.account)), must(keys.Seed())))
	return write(o.t, "user.creds", string(creds)), claims.Subject
}

// revoke takes a user's access away.
func (o *operated) revoke(subject string) {
	o.claims.Revoke(subject)
	claims := must(jwt.DecodeAccountClaims(must(o.claims.Encode(o.operator))))
	o.server.UpdateAccountClaims(must(o.server.LookupAccount(o.claims.Subject)), claims)
}

// TestCredentials checks users whose tokens an operator's account signs: members that have one publish
// and read; one that has expired, also in the middle, is told so.
func TestCredentials(t *testing.T) {
	o := startOperated(t)
	url := o.server.ClientURL()
	file, user := o.user(time.Time{})
	config := natsbus.Config{URL: url, CredentialsFile: file, Plan: plan}
	if expire := config.CredentialsExpire(); !expire.IsZero() {
		t.Errorf("expires at %v, want never", expire)
	}
	b := openBus(t, config)
	if err := b.Publish(newContext(t), chunkOf(0)); err != nil {
		t.Fatal(err)
	}
	s := must(b.Subscribe(newContext(t), []string{">"}, 1))
	o.revoke(user)
	_, err := s.Next(newContext(t))
	wantAuth(t, err, "")
	_, err = natsbus.Open(newContext(t), config)
	wantAuth(t, err, "")

	past, _ := o.user(time.Now().Add(-time.Hour))
	_, err = natsbus.Open(newContext(t), natsbus.Config{URL: url, CredentialsFile: past, Plan: plan})
	wantAuth(t, err, past+" expired at ")

	end := time.Now().Add(2 * time.Second).Truncate(time.Second)
	soon, _ := o.user(end)
	config.CredentialsFile = soon
	if expire := config.CredentialsExpire(); !expire.Equal(end) {
		t.Errorf("expires at %v, want %v", expire, end)
	}
	s = must(openBus(t, config).Subscribe(newContext(t), []string{subject + ".none"}, 0))
	_, err = s.Next(newContext(t))
	wantAuth(t, err, soon+" expired at ")
}

// TestCredentialsReplaced checks that another .creds file counts from the next connection on.
func TestCredentialsReplaced(t *testing.T) {
	o := startOperated(t)
	file, user := o.user(time.Time{})
	b := openBus(t, natsbus.Config{URL: o.server.ClientURL(), CredentialsFile: file})
	other, _ := o.user(time.Time{})
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	o.revoke(user)
	if err := b.Publish(newContext(t), chunkOf(0)); err != nil {
		t.Fatal(err)
	}
}

// TestNkey checks a client that proves its key by a seed alone.
func TestNkey(t *testing.T) {
	keys, other := must(nkeys.CreateUser()), must(nkeys.CreateUser())
	s := ordinary(t, server.Options{Nkeys: []*server.NkeyUser{{Nkey: must(keys.PublicKey())}}})
	seed := string(must(keys.Seed()))
	b := openBus(t, natsbus.Config{URL: s.ClientURL(), CredentialsFile: write(t, "nk", seed+"\n")})
	if err := b.Publish(newContext(t), chunkOf(0)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []natsbus.Config{
		{CredentialsFile: write(t, "nk", string(must(other.Seed())))}, {TokenFile: write(t, "token", "s3cret")},
	} {
		c.URL, c.Plan = s.ClientURL(), plan
		_, err := natsbus.Open(newContext(t), c)
		wantAuth(t, err, "")
	}
}

// TestUnusableCredentials checks that a file of credentials that can't be right is refused before any
// connection is tried, without a word of what is in it.
func TestUnusableCredentials(t *testing.T) {
	o := &operated{t: t, account: must(nkeys.CreateAccount())}
	file, _ := o.user(time.Time{})
	whole := string(must(os.ReadFile(file)))
	seed := whole[strings.Index(whole, "\nSU")+1:][:58]
	open := write(t, "open", whole)
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	token := strings.Index(whole, ".") // between the token's first two parts
	for name, row := range map[string]struct{ file, mention string }{
		"missing":      {filepath.Join(t.TempDir(), "none"), "no such file"},
		"folder":       {t.TempDir(), "not a regular file"},
		"open":         {open, "chmod 600"},
		"empty":        {write(t, "c", ""), "whole .creds file"},
		"other text":   {write(t, "c", "s3cret\n"), "whole .creds file"},
		"cut":          {write(t, "c", whole[:len(whole)/2]), "no seed"},
		"damaged":      {write(t, "c", whole[:token+5]+whole[token+6:]), "token is damaged"},
		"no token":     {write(t, "c", whole[strings.Index(whole, "************"):]), "token is damaged"},
		"damaged seed": {write(t, "c", seed[:20]+flip(seed[20])+seed[21:]), "seed of an nkey is damaged"},
		"huge":         {write(t, "c", whole+strings.Repeat(" ", 1<<17)), "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := natsbus.Open(newContext(t), natsbus.Config{
				URL: "nats://127.0.0.1:1", Plan: plan, CredentialsFile: row.file,
			})
			if err == nil || !strings.Contains(err.Error(), "credentials_file: ") ||
				!strings.Contains(err.Error(), row.mention) || errors.Is(err, transport.ErrAuth) {
				t.Fatalf("error %v, want %q", err, row.mention)
			}
			if name == "missing" != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("error %v", err)
			}
			for line := range strings.Lines(whole) {
				line = strings.TrimSpace(line)
				if len(line) > 8 && line[0] != '-' && strings.Contains(err.Error(), line[:8]) {
					t.Errorf("the error tells the file: %v", err)
				}
			}
		})
	}
}
