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
	"runtime"
	"strings"
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

// Read reads a one-line secret from a regular file that only its owner can read.
func Read(path string) (Secret, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSecret {
		return "", fmt.Errorf("%s: not a regular file of at most %d bytes", path, maxSecret)
	}
	// On Windows the mode does not show who may read a file.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s: %w: others may read it; chmod 600 it (mode %v)",
			path, fs.ErrPermission, info.Mode().Perm())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line := strings.TrimRight(string(data), "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n\x00") {
		return "", errors.New(path + ": want one non-empty line")
	}
	return Secret(line), nil
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
