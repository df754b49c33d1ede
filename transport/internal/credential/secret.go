// Package credential reads files that authenticate a client or a broker: secrets and certificate
// roots.
package credential

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
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
// service (package secretfile).
func Read(path string) (Secret, error) {
	data, err := ReadPrivate(path, maxSecret)
	if err != nil {
		return "", err
	}
	line := strings.TrimRight(string(data), "\r\n")
	if line == "" || strings.ContainsAny(line, "\r\n\x00") {
		return "", errors.New(path + ": want one non-empty line")
	}
	return Secret(line), nil
}

// ReadPrivate reads a regular file of at most limit bytes that only its owner can read, or a credential of a
// service. It checks the open file, so that the checks are about the file that is read.
func ReadPrivate(path string, limit int64) (data []byte, err error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() { // to open another kind of file may wait
		return nil, errKind(path, limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, errKind(path, limit)
	}
	if secretfile.Open(path, info) {
		return nil, fmt.Errorf("%s: %w: others may read it; chmod 600 it (mode %v)",
			path, fs.ErrPermission, info.Mode().Perm())
	}
	if data, err = io.ReadAll(io.LimitReader(f, limit+1)); err == nil && int64(len(data)) > limit {
		return nil, errKind(path, limit)
	}
	return data, err
}

func errKind(path string, limit int64) error {
	return fmt.Errorf("%s: not a regular file of at most %d bytes", path, limit)
}

// ReadPair reads a PEM file with a certificate and one with its key. The key's group may read it, as
// where several services of a machine share a certificate, but not everybody.
func ReadPair(cert, key string) (tls.Certificate, error) {
	info, err := os.Stat(key)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		return tls.Certificate{}, fmt.Errorf("%s: %w: everybody may read it; chmod 600 it (mode %v)",
			key, fs.ErrPermission, info.Mode().Perm())
	}
	return tls.LoadX509KeyPair(cert, key)
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
