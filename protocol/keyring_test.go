package protocol

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"choir/crypto/channel"
)

func (m mapView) apply(t *rapid.T, eff *Effects) {
	for _, r := range eff.Persist {
		if !r.Erase {
			t.Fatalf("%s is not erased", r.Key)
		}
		if r.Value == nil {
			delete(m, r.Key)
		} else {
			m[r.Key] = r.Value
		}
	}
}

// TestKeyring compares a keyring, restarted from its store after any step, with the secrets that were
// added and the rounds that have passed.
func TestKeyring(t *testing.T) {
	members := []uint32{0, 1, 511, 512, 513, 99_999, Own, Digests, Everyone}
	rapid.Check(t, func(t *rapid.T) {
		k, store := NewKeyring(), mapView{}
		first, round := map[uint32]*channel.Secret{}, uint32(1) // of round 1
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			m := rapid.SampledFrom(members).Draw(t, "member")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				secret, err := channel.NewSecret(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "secret"))
				if err != nil {
					t.Fatal(err)
				}
				at := rapid.Uint32Range(1, round).Draw(t, "at")
				k.Add(m, at, Later(secret, at-1))
				first[m] = secret
			case 1:
				k.Drop(m)
				delete(first, m)
			case 2:
				to := rapid.Uint32Range(1, round+3).Draw(t, "to")
				k.Advance(to)
				round = max(round, to)
			}
			eff := new(Effects)
			k.Store(eff)
			store.apply(t, eff)
			var err error
			if k, err = RestoreKeyring(store); err != nil {
				t.Fatal(err)
			}
			if len(first) > 0 && k.Round() != round {
				t.Fatalf("restored in round %d, want %d", k.Round(), round)
			}
			k.Advance(round)
			for _, m := range members {
				checkSecret(t, k, m, first[m], round)
			}
		}
		eff := new(Effects)
		k.Erase(eff)
		if store.apply(t, eff); len(store) > 0 || len(k.Members()) > 0 {
			t.Fatalf("an erased keyring has %d records", len(store))
		}
	})
}

func checkSecret(t *rapid.T, k *Keyring, m uint32, first *channel.Secret, round uint32) {
	if k.Has(m) != (first != nil) || k.Secret(m, round-1) != nil {
		t.Fatalf("member %d: has %t, want %t, or it has a secret of a round that is over", m, k.Has(m),
			first != nil)
	}
	for _, r := range []uint32{round, round + 2} {
		got := k.Secret(m, r)
		if first == nil {
			if got != nil {
				t.Fatalf("member %d has a secret", m)
			}
		} else if !bytes.Equal(got.Bytes(), Later(first, r-1).Bytes()) {
			t.Fatalf("member %d: another secret in round %d", m, r)
		}
	}
}

// TestDamagedKeyring checks that stored blocks which cannot be are refused.
func TestDamagedKeyring(t *testing.T) {
	good := append([]byte{0, 0, 0, 2, 0, 0, 0, 1}, make([]byte, 32)...)
	for name, blocks := range map[string]mapView{
		"cut short":  {"secrets/0": good[:20]},
		"round 0":    {"secrets/0": append([]byte{0, 0, 0, 0}, good[4:]...)},
		"two rounds": {"secrets/0": good, "secrets/1": append([]byte{0, 0, 0, 3}, good[4:]...)},
	} {
		t.Run(name, func(t *testing.T) {
			if k, err := RestoreKeyring(blocks); err == nil {
				t.Errorf("accepted as one of round %d", k.Round())
			}
		})
	}
}

// TestDigestKeys checks that the keys of rounds in any order are those of the secret.
func TestDigestKeys(t *testing.T) {
	s := DigestSecret{3}
	keys := NewDigestKeys(s)
	for _, round := range []uint32{0, 1, 4, 4, 2, 9} {
		if keys.Key(round) != s.Key(round) {
			t.Errorf("another key in round %d", round)
		}
	}
	if s.Key(1) == s.Key(2) {
		t.Error("two rounds have one key")
	}
}
