package strictjson

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, "b": {"a": []}, "c": [{"a": 1}, {"a": 2}], "d": {}}`: "",
		`[1, "", null]`:                     "",
		`{"a": 1, "a": 1}`:                  "twice",
		`{"mean": 1, "MEAN": 1}`:            "twice",
		`{"s": 1, "ſ": 1}`:                  "twice",
		`{"\u0061": 1, "a": 1}`:             "twice",
		`[{"x": {"a": 1, "b": 2, "a": 3}}]`: "twice",
		`{"a": [{}]}`:                       "empty element, {}",
		`[[1], []]`:                         "empty element, []",
		``:                                  "",
		`{"a": 1`:                           "",
		strings.Repeat("[", 1<<22):          "",
		`[1 2]`:                             "",
		`[1, ]`:                             "",
		`[[1, x]]`:                          "",
		`{"a": }`:                           "",
		`{"a", 1}`:                          "",
		`[{"a": 1], 2]`:                     "",
		`{"a" 1}`:                           "",
	} {
		err := Check([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", text, err, want)
		}
	}
}
