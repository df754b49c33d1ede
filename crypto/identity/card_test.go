package identity

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func testCard(t testing.TB) Card {
	t.Helper()
	c, err := NewCard(testKey(1), "north-hospital", 1000, 2000)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNames(t *testing.T) {
	for _, good := range []string{"a", "a0", "a-", "north-hospital-2", strings.Repeat("z", 32)} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "0a", "-a", "A", "aB", "a_b", "a.b", "a b", "a\n", "é", "aé", "a\x00",
		strings.Repeat("z", 33)} {
		if err := CheckName(bad); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v, want ErrName", bad, err)
		}
	}
}

func TestCardTimes(t *testing.T) {
	c := testCard(t)
	for now, want := range map[int64]error{
		math.MinInt64: ErrNotYetValid, 999: ErrNotYetValid,
		1000: nil, 1500: nil, 2000: nil,
		2001: ErrExpired, math.MaxInt64: ErrExpired,
	} {
		if err := c.Verify(now); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("at %d: %v, want %v", now, err, want)
		}
	}
	for _, span := range [][2]int64{{-1, 5}, {5, 4}, {0, maxTime + 1}, {math.MinInt64, math.MaxInt64}} {
		if _, err := NewCard(testKey(1), "a", span[0], span[1]); !errors.Is(err, ErrCard) {
			t.Errorf("%v: %v, want ErrCard", span, err)
		}
	}
	if _, err := NewCard(testKey(1), "A", 0, 1); !errors.Is(err, ErrName) {
		t.Errorf("bad name: %v, want ErrName", err)
	}
}

// TestCardForgeries changes each field of a signed card.
func TestCardForgeries(t *testing.T) {
	for name, change := range map[string]func(*Card){
		"name":       func(c *Card) { c.Name = "south-hospital" },
		"key":        func(c *Card) { c.Key = testKey(2).Public() },
		"not before": func(c *Card) { c.NotBefore-- },
		"not after":  func(c *Card) { c.NotAfter++ },
		"signature":  func(c *Card) { c.Sig[0] ^= 1 },
		"no domain":  func(c *Card) { c.Sig = testKey(1).Sign([]byte(c.Name)) },
	} {
		t.Run(name, func(t *testing.T) {
			c := testCard(t)
			change(&c)
			if err := c.Verify(1500); !errors.Is(err, ErrBadSignature) {
				t.Errorf("%v, want ErrBadSignature", err)
			}
		})
	}
	// An expired forgery is a forgery.
	c := testCard(t)
	c.NotAfter--
	if err := c.Verify(5000); !errors.Is(err, ErrBadSignature) {
		t.Errorf("%v, want ErrBadSignature", err)
	}
}

func TestCardText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := FromSeed([32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed")))
		name := rapid.StringMatching(`[a-z][a-z0-9-]{0,31}`).Draw(t, "name")
		from := rapid.Int64Range(0, maxTime).Draw(t, "from")
		to := rapid.Int64Range(from, maxTime).Draw(t, "to")
		c, err := NewCard(key, name, from, to)
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Card
		if err := back.UnmarshalText(text); err != nil || back != c {
			t.Fatalf("%s\nread as %+v, %v", text, back, err)
		}
		if err := back.Verify(from); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCardTextEveryByte flips the bits of each byte: every change is rejected on reading or on
// verification, and a rejected text does not change the receiver.
func TestCardTextEveryByte(t *testing.T) {
	c := testCard(t)
	text, err := c.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	rejectedReading, rejectedVerifying := 0, 0
	for bit := range 8 * len(text) {
		bad := bytes.Clone(text)
		bad[bit/8] ^= 1 << (bit % 8)
		got := c
		if err := got.UnmarshalText(bad); err != nil {
			rejectedReading++
			if got != c || !errors.Is(err, ErrCard) {
				t.Errorf("bit %d: %v, receiver %+v", bit, err, got)
			}
			continue
		}
		rejectedVerifying++
		if got.Verify(1500) == nil {
			t.Errorf("bit %d does not matter", bit)
		}
	}
	if rejectedReading == 0 || rejectedVerifying == 0 {
		t.Errorf("%d rejected on reading, %d on verifying", rejectedReading, rejectedVerifying)
	}
	for i := range text {
		if err := c.UnmarshalText(text[:i]); !errors.Is(err, ErrCard) {
			t.Errorf("cut at %d: %v, want ErrCard", i, err)
		}
	}
}

func TestCardTextNotCanonical(t *testing.T) {
	c := testCard(t)
	text, err := c.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for was, is := range map[string]string{
		"1970-01-01T00:16:40Z": "1970-01-01T01:16:40+01:00",
		"T00:33:20Z":           "T00:33:20.0Z",
		"name: ":               "name:  ",
		"\nkey":                "\r\nkey",
		"not-after":            "not-later",
		"card v1":              "card v2",
	} {
		bad := strings.Replace(string(text), was, is, 1)
		if bad == string(text) {
			t.Fatalf("%q is not in the card", was)
		}
		if err := c.UnmarshalText([]byte(bad)); !errors.Is(err, ErrCard) {
			t.Errorf("%q: %v, want ErrCard", is, err)
		}
	}
}

func FuzzCard(f *testing.F) {
	c := testCard(f)
	text, err := c.MarshalText()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(cardDomain + "\n"))
	f.Add(bytes.Replace(text, []byte("Z"), []byte("+00:00"), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c Card
		if c.UnmarshalText(text) != nil {
			if c != (Card{}) {
				t.Fatal("a rejected text changed the receiver")
			}
			return
		}
		again, err := c.MarshalText()
		if err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%q becomes %q, %v", text, again, err)
		}
	})
}

func ExampleCard() {
	key := FromSeed([32]byte{1}) // use Generate(rand.Reader)
	card, err := NewCard(key, "north-hospital", 1767225600, 1798761600)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(card.Name, card.Key.Fingerprint(), card.Verify(1770000000))
	// Output: north-hospital fbx7-yvek-wmdn-rsws-anpe-fzyc-da <nil>
}
