package embedded_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// TestOneBrokerAFolder checks that a second broker is refused without harm, and that the folder is
// free when the first has ended.
func TestOneBrokerAFolder(t *testing.T) {
	config := embedded.Config{StoreDir: t.TempDir()}
	first, err := embedded.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Shutdown()
	if second, err := embedded.Start(config); !errors.Is(err, embedded.ErrLocked) {
		if err == nil {
			second.Shutdown()
		}
		t.Fatalf("a second broker on the folder: %v", err)
	}
	bus, err := natsbus.Open(t.Context(), natsbus.Config{Server: first, Plan: "0000abcd"})
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.EnsureStream(t.Context()); err != nil {
		t.Errorf("the first broker after the second was refused: %v", err)
	}
	bus.Close()
	first.Shutdown()
	again, err := embedded.Start(config)
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	again.Shutdown()
}

// TestADamagedLockIsNamed checks that a lock file that a crash has emptied is not reported as another
// broker, and that the error names the file.
func TestADamagedLockIsNamed(t *testing.T) {
	for name, damage := range map[string][]byte{"zeros": make([]byte, 1<<15), "cut short": {1, 2, 3}} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			file := filepath.Join(folder, "broker.lock")
			if err := os.WriteFile(file, damage, 0o600); err != nil {
				t.Fatal(err)
			}
			server, err := embedded.Start(embedded.Config{StoreDir: folder})
			if err == nil {
				server.Shutdown()
			}
			if err == nil || errors.Is(err, embedded.ErrLocked) || !strings.Contains(err.Error(), file) {
				t.Errorf("%v", err)
			}
		})
	}
}
