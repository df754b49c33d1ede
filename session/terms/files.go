package terms

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"time"

	"choir/crypto/identity"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/app"
)

// ReadKey opens a member's key file.
func ReadKey(keyFile, passphraseFile string) (*identity.PrivateKey, error) {
	passphrase, err := identity.ReadPassphraseFile(passphraseFile)
	if err != nil {
		return nil, FileError("passphrase", passphraseFile, err)
	}
	key, _, err := identity.ReadKeyFile(keyFile, passphrase)
	if err != nil {
		return nil, FileError("key", keyFile, err)
	}
	return key, nil
}

// ReadCard reads a card and checks its signature and its time.
func ReadCard(path string, now time.Time) (identity.Card, error) {
	var c identity.Card
	text, err := os.ReadFile(path)
	if err != nil {
		return c, FileError("card", path, err)
	}
	if err := c.UnmarshalText(text); err != nil {
		return c, FileError("card", path, err)
	}
	if err := c.Verify(now.Unix()); err != nil {
		return c, FileError("card", path, err)
	}
	return c, nil
}

// FileError names the file and classes the error: what was altered or has expired
// is a failure of integrity, any other error about these files is bad input.
func FileError(what, path string, err error) error {
	class := protocol.ClassInput
	for _, e := range []error{identity.ErrTampered, identity.ErrExpired, identity.ErrNotYetValid,
		identity.ErrBadSignature} {
		if errors.Is(err, e) {
			class = protocol.ClassIntegrity
		}
	}
	if strings.Contains(err.Error(), path) {
		return protocol.Fail(class, "%s: %w", what, err)
	}
	return protocol.Fail(class, "%s %s: %w", what, path, err)
}

// ReadPlan reads a plan file. A malformed or invalid plan and wrong signatures are
// failures of integrity. Missing signatures are found by SignedPlan.Complete, a
// wrong privacy claim by CheckPlan.
func ReadPlan(path string) (*protocol.SignedPlan, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "plan file: %w", err)
	}
	sp, err := protocol.UnmarshalSignedPlan(text)
	if err != nil { // an invalid plan is never signed: the file was altered
		remedy := "take the file again from who gave it out, byte for byte"
		if !bytes.Contains(text, []byte("-----BEGIN CHOIR PLAN-----")) {
			remedy = "this is no plan; choir plan new --config FILE --out PLAN makes one from terms"
		}
		return nil, protocol.Fail(protocol.ClassIntegrity, "%s: %w: %s", path, err, remedy)
	}
	return sp, nil
}

// CheckPlan checks a plan's privacy claim, grid and parameters.
func CheckPlan(p *protocol.Plan) error {
	if err := p.CheckPrivacy(); err != nil {
		return err
	}
	if err := CheckGrid(p); err != nil {
		return err
	}
	if p.Application == app.NameSum {
		return app.CheckSum(p)
	}
	_, err := app.Of(p)
	return err
}

// SchemaOfPlan returns the schema of a plan file's learning, and the plan.
func SchemaOfPlan(path string) (*dataset.Schema, *protocol.Plan, error) {
	sp, err := ReadPlan(path)
	if err != nil {
		return nil, nil, err
	}
	a, err := app.Of(sp.Plan)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.Encoding()
	return s, sp.Plan, err
}

// ReadSchema reads a schema, as TOML or JSON.
func ReadSchema(path string) (*dataset.Schema, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "schema: %w", err)
	}
	defer f.Close() // it was only read
	s, err := dataset.ReadSchema(f)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "schema: %s: %w", path, err)
	}
	return s, nil
}
