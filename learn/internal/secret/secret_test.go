package secret_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"choir/learn/internal/secret"
)

type records struct {
	secret.Hidden
	Rows []int
}

// TestNothingPrints: neither the value nor a pointer to it, alone or within another.
func TestNothingPrints(t *testing.T) {
	r := records{Rows: []int{424242}}
	for _, v := range []any{r, &r, []records{r}, map[string]*records{"a": &r}, struct{ R records }{r}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v)
		for _, text := range []string{fmt.Sprint(v), fmt.Sprintf("%v", v), fmt.Sprintf("%+v", v),
			fmt.Sprintf("%#v", v), fmt.Sprintf("%d", v), fmt.Sprintf("%x", v), string(b), log.String()} {
			if strings.Contains(text, "424242") || strings.Contains(text, "67932") {
				t.Errorf("%T prints %q", v, text)
			}
		}
		if text := fmt.Sprint(r); text != "[redacted]" {
			t.Errorf("it prints %q", text)
		}
	}
}
