package terms

import (
	"crypto/sha256"
	"encoding/hex"
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
	"choir/protocol"
)

// Document is one of a consortium's documents, in the form in which it is published.
type Document struct {
	Kind DocumentKind
	Data []byte
}

// DocumentKind is what a Document is.
type DocumentKind string

// The kinds of documents.
const (
	DocumentCard   DocumentKind = "card"   // identity.Card as text
	DocumentPlan   DocumentKind = "plan"   // a proposed plan: a plan file without signatures
	DocumentAccept DocumentKind = "accept" // a signature: a protocol.Envelope with an Accept
)

// maxDocument is the largest size of a document, in bytes. A plan has at most 16 MiB before its armour.
var maxDocument = map[DocumentKind]int{DocumentCard: 4 << 10, DocumentPlan: 24 << 20, DocumentAccept: 4 << 10}

// Name identifies a document by its content: "card.", "plan." or "accept." and 128 bits of its digest.
func (d Document) Name() string {
	h := sha256.Sum256(d.Data)
	return string(d.Kind) + "." + hex.EncodeToString(h[:16])
}

// Exchange keeps one site's copy of a consortium's folder in step with the copies of the other sites.
// What it takes may come from anybody. A card is kept if it is signed by its key, a plan if it names this
// site's key, and a signature if it is that of a member under the plan.
type Exchange struct {
	Folder Consortium
	Own    identity.PublicKey // of this site; the zero key takes no plans

	plans   []*protocol.SignedPlan // that name this site, in the order in which they came
	accepts []*protocol.Envelope   // for any plan
	odd     []string               // what was left out, and why
}

// maxOdd bounds the notes about documents that are left out.
const maxOdd = 20

func (x *Exchange) leaveOut(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); len(x.odd) < maxOdd && !slices.Contains(x.odd, text) {
		x.odd = append(x.odd, text)
	}
}

// Odd returns why documents were left out, each reason once, and at most 20 of them.
func (x *Exchange) Odd() []string { return x.odd }

// Documents returns what the folder has to publish: all cards, the proposed plan and the signatures on it.
func (c Consortium) Documents() (all []Document, err error) {
	files, err := filepath.Glob(filepath.Join(string(c), "cards", "*.card"))
	if err != nil {
		return nil, fmt.Errorf("folder: %w", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "folder: %w", err)
		}
		if new(identity.Card).UnmarshalText(text) == nil {
			all = append(all, Document{DocumentCard, text})
		}
	}
	if plan, err := c.Proposed(); err != nil || plan == nil {
		return all, err
	}
	plan, _, err := c.Collect()
	if err != nil {
		return nil, err
	}
	text, err := (&protocol.SignedPlan{Plan: plan.Plan}).MarshalText()
	if err != nil {
		return nil, err
	}
	all = append(all, Document{DocumentPlan, text})
	for _, e := range plan.Accepts {
		data, err := e.Marshal()
		if err != nil {
			return nil, err
		}
		all = append(all, Document{DocumentAccept, data})
	}
	return all, nil
}

// Take takes a document that another site has published. Plans and signatures reach the folder by Settle.
// The error is one of the folder; a document that is malformed is left out.
func (x *Exchange) Take(d Document, now time.Time) error {
	limit, known := maxDocument[d.Kind]
	if !known || len(d.Data) > limit {
		x.leaveOut("a %.20q of %d bytes, at most %d", d.Kind, len(d.Data), limit)
		return nil
	}
	switch d.Kind {
	case DocumentCard:
		return x.takeCard(d.Data, now)
	case DocumentPlan:
		plan, err := protocol.UnmarshalSignedPlan(d.Data)
		if err != nil {
			x.leaveOut("a proposed plan: %v", err)
		} else if _, ok := plan.Plan.Index(x.Own); ok {
			x.plans = append(x.plans, &protocol.SignedPlan{Plan: plan.Plan})
		} else if x.Own != (identity.PublicKey{}) {
			x.leaveOut("a proposed plan (%.64q) that this site's key is not in: if this site should be, "+
				"another card has its name there", plan.Plan.Name)
		}
	case DocumentAccept:
		e, err := protocol.UnmarshalEnvelope(d.Data)
		if err != nil || e.Kind != protocol.KindAccept {
			x.leaveOut("a signature: malformed")
			return nil
		}
		x.accepts = append(x.accepts, e)
	}
	return nil
}

// takeCard puts a card into the folder unless there is one of this name.
func (x *Exchange) takeCard(text []byte, now time.Time) error {
	var card identity.Card
	err := card.UnmarshalText(text)
	if err == nil {
		err = card.Verify(now.Unix())
	}
	if err != nil {
		x.leaveOut("a card: %v", err)
		return nil
	}
	path := filepath.Join(string(x.Folder), "cards", card.Name+".card")
	have, err := ReadCard(path, now)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.WriteFile(path, text)
	case err != nil:
		x.leaveOut("a card of %s, since the one that is here is refused: %v", card.Name, err)
	case have.Key != card.Key:
		x.leaveOut("a second card of %s: %s has the key %s, and the other one %s; ask its people which is "+
			"theirs, and if need be make a new folder and --room", card.Name, path, have.Key.Fingerprint(),
			card.Key.Fingerprint())
	}
	return nil
}

// Settle brings the proposed plan and the signatures on it into the folder. The plan is the one with the
// fingerprint, if there is one; else the one that this site has signed; else the latest.
// Of what is not in the folder then it keeps the last of many: it is to be called for some documents at a
// time.
func (x *Exchange) Settle(fingerprint string) error {
	defer x.forget()
	plan, err := x.Folder.Proposed()
	if err != nil {
		return err
	}
	if next := x.choose(plan, fingerprint); next != nil {
		text, err := next.MarshalText()
		if err != nil {
			return err
		}
		if err := atomicfile.WriteFile(x.Folder.proposed(), text); err != nil {
			return err
		}
		plan = next
	}
	if plan == nil {
		return nil
	}
	return x.settleAccepts(plan.Plan)
}

// What an Exchange keeps after Settle of what the folder does not have: anybody may publish plans that name
// this site, and signatures on plans that are not there.
const (
	maxPlans   = 16
	maxAccepts = 1 << 14
)

// forget drops the oldest proposals and signatures beyond what is kept.
func (x *Exchange) forget() {
	if n := len(x.plans) - maxPlans; n > 0 {
		x.plans = slices.Delete(x.plans, 0, n)
	}
	if n := len(x.accepts) - maxAccepts; n > 0 {
		x.accepts = slices.Delete(x.accepts, 0, n)
		x.leaveOut("signatures on other plans than the proposed one: more than %d", maxAccepts)
	}
}

// choose returns the plan that is to take the proposed one's place, nil if none is.
func (x *Exchange) choose(have *protocol.SignedPlan, fingerprint string) *protocol.SignedPlan {
	is := func(p *protocol.SignedPlan) bool { return sameFingerprint(fingerprint, Fingerprint(p.Plan.ID())) }
	if i := slices.IndexFunc(x.plans, is); i >= 0 {
		return x.unless(have, x.plans[i])
	}
	if len(x.plans) == 0 || have != nil && (is(have) || x.Folder.signedBy(have.Plan, x.Own)) {
		return nil
	}
	last := x.plans[len(x.plans)-1]
	for _, p := range x.plans {
		if p.Plan.ID() != last.Plan.ID() {
			x.leaveOut("an earlier proposal with the fingerprint %s", Fingerprint(p.Plan.ID()))
		}
	}
	return x.unless(have, last)
}

// unless returns next unless it is the plan that is there.
func (x *Exchange) unless(have, next *protocol.SignedPlan) *protocol.SignedPlan {
	if have != nil && have.Plan.ID() == next.Plan.ID() {
		return nil
	}
	return next
}

// settleAccepts puts the signatures on a plan into the folder, next to those that are there.
func (x *Exchange) settleAccepts(p *protocol.Plan) error {
	s := protocol.Bind(p)
	for _, e := range x.accepts {
		if e.Plan != s.ID {
			continue
		}
		if err := s.Check(e); err != nil {
			x.leaveOut("a signature: %v", err)
			continue
		}
		path := x.Folder.signature(s.Name(e.From))
		if copied, err := ReadPlan(path); err == nil && copied.Plan.ID() == s.ID {
			continue
		}
		text, err := (&protocol.SignedPlan{Plan: p, Accepts: []*protocol.Envelope{e}}).MarshalText()
		if err != nil {
			return err
		}
		if err := atomicfile.WriteFile(path, text); err != nil {
			return err
		}
	}
	x.accepts = slices.DeleteFunc(x.accepts, func(e *protocol.Envelope) bool { return e.Plan == s.ID })
	return nil
}

// roomFile is the file with the name of the consortium's room on the broker.
func (c Consortium) roomFile() string { return filepath.Join(string(c), "room") }

// Room returns the name of the room on the broker through which the folder is exchanged; "" if it is not.
func (c Consortium) Room() (string, error) {
	text, err := os.ReadFile(c.roomFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	name := strings.TrimSpace(string(text))
	if err == nil {
		err = identity.CheckName(name)
	}
	if err != nil {
		return "", protocol.Fail(protocol.ClassInput, "%s: %w", c.roomFile(), err)
	}
	return name, nil
}

// SetRoom enters the name of the room. An empty name is that of the folder. Another one is refused.
func (c Consortium) SetRoom(name string) error {
	have, err := c.Room()
	switch {
	case err != nil:
		return err
	case have != "" && (name == "" || name == have):
		return nil
	case have != "":
		return protocol.Fail(protocol.ClassInput, "--room: %s is exchanged through the room %q, not %q: give "+
			"another folder for another room", string(c), have, name)
	}
	if name == "" {
		full, err := filepath.Abs(string(c))
		if err != nil {
			return protocol.Fail(protocol.ClassInput, "folder: %w", err)
		}
		name = filepath.Base(full)
	}
	if err := identity.CheckName(name); err != nil {
		return protocol.Fail(protocol.ClassInput, "--room: %w: all sites give the same name", err)
	}
	return atomicfile.WriteFile(c.roomFile(), []byte(name+"\n"))
}
