package channel

import (
	"bytes"
	"crypto/hpke"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"choir/crypto/blake"

	"pgregory.net/rapid"
)

var suites = []Suite{SuiteHybrid, SuiteX25519}

func testRand(n byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{n}) }

func mustKey(t testing.TB, suite Suite, n byte) *PrivateKey {
	t.Helper()
	key, err := GenerateKey(suite, testRand(n))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestRoundTrip(t *testing.T) {
	for _, suite := range suites {
		t.Run(suite.String(), func(t *testing.T) {
			key := mustKey(t, suite, 1)
			enc, ours, err := Initiate(suite, key.Public(), []byte("plan"))
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := Accept(key, enc, []byte("plan"))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(ours.Bytes(), theirs.Bytes()) {
				t.Error("the two ends have different secrets")
			}
			if len(enc) != suite.EncSize() || len(key.Public()) != suite.publicKeySize() {
				t.Errorf("enc has %d bytes, want %d; public key has %d, want %d",
					len(enc), suite.EncSize(), len(key.Public()), suite.publicKeySize())
			}
			enc2, again, err := Initiate(suite, key.Public(), []byte("plan"))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(enc, enc2) || bytes.Equal(ours.Bytes(), again.Bytes()) {
				t.Error("two channels to one key are the same")
			}
		})
	}
}

// TestFlippedBits flips bits of enc and of info: all of them, except that in the
// ML-KEM ciphertext every seventh has to do, which still touches each byte. A
// bit that changed nothing would be one that an attacker may change unnoticed;
// the top bit of an X25519 share, which the function ignores, is the one to
// watch.
func TestFlippedBits(t *testing.T) {
	info := []byte("the plan's hash, and who talks to whom")
	for _, suite := range suites {
		t.Run(suite.String(), func(t *testing.T) {
			key := mustKey(t, suite, 2)
			enc, secret, err := Initiate(suite, key.Public(), info)
			if err != nil {
				t.Fatal(err)
			}
			differs := func(what string, bit int, enc, info []byte) {
				s, err := Accept(key, enc, info)
				if err == nil && bytes.Equal(s.Bytes(), secret.Bytes()) {
					t.Errorf("bit %d of %s changes nothing", bit, what)
				}
			}
			for bit := range 8 * len(enc) {
				if share := 8 * (len(enc) - 32); bit >= share || bit%7 == 0 {
					differs("enc", bit, flip(enc, bit), info)
				}
			}
			for bit := range 8 * len(info) {
				differs("info", bit, enc, flip(info, bit))
			}
			differs("info (shorter)", 0, enc, info[1:])
			for _, wrong := range [][]byte{nil, enc[1:], append(bytes.Clone(enc), 0)} {
				if _, err := Accept(key, wrong, info); !errors.Is(err, ErrChannel) {
					t.Errorf("enc of %d bytes: %v, want ErrChannel", len(wrong), err)
				}
			}
		})
	}
}

func flip(b []byte, bit int) []byte {
	b = bytes.Clone(b)
	b[bit/8] ^= 1 << (bit % 8)
	return b
}

func TestAcceptWithAnotherKey(t *testing.T) {
	for _, suite := range suites {
		key, other := mustKey(t, suite, 3), mustKey(t, suite, 4)
		enc, secret, err := Initiate(suite, key.Public(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Accept(other, enc, nil)
		if err == nil && bytes.Equal(s.Bytes(), secret.Bytes()) {
			t.Errorf("%v: another key accepts", suite)
		}
	}
}

func TestInitiateRejectsBadKeys(t *testing.T) {
	for _, suite := range suites {
		public := mustKey(t, suite, 5).Public()
		for name, bad := range map[string][]byte{
			"nothing": nil, "short": public[1:], "long": append(bytes.Clone(public), 0),
		} {
			t.Run(name, func(t *testing.T) {
				if _, _, err := Initiate(suite, bad, nil); !errors.Is(err, ErrChannel) {
					t.Errorf("%v: %s key: %v, want ErrChannel", suite, name, err)
				}
			})
		}
	}
	// The all-zero X25519 share has small order, so that the result is public.
	if _, _, err := Initiate(SuiteX25519, make([]byte, 32), nil); !errors.Is(err, ErrChannel) {
		t.Errorf("small-order X25519 key: %v, want ErrChannel", err)
	}
	if _, err := Accept(mustKey(t, SuiteX25519, 5), make([]byte, 32), nil); !errors.Is(err, ErrChannel) {
		t.Errorf("small-order X25519 enc: %v, want ErrChannel", err)
	}
	// An ML-KEM coefficient of 0xfff is not reduced modulo 3329.
	bad := mustKey(t, SuiteHybrid, 5).Public()
	bad[0], bad[1] = 0xff, 0xff
	if _, _, err := Initiate(SuiteHybrid, bad, nil); !errors.Is(err, ErrChannel) {
		t.Errorf("unreduced ML-KEM key: %v, want ErrChannel", err)
	}
}

func TestSuites(t *testing.T) {
	for _, s := range suites {
		if err := s.Validate(); err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
	for _, s := range []Suite{0, 3, 255} {
		_, _, initiate := Initiate(s, nil, nil)
		_, generate := GenerateKey(s, testRand(1))
		_, restore := NewPrivateKey(s, make([]byte, 32))
		for _, err := range []error{initiate, generate, restore, s.Validate()} {
			if !errors.Is(err, ErrSuite) {
				t.Errorf("suite %d: %v, want ErrSuite", uint8(s), err)
			}
		}
		if s.publicKeySize() != 0 || s.EncSize() != 0 {
			t.Errorf("suite %d has sizes", uint8(s))
		}
	}
}

func TestKeyStore(t *testing.T) {
	for _, suite := range suites {
		key := mustKey(t, suite, 6)
		b, err := key.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		restored, err := NewPrivateKey(suite, b)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(restored.Public(), key.Public()) || restored.material().suite != suite {
			t.Errorf("%v: the restored key is another", suite)
		}
		if _, err := NewPrivateKey(suite, b[1:]); err == nil {
			t.Errorf("%v: a short private key is accepted", suite)
		}
		if _, err := GenerateKey(suite, iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v: failing randomness gives %v", suite, err)
		}
		if same := mustKey(t, suite, 6); !bytes.Equal(same.Public(), key.Public()) {
			t.Errorf("%v: the same randomness gives another key", suite)
		}
	}
	for _, n := range []int{0, 31, 33} {
		if _, err := NewSecret(make([]byte, n)); err == nil {
			t.Errorf("a secret of %d bytes is accepted", n)
		}
	}
}

func TestSecretBytesIsACopy(t *testing.T) {
	s, err := NewSecret(bytes.Repeat([]byte{7}, SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	before := s.Derive("x", nil)
	s.Bytes()[0]++
	if s.Derive("x", nil) != before {
		t.Error("writing to Bytes changes the secret")
	}
}

// TestAgainstHPKE recomputes the secret with crypto/hpke, and the derivation from its
// definition.
func TestAgainstHPKE(t *testing.T) {
	key := mustKey(t, SuiteX25519, 7)
	enc, secret, err := Initiate(SuiteX25519, key.Public(), []byte("info"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := hpke.NewRecipient(enc, key.material().key, hpke.HKDFSHA256(), hpke.AES256GCM(), []byte("info"))
	if err != nil {
		t.Fatal(err)
	}
	exported, err := r.Export("choir channel v1", 32)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(exported, secret.Bytes()) {
		t.Error("the secret is not the HPKE export")
	}
	rapid.Check(t, func(t *rapid.T) {
		purpose := rapid.SampledFrom([]string{"choir test a", "choir test b"}).Draw(t, "purpose")
		context := rapid.SliceOf(rapid.Byte()).Draw(t, "context")
		if secret.Derive(purpose, context) != blake.Derive(purpose, slices.Concat(exported, context)) {
			t.Error("Derive is not derive_key of the secret and the context")
		}
	})
}

// TestDeriveSeparates: other purposes, contexts or secrets give other keys, also if the boundary between
// secret and context could be confused.
func TestDeriveSeparates(t *testing.T) {
	seen := map[[32]byte]string{}
	for _, secret := range []byte{1, 2} {
		s, err := NewSecret(bytes.Repeat([]byte{secret}, SecretSize))
		if err != nil {
			t.Fatal(err)
		}
		for _, purpose := range []string{"choir test a", "choir test b", "choir test"} {
			for _, context := range []string{"", "a", "b", "ab", "\x00", "\x01", "\x02"} {
				k, name := s.Derive(purpose, []byte(context)), fmt.Sprintf("%d %q %q", secret, purpose, context)
				if was, ok := seen[k]; ok {
					t.Errorf("%s has the key of %s", name, was)
				}
				seen[k] = name
			}
		}
	}
}

func TestRedaction(t *testing.T) {
	key := mustKey(t, SuiteX25519, 8)
	raw, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := NewSecret(raw)
	if err != nil {
		t.Fatal(err)
	}
	box, err := NewBox([32]byte(raw), []byte("context"))
	if err != nil {
		t.Fatal(err)
	}
	assertRedacted(t, raw, key, *key, secret, *secret, box,
		struct{ key PrivateKey }{*key}, struct{ s Secret }{*secret}, struct{ b *Box }{box})
	for _, v := range []interface{ MarshalText() ([]byte, error) }{key, secret, box} {
		if b, err := v.MarshalText(); !errors.Is(err, ErrSecret) || b != nil {
			t.Errorf("MarshalText gives %q, %v", b, err)
		}
	}
}

// assertRedacted prints each value under many verbs and looks for the secret's
// first bytes in the ways that fmt shows bytes.
func assertRedacted(t *testing.T, raw []byte, values ...any) {
	t.Helper()
	verbs := []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b"}
	printed := 0
	for _, v := range values {
		for _, verb := range verbs {
			got := fmt.Sprintf(verb, v)
			for _, form := range verbs {
				// Five bytes, without the brackets around them.
				leak := strings.Trim(fmt.Sprintf(form, raw[:5]), "[]{}\"` ")
				leak = strings.TrimPrefix(strings.TrimSuffix(leak, "}"), "[]byte{")
				if strings.Contains(got, leak) {
					t.Errorf("%T under %s leaks %q", v, verb, leak)
				}
			}
			printed++
		}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		inHex, inDecimal := fmt.Sprintf("%x", raw[:5]), strings.Trim(fmt.Sprint(raw[:5]), "[]")
		if strings.Contains(log.String(), inHex) || strings.Contains(log.String(), inDecimal) {
			t.Errorf("%T leaks into the log: %s", v, log.String())
		}
	}
	if printed == 0 {
		t.Fatal("nothing was printed")
	}
}

// publicKeySize returns the length of a public key in bytes, 0 if s is unknown.
func (s Suite) publicKeySize() int {
	switch s {
	case SuiteHybrid:
		return 1184 + 32
	case SuiteX25519:
		return 32
	}
	return 0
}
