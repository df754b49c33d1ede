package identity

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"choir/internal/secretfile"
)

// ErrPermissions reports that other users than its owner can read or write a secret file that is no
// credential of a service (package secretfile). It is never returned on Windows, where the file mode does not
// show this.
var ErrPermissions = errors.New("the file is open to others than its owner; chmod 600 it")

// The largest sizes of a key file and of a passphrase file, in bytes.
const (
	maxKeyFile    = 4096
	maxPassphrase = 4096
)

// KeyFileConfig configures the encryption of WriteKeyFile.
type KeyFileConfig struct {
	Params Params    // argon2id costs; zero means DefaultParams
	Rand   io.Reader // source of the salt; crypto/rand.Reader except in tests
}

// validate returns an error if Rand is nil or the costs are out of bounds.
func (c KeyFileConfig) validate() error {
	if c.Rand == nil {
		return errors.New("identity: KeyFileConfig.Rand is missing")
	}
	return c.Params.orDefault().validate()
}

// WriteKeyFile encrypts key under passphrase (argon2id, AES-256-GCM) and writes
// it with its name to path, mode 0600. It never overwrites a file: if path exists, the error is
// fs.ErrExist. It returns ErrPassphrase for an empty passphrase.
func WriteKeyFile(path string, key *PrivateKey, name string, passphrase []byte, cfg KeyFileConfig) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	if err := CheckName(name); err != nil {
		return err
	}
	if len(passphrase) == 0 {
		return fmt.Errorf("%w: it is empty", ErrPassphrase)
	}
	sealed, err := sealKey(key, name, passphrase, cfg.Params.orDefault(), cfg.Rand)
	if err != nil {
		return err
	}
	text, err := sealed.marshal()
	if err != nil {
		return err
	}
	return createSecret(path, text)
}

// createSecret creates a file of mode 0600 and syncs it to disk. It removes a file that it could not
// complete.
func createSecret(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("identity: creating key file: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("identity: writing key file: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// syncDir makes a new directory entry durable, where the operating system supports it.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ReadKeyFile reads a key and its name from a file that WriteKeyFile wrote. It
// returns ErrPermissions, ErrKeyFile, ErrPassphrase, ErrTampered, or the
// error from opening the file. The name is authenticated.
func ReadKeyFile(path string, passphrase []byte) (*PrivateKey, string, error) {
	text, err := readSecret(path, maxKeyFile)
	if err != nil {
		return nil, "", fmt.Errorf("key file %s: %w", path, err)
	}
	sealed, err := parseSealedKey(text)
	if err != nil {
		return nil, "", fmt.Errorf("key file %s: %w", path, err)
	}
	key, err := sealed.open(passphrase)
	if err != nil {
		return nil, "", fmt.Errorf("key file %s: %w", path, err)
	}
	return key, sealed.header.Name, nil
}

// ReadPassphraseFile reads a passphrase from a file that only its owner can read, or from a credential of a
// service (package secretfile), and removes one trailing newline (LF or CR LF). It returns ErrPermissions, or
// ErrPassphrase if the passphrase is empty.
func ReadPassphraseFile(path string) ([]byte, error) {
	text, err := readSecret(path, maxPassphrase)
	if err != nil {
		return nil, fmt.Errorf("passphrase file %s: %w", path, err)
	}
	if t, ok := bytes.CutSuffix(text, []byte("\n")); ok {
		text, _ = bytes.CutSuffix(t, []byte("\r"))
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("passphrase file %s: %w: it is empty", path, ErrPassphrase)
	}
	return text, nil
}

// readSecret reads a file of at most limit bytes that only its owner can access, or a credential. It checks
// the mode of the open file, so that the check applies to the file that is read.
func readSecret(path string, limit int64) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if secretfile.Open(path, info) {
		return nil, fmt.Errorf("%w (mode %04o)", ErrPermissions, info.Mode().Perm())
	}
	text, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("the file is larger than %d bytes", limit)
	}
	return text, nil
}
