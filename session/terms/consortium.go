package terms

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"choir/crypto/identity"
	"choir/internal/atomicfile"
	"choir/internal/config"
	"choir/protocol"
)

// Consortium is a folder that all sites can read and write, such as a file share: the terms
// (plan.toml), the members' cards, the proposed plan and the signatures. Nothing in it is trusted:
// cards and signatures are checked, and a site signs a plan only if its people have compared its
// fingerprint with the others'.
type Consortium string

func (c Consortium) terms() string    { return filepath.Join(string(c), "plan.toml") }
func (c Consortium) proposed() string { return filepath.Join(string(c), "plan.choir") }

// signature is the file of a member's signature.
func (c Consortium) signature(name string) string {
	return filepath.Join(string(c), "signatures", name+".choir")
}

// Fingerprint returns what people read to each other to compare a whole plan: 128 bits of its id.
func Fingerprint(id protocol.PlanID) string {
	text, groups := id.String(), []string{}
	for i := 0; i < 32; i += 4 {
		groups = append(groups, text[i:i+4])
	}
	return strings.Join(groups, " ")
}

// sameFingerprint compares fingerprints as people write them.
func sameFingerprint(a, b string) bool {
	strip := strings.NewReplacer(" ", "", "-", "", ":", "")
	return strings.EqualFold(strip.Replace(a), strip.Replace(b))
}

// AddCard publishes a member's card under its name. Another card of that name is not replaced.
func (c Consortium) AddCard(path string, now time.Time) (identity.Card, error) {
	card, err := ReadCard(path, now)
	if err != nil {
		return card, err
	}
	text, err := card.MarshalText()
	if err != nil {
		return card, err
	}
	to := filepath.Join(string(c), "cards", card.Name+".card")
	switch have, err := os.ReadFile(to); {
	case errors.Is(err, fs.ErrNotExist):
		return card, atomicfile.WriteFile(to, text)
	case err != nil:
		return card, protocol.Fail(protocol.ClassInput, "folder: %w", err)
	case !bytes.Equal(have, text):
		return card, protocol.Fail(protocol.ClassIntegrity, "%s is another card of that name; ask who put it "+
			"there, and remove it if the key is the old one", to)
	}
	return card, nil
}

// Propose makes the plan from the terms and the cards, unless it is there, and returns it. As long
// as cards are missing it returns their names. after is for a successor plan; nil for any other.
func (c Consortium) Propose(now time.Time, after *protocol.Predecessor) (plan *protocol.SignedPlan,
	missing []string, err error) {
	if _, err := os.Stat(c.proposed()); err == nil {
		plan, err = ReadPlan(c.proposed())
		return plan, nil, err
	}
	terms, err := readConfig(c.terms())
	if err != nil {
		return nil, nil, err
	}
	for _, path := range append(slices.Concat(terms.Parties, terms.Computes), terms.Aggregator) {
		if _, err := os.Stat(config.InDir(string(c), path)); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, strings.TrimSuffix(filepath.Base(path), ".card"))
		}
	}
	if len(missing) > 0 {
		return nil, missing, nil
	}
	var p *protocol.Plan
	if after == nil {
		p, err = NewPlan(c.terms(), now)
	} else {
		p, err = NewSuccessor(c.terms(), now, after)
	}
	if err != nil {
		return nil, nil, err
	}
	plan = &protocol.SignedPlan{Plan: p}
	text, err := plan.MarshalText()
	if err != nil {
		return nil, nil, err
	}
	return plan, nil, atomicfile.WriteFile(c.proposed(), text)
}

// Proposed returns the proposed plan, nil if there is none yet.
func (c Consortium) Proposed() (*protocol.SignedPlan, error) {
	if _, err := os.Stat(c.proposed()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ReadPlan(c.proposed())
}

// Check reports an error unless the proposed plan has the fingerprint.
func (c Consortium) Check(fingerprint string) error {
	plan, err := c.Proposed()
	if err != nil {
		return err
	}
	if plan == nil {
		return protocol.Fail(protocol.ClassInput, "approve: no plan is proposed: nothing was signed")
	}
	if shown := Fingerprint(plan.Plan.ID()); !sameFingerprint(fingerprint, shown) {
		return protocol.Fail(protocol.ClassIntegrity, "approve: the proposed plan's fingerprint is %s, not %s: "+
			"nothing was signed", shown, fingerprint)
	}
	return nil
}

// Approve signs the proposed plan with a member's key and publishes the signature, if the plan has the
// fingerprint that the site's people have compared.
func (c Consortium) Approve(fingerprint string, key *identity.PrivateKey, now time.Time) error {
	if err := c.Check(fingerprint); err != nil {
		return err
	}
	plan, err := SignPlan(c.proposed(), key, now)
	if err != nil {
		return err
	}
	if !sameFingerprint(fingerprint, Fingerprint(plan.Plan.ID())) { // the file was replaced meanwhile
		return protocol.Fail(protocol.ClassIntegrity, "approve: %w: nothing was signed", protocol.ErrWrongPlan)
	}
	i, _ := plan.Plan.Index(key.Public())
	text, err := plan.MarshalText()
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(c.signature(plan.Plan.Members[i].Name), text)
}

// Signed reports whether the signature of the member with a key on the proposed plan is in the folder.
func (c Consortium) Signed(own identity.PublicKey) bool {
	plan, err := c.Proposed()
	return err == nil && plan != nil && c.signedBy(plan.Plan, own)
}

func (c Consortium) signedBy(p *protocol.Plan, own identity.PublicKey) bool {
	i, ok := p.Index(own)
	if !ok {
		return false
	}
	copied, err := ReadPlan(c.signature(p.Members[i].Name))
	return err == nil && copied.Plan.ID() == p.ID() && !slices.Contains(copied.Missing(), p.Members[i].Name)
}

// Collect returns the proposed plan with all signatures in the folder. Files that are no copy of the
// plan are named, and left out.
func (c Consortium) Collect() (plan *protocol.SignedPlan, odd []string, err error) {
	if plan, err = ReadPlan(c.proposed()); err != nil {
		return nil, nil, err
	}
	files, err := filepath.Glob(filepath.Join(string(c), "signatures", "*.choir"))
	if err != nil {
		return nil, nil, fmt.Errorf("folder: %w", err)
	}
	for _, file := range files {
		copied, err := ReadPlan(file)
		if err == nil {
			err = plan.Merge(copied)
		}
		if err != nil {
			odd = append(odd, fmt.Sprintf("%s: %v", file, err))
		}
	}
	return plan, odd, nil
}
