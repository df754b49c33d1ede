package trial

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"choir/crypto/identity"
	"choir/internal/atomicfile"
	"choir/learn/bayes"
	"choir/protocol"
	"choir/session/run"
	"choir/transport/natsbus"
)

// lifetime is that of a plan whose terms name none. The cards are valid a day longer than the plan.
const lifetime = 30 * 24 * time.Hour

// site is a member with its folder.
type site struct {
	Name string
	Role string // the verb that runs it
	key  *identity.PrivateKey
}

func (c *consortium) roster() {
	for _, group := range []struct {
		role protocol.Role
		verb string
		n    int
	}{{protocol.RoleParty, "party", c.Parties}, {protocol.RoleCompute, "compute", c.Nodes}} {
		for i := range group.n {
			c.members = append(c.members, site{Name: run.MemberName(group.role, i, group.n), Role: group.verb})
		}
	}
	c.members = append(c.members, site{Name: "aggregator", Role: "aggregator"})
}

// site is a path in a member's folder.
func (c *consortium) site(m site, name string) string { return c.path("sites", m.Name, name) }

// cheap are the costs of a key file whose passphrase is 256 random bits: a search is
// hopeless without slowing it down.
var cheap = identity.Params{Time: 1, MemoryKiB: 64, Lanes: 1}

// keys makes every member's key, encrypted under a passphrase that only its folder has,
// its card, and a copy of the broker's token.
func (c *consortium) keys() error {
	if err := natsbus.NewTokenFile(c.path("broker", "token"), rand.Reader); err != nil {
		return err
	}
	token, err := os.ReadFile(c.path("broker", "token"))
	if err != nil {
		return err
	}
	valid := max(lifetime, c.own.Lifetime.Duration) + 24*time.Hour
	for i := range c.members {
		m := &c.members[i]
		if m.key, err = identity.Generate(rand.Reader); err != nil {
			return err
		}
		var secret [32]byte
		if _, err := rand.Read(secret[:]); err != nil {
			return err
		}
		passphrase := hex.EncodeToString(secret[:])
		config := identity.KeyFileConfig{Params: cheap, Rand: rand.Reader}
		if err := identity.WriteKeyFile(c.site(*m, "key"), m.key, m.Name, []byte(passphrase), config); err != nil {
			return err
		}
		card, err := identity.NewCard(m.key, m.Name, c.now.Unix(), c.now.Add(valid).Unix())
		if err != nil {
			return err
		}
		text, err := card.MarshalText()
		if err != nil {
			return err
		}
		for path, content := range map[string]string{c.path("cards", m.Name+".card"): string(text),
			c.site(*m, "card"): string(text), c.site(*m, "passphrase"): passphrase + "\n",
			c.site(*m, "token"): string(token)} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// impatient is the number of members up to which a message on one machine arrives within two seconds. More
// members that repeat theirs as often keep the broker from delivering any.
const impatient = 100

// configure writes every member's configuration, and a party's rows.
func (c *consortium) configure() error {
	for i, m := range c.members {
		text := `plan_file = "plan.choir"
key_file = "key"
passphrase_file = "passphrase"
card_file = "card"
store_file = "store.db"
`
		switch m.Role {
		case "party":
			text += "data_file = \"data.csv\"\n"
			if err := writeRows(c.site(m, "data.csv"), c.rows[i]); err != nil {
				return err
			}
		case "aggregator":
			text += "out_dir = \"../../result\"\n"
		}
		text += `
[bus]
url = "nats://127.0.0.1:4222"    # run.sh sets CHOIR_BUS_URL, which counts more
token_file = "token"

[timing]
`
		if len(c.members) <= impatient {
			text += "resend = \"2s\"\n"
		}
		if m.Role == "aggregator" {
			text += "give_up = \"2m\"\n"
		}
		if err := os.WriteFile(c.site(m, "site.toml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

//go:embed files
var files embed.FS

// expand fills in a template.
func (c *consortium) expand(name string) ([]byte, error) {
	t, err := template.New(name).ParseFS(files, "files/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, c)
	return b.Bytes(), err
}

// Budget is the plan's epsilon, for the templates; 0 without privacy noise.
func (c *consortium) Budget() float64 { return c.epsilon }

// Members are all members, for the templates.
func (c *consortium) Members() []site { return c.members }

// Show is the verb that prints the result, for the templates; empty if none does.
func (c *consortium) Show() string {
	switch {
	case c.own.Table != nil || c.own.Shuffle != nil:
		return "stats"
	case c.own.Sum != nil, c.own.Learning != nil && opaque(c.own.Learning.Model),
		c.own.Global != nil && opaque(c.own.Global.Model):
		return ""
	}
	return "model show"
}

// opaque reports whether a model has no coefficients of columns.
func opaque(model string) bool {
	return model == string(bayes.BNN) || model == string(bayes.External)
}

// Lifetime is the plan's, for the templates.
func (c *consortium) Lifetime() string { return strings.TrimSuffix(lifetime.String(), "0m0s") }

func (c *consortium) scripts() error {
	for _, name := range []string{"run.sh", "compose.yaml", "README.md"} {
		text, err := c.expand(name)
		if err != nil {
			return err
		}
		if err := atomicfile.WriteFile(filepath.Join(c.Dir, name), text); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(c.Dir, "run.sh"), 0o755)
}
