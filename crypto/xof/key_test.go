package xof

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestNothingPrintsSecrets writes a key and a stream in every way that there is and
// looks for the key's bytes, in hexadecimal and decimal.
func TestNothingPrintsSecrets(t *testing.T) {
	var key Key
	for i := range key {
		key[i] = 0xA0 + byte(i)
	}
	s := mustNew(t, key)
	var out bytes.Buffer
	for _, value := range []any{key, &key, s, struct{ K Key }{key}, []Key{key}, map[string]Key{"k": key}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("text", "value", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "value", value)
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(encoded)
	}
	fmt.Fprintln(&out, key.String(), key.GoString(), key.LogValue(), s.String(), s.GoString(), s.LogValue())
	text := strings.ToLower(out.String())
	if strings.Count(text, "redacted") < 60 {
		t.Errorf("only %d placeholders in %s", strings.Count(text, "redacted"), text)
	}
	for _, secret := range []string{hex.EncodeToString(key[:3]), "160 161", "160,161", "0xa0"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in the output", secret)
		}
	}
	if strings.Contains(text, "cipher") || strings.Contains(text, "aes") {
		t.Error("the cipher's state is in the output")
	}
}
