// Package credential reads files that authenticate a client or a broker: secrets and certificate
// roots.
package credential

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"choir/internal/secretfile"
)

// maxSecret bounds a token or password file, in bytes.
const maxSecret = 4096

// Secret is a token or password. Everything that prints it prints a placeholder.
type Secret string

const redacted = "[redacted]"

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, redacted) }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Read reads a one-line secret from a regular file that only its owner can read, or from a credential of a
// service (package secretfile). It checks the open file, so that the checks are about the file that is read.
func Read(path string) (secret Secret, err error) {
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() { // to open another kind of file may wait
		return "", errKind(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecret {
		return "", errKind(path)
	}
	if secretfile.Open(path, info) {
		return "", fmt.Errorf("%s: %w: others may read it; chmod 600 it (mode %v)",
			path, fs.ErrPermission, info.Mode().Perm())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxSecret {
		return "", errKind(path)
	}
	line := strings.TrimRight(string(data), "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n\x00") {
		return "", errors.New(path + ": want one non-empty line")
	}
	return Secret(line), nil
}

func errKind(path string) error {
	return fmt.Errorf("%s: not a regular file of at most %d bytes", path, maxSecret)
}

// ReadRoots reads a PEM file of root certificates.
func ReadRoots(path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate", path)
	}
	return roots, nil
}
