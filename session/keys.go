package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"choir/crypto/identity"
	"choir/internal/atomicfile"
	"choir/protocol"
)

// NewIdentity makes a member's key and card: DIR/<name>.key, encrypted under
// the passphrase, and DIR/<name>.card, which is public. Nothing is overwritten.
func NewIdentity(dir, name, passphraseFile string, costs identity.Params, now time.Time, validFor time.Duration) (keyPath, cardPath string, card identity.Card, err error) {
	fail := func(err error) (string, string, identity.Card, error) { return "", "", identity.Card{}, err }
	if err := identity.CheckName(name); err != nil {
		return fail(protocol.Fail(protocol.ClassInput, "name: %w", err))
	}
	if validFor < time.Minute {
		return fail(protocol.Fail(protocol.ClassInput, "valid-for: %s is less than a minute", validFor))
	}
	passphrase, err := identity.ReadPassphraseFile(passphraseFile)
	if err != nil {
		return fail(fmt.Errorf("passphrase file: %w", err))
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
	keyPath, cardPath = filepath.Join(dir, name+".key"), filepath.Join(dir, name+".card")
	if _, err := os.Stat(cardPath); !errors.Is(err, fs.ErrNotExist) {
		return fail(protocol.Fail(protocol.ClassInput, "out: %s exists already", cardPath))
	}
	if err := identity.WriteKeyFile(keyPath, key, name, passphrase, identity.KeyFileConfig{Params: costs, Rand: rand.Reader}); err != nil {
		return fail(fmt.Errorf("key file: %w", err))
	}
	return keyPath, cardPath, card, atomicfile.WriteFile(cardPath, text)
}

// ReadKey opens a member's key file.
func ReadKey(keyFile, passphraseFile string) (*identity.PrivateKey, error) {
	passphrase, err := identity.ReadPassphraseFile(passphraseFile)
	if err != nil {
		return nil, inFile("passphrase", passphraseFile, err)
	}
	key, _, err := identity.ReadKeyFile(keyFile, passphrase)
	if err != nil {
		return nil, inFile("key", keyFile, err)
	}
	return key, nil
}

// ReadCard reads a card and checks its signature and its time.
func ReadCard(path string, now time.Time) (identity.Card, error) {
	var c identity.Card
	text, err := os.ReadFile(path)
	if err != nil {
		return c, inFile("card", path, err)
	}
	if err := c.UnmarshalText(text); err != nil {
		return c, inFile("card", path, err)
	}
	if err := c.Verify(now.Unix()); err != nil {
		return c, inFile("card", path, err)
	}
	return c, nil
}

// inFile names the file and classes the error: what was altered or has expired
// is a failure of integrity, everything else about these files bad input.
func inFile(what, path string, err error) error {
	class := protocol.ClassInput
	for _, e := range []error{identity.ErrTampered, identity.ErrExpired, identity.ErrNotYetValid, identity.ErrBadSignature} {
		if errors.Is(err, e) {
			class = protocol.ClassIntegrity
		}
	}
	if strings.Contains(err.Error(), path) {
		return protocol.Fail(class, "%s: %w", what, err)
	}
	return protocol.Fail(class, "%s %s: %w", what, path, err)
}

// ReadPlan reads a plan file. What is malformed or invalid, and signatures that
// don't verify, are failures of integrity; missing signatures are for
// SignedPlan.Complete to notice, the privacy claim for CheckPlan.
func ReadPlan(path string) (*protocol.SignedPlan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan file: %w", err)
	}
	sp, err := protocol.UnmarshalSignedPlan(text)
	if err != nil { // nobody signs an invalid plan, so a file that holds one was altered
		return nil, protocol.Fail(protocol.ClassIntegrity, "%s: %w", path, err)
	}
	return sp, nil
}

// CheckPlan refuses a plan whose claim or parameters don't hold.
func CheckPlan(p *protocol.Plan) error {
	if err := p.CheckPrivacy(); err != nil {
		return err
	}
	if err := CheckGrid(p); err != nil {
		return err
	}
	if p.Application == AppSum {
		return checkSumClaim(p)
	}
	_, err := AppOf(p)
	return err
}
