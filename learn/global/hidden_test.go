package global

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestNothingPrints(t *testing.T) {
	l := &Learner{}
	p := Proposal{Update: []int64{424242}}
	for _, v := range []any{l, p, &p} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{fmt.Sprint(v), fmt.Sprintf("%#v %+v %d", v, v, v), string(b)} {
			if !strings.Contains(text, "[redacted]") || strings.Contains(text, "424242") {
				t.Errorf("%T prints %q", v, text)
			}
		}
	}
	if l.LogValue().String() != "[redacted]" || p.LogValue().String() != "[redacted]" {
		t.Error("a log line would show it")
	}
}
