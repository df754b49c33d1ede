package experiment

import (
	"os"
	"path/filepath"
	"testing"

	"choir/protocol"
)

// TestNoiseCurve draws Figure 1b as SVG and PNG.
func TestNoiseCurve(t *testing.T) {
	base := filepath.Join(t.TempDir(), "curve")
	if err := NoiseCurve(&protocol.Plan{Colluders: 2}, base); err != nil {
		t.Fatal(err)
	}
	for _, ext := range []string{".svg", ".png"} {
		if info, err := os.Stat(base + ext); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", ext, err)
		}
	}
}
