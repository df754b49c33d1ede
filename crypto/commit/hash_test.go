package commit

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"filippo.io/edwards25519"
	"filippo.io/edwards25519/field"
)

// fieldElement reads the big-endian hexadecimal that the RFC prints.
func fieldElement(t *testing.T, s string) *field.Element {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(b)
	e, err := new(field.Element).SetBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func affinePoint(t *testing.T, x, y string) *edwards25519.Point {
	t.Helper()
	fx, fy := fieldElement(t, x), fieldElement(t, y)
	p, err := new(edwards25519.Point).SetExtendedCoordinates(fx, fy, new(field.Element).One(),
		new(field.Element).Multiply(fx, fy))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRFC9380(t *testing.T) {
	b, err := os.ReadFile("../../testdata/commit/rfc9380.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		DST   string
		Cases []struct{ Msg, PX, PY, U0, U1, Q0X, Q0Y, Q1X, Q1Y string }
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 5 {
		t.Fatalf("%d cases, want 5", len(file.Cases))
	}
	h, err := newCurveHash(file.DST)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		u, err := h.fieldElements([]byte(c.Msg))
		if err != nil {
			t.Fatal(err)
		}
		if u[0].Equal(fieldElement(t, c.U0)) != 1 || u[1].Equal(fieldElement(t, c.U1)) != 1 {
			t.Errorf("%.20q: u = %x, %x", c.Msg, u[0].Bytes(), u[1].Bytes())
		}
		for i, want := range []*edwards25519.Point{affinePoint(t, c.Q0X, c.Q0Y), affinePoint(t, c.Q1X, c.Q1Y)} {
			if q, err := h.mapToCurve(u[i]); err != nil || q.Equal(want) != 1 {
				t.Errorf("%.20q: Q%d is wrong (%v)", c.Msg, i, err)
			}
		}
		if p, err := h.point([]byte(c.Msg)); err != nil || p.Equal(affinePoint(t, c.PX, c.PY)) != 1 {
			t.Errorf("%.20q: P is wrong (%v)", c.Msg, err)
		}
	}
}

// TestExceptionalInput: u = 0 gives the Montgomery point (0, 0), which goes to
// the identity.
func TestExceptionalInput(t *testing.T) {
	h, err := newCurveHash(generatorDST)
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.mapToCurve(new(field.Element))
	if err != nil || p.Equal(edwards25519.NewIdentityPoint()) != 1 {
		t.Errorf("%v, %v, want the identity", p, err)
	}
}

func TestTagLength(t *testing.T) {
	for n, ok := range map[int]bool{0: false, 15: false, 16: true, 255: true, 256: false} {
		if _, err := newCurveHash(strings.Repeat("x", n)); (err == nil) != ok {
			t.Errorf("tag of %d bytes: %v", n, err)
		}
	}
}
