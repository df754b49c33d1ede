package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestGenerate(t *testing.T) {
	a, err := Generate(testRand(1))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Generate(testRand(1))
	if err != nil || a.Public() != b.Public() {
		t.Errorf("the same randomness gives another key (%v)", err)
	}
	c, err := Generate(testRand(2))
	if err != nil || a.Public() == c.Public() {
		t.Errorf("other randomness gives the same key (%v)", err)
	}
	for _, r := range []io.Reader{iotest.ErrReader(io.ErrClosedPipe), bytes.NewReader(make([]byte, 31))} {
		if k, err := Generate(r); err == nil || k != nil {
			t.Errorf("short randomness gives %v, %v", k, err)
		}
	}
}

func TestPublicKeyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := FromSeed([32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"))).Public()
		parsed, err := parsePublicKey(k.String())
		if err != nil || parsed != k {
			t.Fatalf("%v parsed as %v, %v", k, parsed, err)
		}
		b, err := json.Marshal(map[PublicKey]PublicKey{k: k})
		if err != nil {
			t.Fatal(err)
		}
		var m map[PublicKey]PublicKey
		if err := json.Unmarshal(b, &m); err != nil || m[k] != k {
			t.Fatalf("%s: %v", b, err)
		}
	})
}

func TestBadPublicKeys(t *testing.T) {
	good := testKey(1).Public()
	text := good.String()
	bad := map[string]string{
		"empty": "", "short": text[1:], "long": text + "0", "upper case": strings.ToUpper(text),
		"not hexadecimal": "g" + text[1:], "newline": text + "\n", "no point": "02" + strings.Repeat("00", 31),
	}
	for i, p := range torsion(t) {
		bad[fmt.Sprint("small order ", i)] = fmt.Sprintf("%x", p.Bytes())
	}
	for i, e := range nonCanonical() {
		bad[fmt.Sprint("not canonical ", i)] = fmt.Sprintf("%x", e)
	}
	if len(bad) < 7+8+40 {
		t.Errorf("only %d bad keys", len(bad))
	}
	for name, s := range bad {
		t.Run(name, func(t *testing.T) {
			k := good
			if err := k.UnmarshalText([]byte(s)); !errors.Is(err, ErrPublicKey) || k != good {
				t.Errorf("%v, want ErrPublicKey; receiver %v", err, k)
			}
		})
	}
	for _, n := range []int{0, 31, 33} {
		if _, err := newPublicKey(make([]byte, n)); !errors.Is(err, ErrPublicKey) {
			t.Errorf("%d bytes: %v, want ErrPublicKey", n, err)
		}
	}
}

func TestSignatureText(t *testing.T) {
	sig := testKey(1).Sign([]byte("x"))
	text, err := sig.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var parsed Signature
	if err := parsed.UnmarshalText(text); err != nil || parsed != sig {
		t.Errorf("%s parsed as %v, %v", text, parsed, err)
	}
	for _, bad := range []string{"", string(text[1:]), string(text) + "0", strings.ToUpper(string(text)),
		"zz" + string(text[2:])} {
		if err := parsed.UnmarshalText([]byte(bad)); err == nil || parsed != sig {
			t.Errorf("%q: %v; receiver %v", bad, err, parsed)
		}
	}
}

func TestFingerprint(t *testing.T) {
	seen := map[string]bool{}
	for n := range 50 {
		f := testKey(byte(n)).Public().Fingerprint()
		if len(f) != 32 || strings.Trim(f, "abcdefghijklmnopqrstuvwxyz234567-") != "" {
			t.Errorf("fingerprint %q", f)
		}
		seen[f] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d fingerprints of 50 keys", len(seen))
	}
}

// TestRedaction prints a key, alone and inside other values, in every way that
// comes to mind, and looks for its first bytes in the ways that fmt shows them.
func TestRedaction(t *testing.T) {
	seed := [32]byte{201, 202, 203, 204, 205, 206}
	key := FromSeed(seed)
	values := []any{
		key, *key, &key, []*PrivateKey{key}, map[string]PrivateKey{"k": *key},
		struct{ K PrivateKey }{*key}, struct{ k PrivateKey }{*key}, struct{ k *PrivateKey }{key},
		&struct{ k PrivateKey }{*key}, struct{ k any }{key},
	}
	verbs := []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%U", "%t", "%p"}
	var out strings.Builder
	for _, v := range values {
		for _, verb := range verbs {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
	}
	printed := out.String()
	if !strings.Contains(printed, redacted) || len(printed) < 1000 {
		t.Fatalf("the output is too short to say anything: %q", printed)
	}
	for _, leak := range []string{
		"201 202 203", "c9cacb", "C9CACB", "0xc9, 0xca", "311 312 313", "11001001 11001010",
		string(seed[:4]), "U+00C9 U+00CA", "ycrLzM3O", // base64 of the first six bytes
	} {
		if strings.Contains(printed, leak) {
			t.Errorf("the output contains %q", leak)
		}
	}
	if b, err := json.Marshal(key); !errors.Is(err, ErrSecret) {
		t.Errorf("JSON gives %q, %v, want ErrSecret", b, err)
	}
}
