package simulate
import "testing"
func TestProf(t *testing.T){ r,_ := ManyProfiles(1, 1500, "all", 1); t.Log(r.Steps, r.Violations, r.Failed) }
