package commit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestSplit: shares add up, and any m-1 of them reveal nothing. The latter is tested with the first
// byte of all shares except one, for each one that is left out, over many splits of two different
// scalars: a chi-square statistic over 16 cells below 60 (15 degrees of freedom; false-alarm rate
// below 3e-7 a test, with a fixed seed).
func TestSplit(t *testing.T) {
	const m, runs = 3, 4096
	r := testRand(7)
	for _, secret := range []byte{0, 200} {
		s, err := ParseScalar(append([]byte{secret}, make([]byte, 31)...))
		if err != nil {
			t.Fatal(err)
		}
		var counts [m][16]int
		for range runs {
			shares, err := s.Split(m, r)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(SumScalars(shares).Bytes(), s.Bytes()) {
				t.Fatal("the shares do not add up")
			}
			for j, share := range shares {
				counts[j][share.Bytes()[0]>>4]++
			}
		}
		for j := range counts {
			chi2 := 0.0
			for _, n := range counts[j] {
				e := float64(runs) / 16
				chi2 += (float64(n) - e) * (float64(n) - e) / e
			}
			if chi2 > 60 {
				t.Errorf("share %d of %d: chi-square %.1f", j, secret, chi2)
			}
		}
	}
}

func TestScalarEncoding(t *testing.T) {
	s := testScalar(t, testRand(8))
	parsed, err := ParseScalar(s.Bytes())
	if err != nil || !bytes.Equal(parsed.Bytes(), s.Bytes()) {
		t.Errorf("parsed as %x, %v", parsed.Bytes(), err)
	}
	order := append([]byte{
		0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
	}, append(make([]byte, 15), 0x10)...)
	for name, b := range map[string][]byte{
		"empty": nil, "short": make([]byte, 31), "long": make([]byte, 33),
		"order": order, "ones": bytes.Repeat([]byte{0xff}, 32),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseScalar(b); !errors.Is(err, ErrScalar) {
				t.Errorf("%v, want ErrScalar", err)
			}
		})
	}
	order[0]--
	if _, err := ParseScalar(order); err != nil {
		t.Errorf("order - 1: %v", err)
	}
}

func TestRedaction(t *testing.T) {
	s, err := ParseScalar(append([]byte{201, 202, 203, 204}, make([]byte, 28)...))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, v := range []any{s, *s, []*Scalar{s}, struct{ s Scalar }{*s}, struct{ s *Scalar }{s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
	}
	for _, leak := range []string{"201 202 203", "c9cacb", "C9CACB", "cbcac9", "CBCAC9", "0xc9, 0xca",
		fmt.Sprint(0xcccbcac9)} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("the output contains %q", leak)
		}
	}
	if !strings.Contains(out.String(), redacted) {
		t.Error("nothing was redacted")
	}
	if _, err := json.Marshal(s); !errors.Is(err, ErrSecret) {
		t.Errorf("JSON: %v, want ErrSecret", err)
	}
}

func FuzzParseScalar(f *testing.F) {
	f.Add(make([]byte, 32))
	f.Add(bytes.Repeat([]byte{0xff}, 32))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseScalar(b); err == nil && !bytes.Equal(s.Bytes(), b) {
			t.Fatalf("%x parsed as %x", b, s.Bytes())
		}
	})
}
