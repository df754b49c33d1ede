package external

import (
	"math"
	"os/exec"
	"testing"
)

// TestPythonExample: the same with a script that needs NumPy, where there is one. The
// script's normal distribution function is good to 7.5e-8, and every shard's update is
// clipped: the states agree to a thousandth of the distance that was learnt.
func TestPythonExample(t *testing.T) {
	if out, err := exec.Command("python3", "-c", "import numpy").CombinedOutput(); err != nil {
		t.Logf("no NumPy here, so the script isn't run: %v %s", err, out)
		return
	}
	got, want := learn(t, []string{"python3", "python/logistic.py"}, plain), learn(t, nil, plain)
	var off, far float64
	for i, start := range config().Initial() {
		off += math.Pow(float64(got[i]-want[i]), 2)
		far += math.Pow(float64(want[i]-start), 2)
	}
	if off > 1e-6*far || far == 0 {
		t.Errorf("the script's state is %v from Choir's, which is %v from the start", math.Sqrt(off),
			math.Sqrt(far))
	}
}
