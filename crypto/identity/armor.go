package identity

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"
)

var (
	// ErrKeyFile reports that a file is not a key file of a known version, or that its
	// argon2id costs are out of bounds.
	ErrKeyFile = errors.New("malformed key file")
	// ErrPassphrase reports that the passphrase does not open the key file, or is
	// empty. An altered salt, cost or check value has the same effect.
	ErrPassphrase = errors.New("wrong passphrase")
	// ErrTampered reports that the passphrase is right but the file was altered.
	ErrTampered = errors.New("the key file was altered")
)

const (
	armorBegin = "-----BEGIN CHOIR PRIVATE KEY-----"
	armorEnd   = "-----END CHOIR PRIVATE KEY-----"

	keyFileVersion = 1
	saltSize       = 16
	checkSize      = 32
)

// keyHeader is the readable part of a key file, one line of JSON.
type keyHeader struct {
	Version   int    `json:"version"`
	Name      string `json:"name"`
	Public    string `json:"public"`
	KDF       string `json:"kdf"`
	Time      uint32 `json:"time"`
	MemoryKiB uint32 `json:"memory_kib"`
	Lanes     uint8  `json:"lanes"`
	Salt      string `json:"salt"`  // 16 bytes, hexadecimal
	Check     string `json:"check"` // 32 bytes, hexadecimal; see sealingKeys
}

// sealedKey is a parsed key file:
//
//	-----BEGIN CHOIR PRIVATE KEY-----
//	{"version":1,"name":...}                      (keyHeader)
//	base64 of AES-256-GCM(seed), 48 bytes
//	-----END CHOIR PRIVATE KEY-----
//
// The first two lines are the associated data. The nonce is zero, since each file has a new salt
// and an encryption key is therefore used once.
type sealedKey struct {
	header     keyHeader
	ciphertext []byte
}

// associated returns the associated data, which is authenticated with the seed.
func (h keyHeader) associated() ([]byte, error) {
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("identity: key file header: %w", err)
	}
	return append([]byte(armorBegin+"\n"), line...), nil
}

func (s sealedKey) marshal() ([]byte, error) {
	b, err := s.header.associated()
	if err != nil {
		return nil, err
	}
	b = append(b, '\n')
	b = base64.StdEncoding.AppendEncode(b, s.ciphertext)
	return append(b, "\n"+armorEnd+"\n"...), nil
}

// parseSealedKey accepts exactly what marshal writes, with costs in bounds.
func parseSealedKey(text []byte) (sealedKey, error) {
	lines := strings.Split(string(text), "\n")
	if len(lines) != 5 || lines[0] != armorBegin || lines[3] != armorEnd || lines[4] != "" {
		return sealedKey{}, fmt.Errorf("%w: not a private key in the armour of Choir", ErrKeyFile)
	}
	var s sealedKey
	if err := json.Unmarshal([]byte(lines[1]), &s.header); err != nil {
		return sealedKey{}, fmt.Errorf("%w: header: %w", ErrKeyFile, err)
	}
	if err := s.header.check(); err != nil {
		return sealedKey{}, fmt.Errorf("%w: %w", ErrKeyFile, err)
	}
	var err error
	if s.ciphertext, err = base64.StdEncoding.Strict().DecodeString(lines[2]); err != nil {
		return sealedKey{}, fmt.Errorf("%w: body: %w", ErrKeyFile, err)
	}
	canonical, err := s.marshal()
	if err != nil || !bytes.Equal(canonical, text) {
		return sealedKey{}, fmt.Errorf("%w: not in canonical form", ErrKeyFile)
	}
	return s, nil
}

func (h keyHeader) check() error {
	if h.Version != keyFileVersion || h.KDF != "argon2id" {
		return fmt.Errorf("version %d with %q is not known", h.Version, h.KDF)
	}
	if err := CheckName(h.Name); err != nil {
		return err
	}
	if _, err := parsePublicKey(h.Public); err != nil {
		return err
	}
	if err := decodeHex(make([]byte, saltSize), h.Salt); err != nil {
		return fmt.Errorf("salt: %w", err)
	}
	if err := decodeHex(make([]byte, checkSize), h.Check); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return h.params().validate()
}

func (h keyHeader) params() Params {
	return Params{Time: h.Time, MemoryKiB: h.MemoryKiB, Lanes: h.Lanes}
}

// sealingKeys derives an encryption key and a check value, 32 bytes each, from the passphrase. The
// check value is in the header. It distinguishes a wrong passphrase from an altered file, and binds
// the file to one passphrase. For guessing passphrases it is as useful as the authentication tag.
func sealingKeys(passphrase []byte, h keyHeader) (cipher.AEAD, []byte, error) {
	salt, err := hex.DecodeString(h.Salt)
	if err != nil {
		return nil, nil, fmt.Errorf("identity: salt: %w", err)
	}
	out := argon2.IDKey(passphrase, salt, h.Time, h.MemoryKiB, h.Lanes, 32+checkSize)
	block, err := aes.NewCipher(out[:32])
	if err != nil {
		return nil, nil, fmt.Errorf("identity: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, nil, fmt.Errorf("identity: %w", err)
	}
	return aead, out[32:], nil
}

// sealKey encrypts a key under a passphrase with a salt from r.
func sealKey(key *PrivateKey, name string, passphrase []byte, p Params, r io.Reader) (sealedKey, error) {
	var salt [saltSize]byte
	if _, err := io.ReadFull(r, salt[:]); err != nil {
		return sealedKey{}, fmt.Errorf("identity: reading randomness: %w", err)
	}
	s := sealedKey{header: keyHeader{
		Version: keyFileVersion, Name: name, Public: key.Public().String(),
		KDF: "argon2id", Time: p.Time, MemoryKiB: p.MemoryKiB, Lanes: p.Lanes,
		Salt: hex.EncodeToString(salt[:]),
	}}
	aead, check, err := sealingKeys(passphrase, s.header)
	if err != nil {
		return sealedKey{}, err
	}
	s.header.Check = hex.EncodeToString(check)
	ad, err := s.header.associated()
	if err != nil {
		return sealedKey{}, err
	}
	s.ciphertext = aead.Seal(nil, make([]byte, aead.NonceSize()), key.material().expanded.Seed(), ad)
	return s, nil
}

// open decrypts the key and checks that it is the one that the header shows.
func (s sealedKey) open(passphrase []byte) (*PrivateKey, error) {
	aead, check, err := sealingKeys(passphrase, s.header)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(check)), []byte(s.header.Check)) != 1 {
		return nil, ErrPassphrase
	}
	ad, err := s.header.associated()
	if err != nil {
		return nil, err
	}
	seed, err := aead.Open(nil, make([]byte, aead.NonceSize()), s.ciphertext, ad)
	if err != nil || len(seed) != seedSize {
		return nil, ErrTampered
	}
	key := FromSeed([seedSize]byte(seed))
	if key.Public().String() != s.header.Public {
		return nil, ErrTampered
	}
	return key, nil
}
