package member

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"choir/crypto/identity"
	"choir/internal/atomicfile"
	"choir/protocol"
)

// NewIdentity writes a member's new key and card: DIR/<name>.key, encrypted under
// the passphrase, and DIR/<name>.card, which is public. Nothing is overwritten.
func NewIdentity(dir, name, passphraseFile string, costs identity.Params, now time.Time,
	validFor time.Duration) (keyPath, cardPath string, card identity.Card, err error) {
	fail := func(err error) (string, string, identity.Card, error) { return "", "", identity.Card{}, err }
	if err := identity.CheckName(name); err != nil {
		return fail(protocol.Fail(protocol.ClassInput, "name: %w", err))
	}
	if validFor < time.Minute {
		return fail(protocol.Fail(protocol.ClassInput, "valid-for: %s is less than a minute", validFor))
	}
	passphrase, err := identity.ReadPassphraseFile(passphraseFile)
	if err != nil {
		return fail(err)
	}
	key, err := identity.Generate(rand.Reader)
	if err != nil {
		return fail(err)
	}
	if card, err = identity.NewCard(key, name, now.Unix(), now.Add(validFor).Unix()); err != nil {
		return fail(err)
	}
	text, err := card.MarshalText()
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(protocol.Fail(protocol.ClassInput, "out: %w", err))
	}
	keyPath = filepath.Join(dir, name+".key")
	cardPath = filepath.Join(dir, name+".card")
	if _, err := os.Stat(cardPath); !errors.Is(err, fs.ErrNotExist) {
		return fail(protocol.Fail(protocol.ClassInput, "out: %s exists already; name another folder, or "+
			"go on with this key", cardPath))
	}
	c := identity.KeyFileConfig{Params: costs, Rand: rand.Reader}
	if err := identity.WriteKeyFile(keyPath, key, name, passphrase, c); err != nil {
		return fail(fmt.Errorf("key file: %w", err))
	}
	return keyPath, cardPath, card, atomicfile.WriteFile(cardPath, text)
}
