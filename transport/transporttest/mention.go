package transporttest

import (
	"strings"
	"testing"
)

// Password is what a configuration under test has for a password.
const Password = "hunter2"

// CheckMention checks that there is no error if mention is "", else one that contains it and
// not the Password.
func CheckMention(t *testing.T, err error, mention string) {
	t.Helper()
	switch {
	case mention == "" && err != nil:
		t.Errorf("refused: %v", err)
	case mention != "" && err == nil:
		t.Errorf("accepted, want an error that mentions %q", mention)
	case mention != "" && (!strings.Contains(err.Error(), mention) || strings.Contains(err.Error(), Password)):
		t.Errorf("error %v, want one that mentions %q", err, mention)
	}
}
