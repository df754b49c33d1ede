package natsbus

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// tokenBytes is the entropy of a generated token.
const tokenBytes = 32

// NewTokenFile writes a random token, in hexadecimal, to a new file with mode 0600, for
// Config.TokenFile here and in package embedded, or as a password file. It returns fs.ErrExist if
// the file exists, and leaves it unchanged.
func NewTokenFile(path string, random io.Reader) error {
	var token [tokenBytes]byte
	if _, err := io.ReadFull(random, token[:]); err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	_, err = fmt.Fprintf(f, "%x\n", token)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	return nil
}
