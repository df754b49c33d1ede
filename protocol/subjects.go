package protocol

import (
	"fmt"
	"strconv"
)

// Subjects are where messages travel. They route and let a broker's
// permissions be written down; nobody believes anything because of the subject
// it came on.

func (s BoundPlan) subject(format string, args ...any) string {
	return "choir." + s.ID.Short() + "." + fmt.Sprintf(format, args...)
}

func (s BoundPlan) name(i uint32) string {
	if uint64(i) < uint64(len(s.Plan.Members)) {
		return s.Plan.Members[i].Name
	}
	return fmt.Sprintf("member-%d", i)
}

// Name is a member's name, or "member-<i>" for an index outside the roster.
func (s BoundPlan) Name(i uint32) string { return s.name(i) }

// SubjectKey carries a member's Key.
func (s BoundPlan) SubjectKey(owner uint32) string { return s.subject("key.%s", s.name(owner)) }

// SubjectOpen carries an Open.
func (s BoundPlan) SubjectOpen(from, to uint32) string {
	return s.subject("open.%s.%s", s.name(from), s.name(to))
}

// SubjectGroup carries a member's Group.
func (s BoundPlan) SubjectGroup(to uint32) string { return s.subject("group.%s", s.name(to)) }

// SubjectControl carries Round and Abort.
func (s BoundPlan) SubjectControl() string { return s.subject("ctl") }

// Slots is how many slots the parties of any plan are spread over. What parties
// send to compute nodes has the party's slot in its subject, so that several
// processes of one node can each listen to a part of the parties.
const Slots = 64

// Slot is a party's slot: the golden ratio's multiples fill 0..Slots-1 evenly for
// any number of parties, and independently of whose turn it is to send a node
// its explicit share (Knuth, The Art of Computer Programming 3, section 6.4).
func Slot(party uint32) uint32 { return party * 2654435769 >> 26 }

// SubjectShare carries a chunk of an explicit share.
func (s BoundPlan) SubjectShare(c *Chunk) string {
	p := s.path("share").number(Slot(c.From)).name(s.name(c.From)).name(s.name(c.To))
	return string(p.number(c.Round).number(c.Attempt).number(c.Index))
}

// SubjectContribution carries a Contribution.
func (s BoundPlan) SubjectContribution(party, round, attempt uint32) string {
	return string(s.path("commit").number(Slot(party)).name(s.name(party)).number(round).number(attempt))
}

// SubjectReceipt carries a Receipt.
func (s BoundPlan) SubjectReceipt(node, party, round, attempt uint32) string {
	return string(s.path("receipt").name(s.name(node)).name(s.name(party)).number(round).number(attempt))
}

// path is a subject that is put together without a format: of what every contribution is
// sent and answered on there are many.
type path []byte

func (s BoundPlan) path(topic string) path {
	b := append(make([]byte, 0, 128), "choir."...)
	return append(append(append(b, s.ID.Short()...), '.'), topic...)
}

func (p path) name(s string) path { return append(append(p, '.'), s...) }

func (p path) number(n uint32) path { return strconv.AppendUint(append(p, '.'), uint64(n), 10) }

// SubjectHold carries a Hold.
func (s BoundPlan) SubjectHold(node, round, attempt uint32) string {
	return s.subject("hold.%s.%d.%d", s.name(node), round, attempt)
}

// SubjectAgree carries an Agree.
func (s BoundPlan) SubjectAgree(node, round, attempt uint32) string {
	return s.subject("agree.%s.%d.%d", s.name(node), round, attempt)
}

// SubjectPartial carries a Partial ("head") or a chunk of the partial sum.
func (s BoundPlan) SubjectPartial(node, round, attempt uint32, piece string) string {
	return s.subject("psum.%s.%d.%d.%s", s.name(node), round, attempt, piece)
}

// SubjectResult carries a Result ("head") or a chunk of the aggregate.
func (s BoundPlan) SubjectResult(round, attempt uint32, piece string) string {
	return s.subject("result.%d.%d.%s", round, attempt, piece)
}

// Filters are the subjects that a member listens to.
func (s BoundPlan) Filters(member uint32) []string {
	me := s.name(member)
	f := []string{s.SubjectControl(), s.subject("agree.>")}
	switch s.Plan.Members[member].Role {
	case RoleParty:
		return append(f, s.subject("key.*"), s.subject("group.%s", me), s.subject("receipt.*.%s.>", me), s.subject("result.>"))
	case RoleCompute:
		return append(f, s.subject("key.%s", s.name(s.Plan.Aggregator())), s.subject("open.*.%s", me),
			s.subject("share.*.*.%s.>", me), s.subject("commit.>"), s.subject("hold.>"), s.subject("result.*.*.head"))
	default:
		return append(f, s.subject("open.*.%s", me), s.subject("commit.>"), s.subject("hold.>"), s.subject("psum.>"))
	}
}
