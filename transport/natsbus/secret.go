package natsbus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
)

// maxSecret bounds a token or password file, in bytes.
const maxSecret = 4096

// secret is a token or password. Everything that prints it prints a placeholder.
type secret string

const redacted = "[redacted]"

func (secret) String() string               { return redacted }
func (secret) GoString() string             { return redacted }
func (secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// tokenBytes is the entropy of a generated token.
const tokenBytes = 32

// NewTokenFile writes a fresh random token, in hexadecimal, to a new file with mode 0600,
// for ServerConfig.TokenFile and Config.TokenFile (or a password file). An existing file is left as it is: the error
// is then fs.ErrExist.
func NewTokenFile(path string, random io.Reader) error {
	var token [tokenBytes]byte
	if _, err := io.ReadFull(random, token[:]); err != nil {
		return fmt.Errorf("natsbus: token: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("natsbus: token: %w", err)
	}
	_, err = fmt.Fprintf(f, "%x\n", token)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("natsbus: token: %w", err)
	}
	return nil
}

// readSecret reads a one-line secret from a regular file that nobody but its owner can read.
func readSecret(path string) (secret, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecret {
		return "", fmt.Errorf("%s: not a regular file of at most %d bytes", path, maxSecret)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s: %w: others may read it (mode %v, want 0600)", path, fs.ErrPermission, info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line := strings.TrimRight(string(data), "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n\x00") {
		return "", errors.New(path + ": want one non-empty line")
	}
	return secret(line), nil
}
