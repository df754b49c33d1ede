package collude

import (
	"strings"

	"choir/crypto/channel"
	"choir/protocol"
)

// secretOf is the earliest form of a secret in the view.
type secretOf struct {
	round  uint32 // 0: none
	secret *channel.Secret
}

// at is the secret in a round, nil if the view does not have it.
func (s secretOf) at(round uint32) *channel.Secret {
	if s.round == 0 || round < s.round {
		return nil
	}
	return protocol.Later(s.secret, round-s.round)
}

// earlier returns the earlier of s and another form of the secret.
func (s secretOf) earlier(round uint32, secret *channel.Secret) secretOf {
	if s.round > 0 && s.round <= round {
		return s
	}
	return secretOf{round, secret}
}

// oneRecord is a store with one record.
type oneRecord struct {
	key   string
	value []byte
}

func (o oneRecord) Get(string) []byte { return o.value }

func (o oneRecord) Keys(prefix string) []string {
	if strings.HasPrefix(o.key, prefix) {
		return []string{o.key}
	}
	return nil
}

// secrets reads the secrets of a member's record.
func (v *View) secrets(member uint32, key string, value []byte) error {
	aggregator := v.session.Plan.Aggregator()
	if member == aggregator {
		return v.aggregatorSecrets(key, value)
	}
	keys, err := protocol.RestoreKeyring(oneRecord{key, value})
	if err != nil {
		return err
	}
	for _, peer := range keys.Members() {
		secret := keys.Secret(peer, keys.Round())
		if peer == protocol.Everyone {
			v.group = v.group.earlier(keys.Round(), secret)
		} else if peer <= aggregator {
			v.addLink(member, peer, keys.Round(), secret)
		}
	}
	return nil
}

// aggregatorSecrets is secrets for the aggregator, which keeps those of round 1.
func (v *View) aggregatorSecrets(key string, value []byte) (err error) {
	kind, _, _ := strings.Cut(key, "/")
	switch kind {
	case "group":
		v.group.round = 1
		v.group.secret, err = channel.NewSecret(value)
	case "channel":
		peer, err := protocol.KeyNumber(key)
		if err != nil {
			return err
		}
		l, err := protocol.UnmarshalLink(value)
		if err != nil {
			return err
		}
		v.addLink(v.session.Plan.Aggregator(), peer, 1, l.Secret)
	}
	return err
}

func (v *View) addLink(member, peer, round uint32, secret *channel.Secret) {
	pair := [2]uint32{min(member, peer), max(member, peer)}
	v.links[pair] = v.links[pair].earlier(round, secret)
}
