package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/member"
)

const keygenLong = `Make a member's identity: a key file, encrypted under the passphrase, and a card
with the public key, signed by it, for the author of the plan. Compare the
fingerprint with them over another channel than the one that carries the card.`

func (a *App) keygen() *cobra.Command {
	var name, out, passphrase, validFor string
	format := "text"
	cmd := &cobra.Command{
		Use: "keygen --name NAME --passphrase-file FILE", Short: "Make a member's key and card", Long: keygenLong,
		Example: "  choir keygen --name hospital-a --passphrase-file pass --out keys\n" +
			"  choir keygen --name hospital-a --passphrase-file pass --valid-for 90d",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := CheckFormat(format); err != nil {
				return err
			}
			if passphrase == "" {
				return protocol.Fail(protocol.ClassInput, "--passphrase-file: name a file with the passphrase, mode 0600")
			}
			validity, err := parseValidity(validFor)
			if err != nil {
				return protocol.Fail(protocol.ClassInput, "--valid-for: %w", err)
			}
			key, card, c, err := member.NewIdentity(out, name, passphrase, identity.DefaultParams(), time.Now(),
				validity)
			if err != nil {
				return err
			}
			a.weak(passphrase)
			made := newKey{1, key, card, c.Name, c.Key.Fingerprint(), time.Unix(c.NotAfter, 0).UTC()}
			return a.Print(format, made, func() {
				fmt.Fprintf(a.Out, "key:         %s\ncard:        %s\nfingerprint: %s\n", key, card, made.Fingerprint)
			})
		},
	}
	s := cmd.Flags()
	s.StringVar(&name, "name", "", "member's name: 1-32 of a-z, 0-9 and -, starting with a letter")
	s.StringVar(&out, "out", ".", "folder for the two files")
	s.StringVar(&passphrase, "passphrase-file", "", "file with the passphrase, mode 0600")
	s.StringVar(&validFor, "valid-for", "1y", "validity of the card, such as 1y, 90d or 12h")
	Folders(cmd, "out")
	FormatFlag(cmd, &format)
	return cmd
}

// weak warns of a passphrase that can be guessed from the key file.
func (a *App) weak(file string) {
	const shortest = 12
	p, err := identity.ReadPassphraseFile(file)
	if err == nil && len(p) < shortest {
		Wrap(a.Err, "warning: ", fmt.Sprintf("the passphrase has %d characters, and whoever copies the key file "+
			"can try all such passphrases; take five random words, and make the key again", len(p)))
	}
}

type newKey struct {
	SchemaVersion int       `json:"schema_version"`
	Key           string    `json:"key_file"`
	Card          string    `json:"card_file"`
	Name          string    `json:"name"`
	Fingerprint   string    `json:"fingerprint"`
	NotAfter      time.Time `json:"not_after"`
}

// parseValidity adds days and years of 365 days to Go's durations.
func parseValidity(s string) (time.Duration, error) {
	for suffix, days := range map[string]int{"d": 1, "y": 365} {
		if text, ok := strings.CutSuffix(s, suffix); ok {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n*days > 36500 {
				return 0, fmt.Errorf("%q isn't a validity such as 1y or 90d, at most 100y", s)
			}
			return time.Duration(n*days) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q isn't a validity such as 1y, 90d or 12h", s)
	}
	return d, nil
}
