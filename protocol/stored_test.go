package protocol

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"choir/crypto/field"
)

// mapView is a View of a map.
type mapView map[string][]byte

func (m mapView) Get(key string) []byte { return m[key] }
func (m mapView) Keys(prefix string) (keys []string) {
	for k := range m {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// TestStepView compares a StepView with applying the step's records to a copy of the store.
func TestStepView(t *testing.T) {
	key := rapid.SampledFrom([]string{"a/1", "a/2", "a/10", "b/1", "b/2"})
	rapid.Check(t, func(t *rapid.T) {
		view, after, eff := mapView{}, mapView{}, &Effects{}
		for range rapid.IntRange(0, 4).Draw(t, "stored") {
			k := key.Draw(t, "key")
			view[k], after[k] = []byte("old"), []byte("old")
		}
		for range rapid.IntRange(0, 6).Draw(t, "records") {
			k := key.Draw(t, "key")
			if rapid.Bool().Draw(t, "delete") {
				eff.Delete(k)
				delete(after, k)
			} else {
				v := blobs(3).Draw(t, "value")
				eff.Put(k, v)
				after[k] = append([]byte{}, v...)
			}
		}
		m := StepView{View: view, Step: eff}
		for _, k := range []string{"a/1", "a/2", "a/10", "b/1", "b/2", "c"} {
			if got, want := m.Get(k), after.Get(k); !bytes.Equal(got, want) || (got == nil) != (want == nil) {
				t.Fatalf("%s: %q, not %q", k, got, want)
			}
		}
		for _, prefix := range []string{"", "a/", "a/1", "b/", "z"} {
			if got, want := m.Keys(prefix), after.Keys(prefix); !slices.Equal(got, want) {
				t.Fatalf("%q: %v, not %v", prefix, got, want)
			}
		}
	})
	if got := (StepView{View: mapView{"k": {1}}}).Get("k"); !bytes.Equal(got, []byte{1}) {
		t.Errorf("between steps: %v", got)
	}
}

func TestLinkAndKeyNumber(t *testing.T) {
	l := &Link{Secret: testSecret(t, 4), Open: []byte("signed open")}
	got, err := UnmarshalLink(MarshalLink(l))
	if err != nil || !bytes.Equal(got.Secret.Bytes(), l.Secret.Bytes()) || string(got.Open) != "signed open" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := UnmarshalLink(make([]byte, 31)); err == nil {
		t.Error("a secret of 31 bytes")
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", got, got, got), string(l.Secret.Bytes())) {
		t.Error("a link prints its secret")
	}
	for key, want := range map[string]uint32{"channel/7": 7, "share/1/2/3": 3, "4294967295": 1<<32 - 1} {
		if n, err := KeyNumber(key); err != nil || n != want {
			t.Errorf("%s: %d, %v", key, n, err)
		}
	}
	for _, key := range []string{"channel/", "channel/x", "channel/-1", "channel/4294967296"} {
		if _, err := KeyNumber(key); err == nil {
			t.Errorf("%s has a number", key)
		}
	}
}

func TestTranscriptVector(t *testing.T) {
	v := field.Vector{0, 1, field.Element(uint64(field.Modulus) - 1)}
	b := EmptyTranscriptVector(len(v))
	o := Opening{Salt: [32]byte{1}, Blinding: [32]byte{2}}
	SetTranscriptOpening(b, o)
	field.PutVector(b[TranscriptVectorHeader:], v)
	got, opened, ok := ParseTranscriptVector(b, 3)
	if !ok || !slices.Equal(got, v) || opened != o {
		t.Errorf("%v, %t", got, ok)
	}
	if IsChunk(b) || newMessage(Kind(b[0])) != nil {
		t.Error("a vector looks like a message")
	}
	over := bytes.Clone(b)
	copy(over[TranscriptVectorHeader:], bytes.Repeat([]byte{255}, 8))
	for name, bad := range map[string][]byte{
		"short":         b[:len(b)-1],
		"long":          append(bytes.Clone(b), 0),
		"empty":         nil,
		"another kind":  append([]byte{5}, b[1:]...),
		"not canonical": over,
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, ok := ParseTranscriptVector(bad, 3); ok {
				t.Error("it is parsed as a vector")
			}
		})
	}
	if _, _, ok := ParseTranscriptVector(b, 2); ok {
		t.Error("a vector of another dimension")
	}
}

func TestInts(t *testing.T) {
	want := []int64{0, -1, 1<<63 - 1, -1 << 63}
	if got, ok := Ints(AppendInts(nil, want)); !ok || !slices.Equal(got, want) {
		t.Error(got, ok)
	}
	if _, ok := Ints(make([]byte, 7)); ok {
		t.Error("7 bytes are integers")
	}
}
