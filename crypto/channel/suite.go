package channel

import (
	"crypto/ecdh"
	"crypto/hpke"
	"errors"
	"fmt"
)

// ErrSuite reports that the number of a suite is unknown.
var ErrSuite = errors.New("channel: unknown suite")

// Suite is a choice of algorithms, which is part of the plan. The zero value is not a suite.
type Suite uint8

const (
	// SuiteHybrid is HPKE with ML-KEM-768 and X25519 (X-Wing, KEM 0x647a of
	// draft-ietf-hpke-pq), HKDF-SHA256 and AES-256-GCM. It is the default.
	SuiteHybrid Suite = 1
	// SuiteX25519 is HPKE with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and
	// AES-256-GCM (RFC 9180, section 7). It is not secure against quantum
	// computers, which could decrypt messages that are recorded today.
	SuiteX25519 Suite = 2
)

// String returns the name of the suite.
func (s Suite) String() string {
	switch s {
	case SuiteHybrid:
		return "mlkem768x25519-hkdfsha256-aes256gcm"
	case SuiteX25519:
		return "x25519-hkdfsha256-aes256gcm"
	}
	return fmt.Sprintf("unknown suite %d", uint8(s))
}

// Validate returns ErrSuite unless s is one of the constants.
func (s Suite) Validate() error {
	_, err := s.kem()
	return err
}

// EncSize returns the length in bytes of the enc that Initiate returns, 0 if s
// is unknown.
func (s Suite) EncSize() int {
	switch s {
	case SuiteHybrid:
		return 1088 + 32
	case SuiteX25519:
		return 32
	}
	return 0
}

func (s Suite) kem() (hpke.KEM, error) {
	switch s {
	case SuiteHybrid:
		return hpke.MLKEM768X25519(), nil
	case SuiteX25519:
		return hpke.DHKEM(ecdh.X25519()), nil
	}
	return nil, fmt.Errorf("%w: %d", ErrSuite, uint8(s))
}
