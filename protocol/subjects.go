package protocol

import (
	"fmt"
	"strconv"
)

// Subjects name where messages are published. They serve routing and a broker's permissions.
// No member trusts a message because of its subject.

func (s BoundPlan) subject(format string, args ...any) string {
	return "choir." + s.ID.Short() + "." + fmt.Sprintf(format, args...)
}

func (s BoundPlan) name(i uint32) string {
	if uint64(i) < uint64(len(s.Plan.Members)) {
		return s.Plan.Members[i].Name
	}
	return fmt.Sprintf("member-%d", i)
}

// Name returns a member's name, or "member-<i>" for an index outside the roster.
func (s BoundPlan) Name(i uint32) string { return s.name(i) }

// SubjectKey is the subject of a member's Key.
func (s BoundPlan) SubjectKey(owner uint32) string { return s.subject("key.%s", s.name(owner)) }

// SubjectOpen is the subject of an Open.
func (s BoundPlan) SubjectOpen(from, to uint32) string {
	return s.subject("open.%s.%s", s.name(from), s.name(to))
}

// SubjectGroup is the subject of a member's Group.
func (s BoundPlan) SubjectGroup(to uint32) string { return s.subject("group.%s", s.name(to)) }

// SubjectControl is the subject of Round and Abort.
func (s BoundPlan) SubjectControl() string { return s.subject("ctl") }

// Slots is the number of slots into which the parties of a plan are divided. The subjects of
// what parties send to compute nodes have the party's slot, so that each of a node's workers
// can subscribe to a part of the parties.
const Slots = 64

// slotOf is a party's slot. Multiples of the golden ratio fill 0..Slots-1 evenly for any number
// of parties, independently of which node gets a party's explicit share (Knuth, The Art of
// Computer Programming 3, section 6.4).
func slotOf(party uint32) uint32 { return party * 2654435769 >> 26 }

// SubjectShare is the subject of a chunk of an explicit share.
func (s BoundPlan) SubjectShare(c *Chunk) string {
	p := s.path("share").number(slotOf(c.From)).name(s.name(c.From)).name(s.name(c.To))
	return string(p.number(c.Round).number(c.Attempt).number(c.Index))
}

// SubjectContribution is the subject of a Contribution.
func (s BoundPlan) SubjectContribution(party, round, attempt uint32) string {
	return string(s.path("commit").number(slotOf(party)).name(s.name(party)).number(round).number(attempt))
}

// SubjectReceipt is the subject of a Receipt.
func (s BoundPlan) SubjectReceipt(node, party, round, attempt uint32) string {
	return string(s.path("receipt").name(s.name(node)).name(s.name(party)).number(round).number(attempt))
}

// path builds a subject without fmt, for the subjects that are needed for each contribution.
type path []byte

func (s BoundPlan) path(topic string) path {
	b := append(make([]byte, 0, 128), "choir."...)
	return append(append(append(b, s.ID.Short()...), '.'), topic...)
}

func (p path) name(s string) path { return append(append(p, '.'), s...) }

func (p path) number(n uint32) path { return strconv.AppendUint(append(p, '.'), uint64(n), 10) }

// SubjectHold is the subject of a Hold.
func (s BoundPlan) SubjectHold(node, round, attempt uint32) string {
	return s.subject("hold.%s.%d.%d", s.name(node), round, attempt)
}

// SubjectAgree is the subject of an Agree.
func (s BoundPlan) SubjectAgree(node, round, attempt uint32) string {
	return s.subject("agree.%s.%d.%d", s.name(node), round, attempt)
}

// SubjectConfirm is the subject of a Confirm.
func (s BoundPlan) SubjectConfirm(node, round, attempt uint32) string {
	return s.subject("confirm.%s.%d.%d", s.name(node), round, attempt)
}

// SubjectPartial is the subject of a Partial ("head") or of a chunk of the partial sum.
func (s BoundPlan) SubjectPartial(node, round, attempt uint32, piece string) string {
	return s.subject("psum.%s.%d.%d.%s", s.name(node), round, attempt, piece)
}

// SubjectResult is the subject of a Result ("head") or of a chunk of the aggregate.
func (s BoundPlan) SubjectResult(round, attempt uint32, piece string) string {
	return s.subject("result.%d.%d.%s", round, attempt, piece)
}

// Filters returns the subjects to which a member subscribes.
func (s BoundPlan) Filters(member uint32) []string {
	me := s.name(member)
	f := []string{s.SubjectControl()}
	switch s.Plan.Members[member].Role {
	case RoleParty: // its own contributions show a store that was rolled back
		return append(f, s.subject("key.*"), s.subject("group.%s", me), s.subject("receipt.*.%s.>", me),
			s.subject("result.>"), s.subject("confirm.>"),
			string(s.path("commit").number(slotOf(member)).name(me))+".>")
	case RoleCompute:
		return append(f, s.subject("key.%s", s.name(s.Plan.Aggregator())), s.subject("open.*.%s", me),
			s.subject("share.*.*.%s.>", me), s.subject("commit.>"), s.subject("hold.>"), s.subject("agree.>"),
			s.subject("result.*.*.head"), s.subject("psum.%s.*.*.head", me), // its own, as the next
			s.subject("confirm.%s.>", me))
	default:
		return append(f, s.subject("open.*.%s", me), s.subject("commit.>"), s.subject("hold.>"),
			s.subject("agree.>"), s.subject("psum.>"), s.subject("confirm.>"))
	}
}
