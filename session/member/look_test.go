package member_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"choir/protocol"
	"choir/session/internal/site"
	"choir/session/member"
)

// TestNoStoreIsMadeByLooking: looking for a store doesn't make one.
func TestNoStoreIsMadeByLooking(t *testing.T) {
	now := time.Unix(1_900_000_000, 0)
	dir, config := site.Deploy(t, now)
	store := filepath.Join(dir, "nowhere.db")
	if _, err := member.Receipts(store, config("party-a").PlanFile, 1,
		0); protocol.ClassOf(err) != protocol.ClassInput || !strings.Contains(err.Error(), "nowhere.db") {
		t.Errorf("%v", err)
	}
	if _, err := member.ReadSpending(store, 1e-5); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("spending: %v", err)
	}
	if err := member.ResetSpending(store, "a test"); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("reset: %v", err)
	}
	if _, err := os.Stat(store); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a store was made: %v", err)
	}
}
