package natsbus

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"choir/transport"
	"choir/transport/internal/credential"
)

// maxCredentials bounds a credentials file, in bytes: the token in it has the user's permissions.
const maxCredentials = 64 << 10

// credentials returns the option for a file of NATS user credentials, and until when these are valid
// (zero: for ever). The file has a user's token (JWT) and the seed of its nkey, or such a seed alone.
// nats.go would find out at the first connection that it can't be used, and try again and again.
func (c Config) credentials() (option nats.Option, expire time.Time, err error) {
	data, err := credential.ReadPrivate(c.CredentialsFile, maxCredentials)
	if err != nil {
		return nil, expire, err
	}
	seed := strings.TrimSpace(string(data))
	if strings.HasPrefix(seed, "SU") && !strings.ContainsAny(seed, " \n") {
		if option, err = nats.NkeyOptionFromSeed(c.CredentialsFile); err != nil {
			err = c.unusable("the seed of an nkey is damaged")
		}
		return option, expire, err
	}
	option = nats.UserCredentials(c.CredentialsFile)
	var o nats.Options
	if err := option(&o); err != nil {
		return nil, expire, err
	}
	token, err := o.UserJWT()
	if err != nil {
		return nil, expire, c.unusable("no user's token")
	}
	if _, err := o.SignatureCB(nil); err != nil {
		return nil, expire, c.unusable("no seed, or a damaged one")
	}
	expire, err = expiry(token)
	if err != nil {
		return nil, expire, c.unusable("the user's token is damaged")
	}
	return option, expire, nil
}

func (c Config) unusable(why string) error {
	return fmt.Errorf("%s: %s; want the whole .creds file of a NATS user, or the seed of its nkey (SU...) alone",
		c.CredentialsFile, why)
}

// expiry returns when a NATS token expires, or zero. The broker checks its signatures.
func expiry(token string) (time.Time, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, errors.New("not a token")
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, err
	}
	var claims struct {
		Expires int64 `json:"exp"`
	}
	if err := json.Unmarshal(data, &claims); err != nil || claims.Expires == 0 {
		return time.Time{}, err
	}
	return time.Unix(claims.Expires, 0), nil
}

// CredentialsExpire returns when the credentials of CredentialsFile expire; zero if they don't, or if
// there are none.
func (c Config) CredentialsExpire() time.Time {
	if c.CredentialsFile == "" {
		return time.Time{}
	}
	_, expire, err := c.credentials()
	if err != nil {
		return time.Time{} // Open reports it
	}
	return expire
}

// blame adds to a broker's refusal that the client's credentials have expired, which brokers don't tell.
func (c Config) blame(err error, now time.Time) error {
	if !errors.Is(err, transport.ErrAuth) {
		return err
	}
	if expire := c.CredentialsExpire(); !expire.IsZero() && now.After(expire) {
		return fmt.Errorf("%w: credentials_file: %s expired at %s", err, c.CredentialsFile,
			expire.UTC().Format(time.RFC3339))
	}
	return err
}
