package protocol

import "slices"

// The messages of the mix-net, the back end of a shuffled plan for reports that are too long or have
// too many values for a sum of counts. Package mix has the roles, docs/protocol.md the protocol.
//
// With M compute nodes an attempt has 2M+1 batches. Batch 0 is the onions that the first node
// accepted; batch j, 1 <= j <= M, is the j-th node's after it removed an outer layer and shuffled,
// so that batch M is the list; batch M+j is the list after the j-th node opened an inner layer.

// MixRound opens an attempt of a round, with the key for the reports.
//
// Layout: u32 round | u32 attempt | bytes public.
type MixRound struct {
	Round   uint32 // from 1
	Attempt uint32 // from 1
	Public  []byte // HPKE public key of the aggregator
}

// MixKeys is a compute node's HPKE public keys for one attempt.
//
// Layout: u32 round | u32 attempt | bytes outer | bytes inner.
type MixKeys struct {
	Round   uint32
	Attempt uint32
	Outer   []byte // for the layer that the node removes before it shuffles
	Inner   []byte // for the layer that it opens once all nodes agree
}

// Onion is some of a party's reports, each sealed in two layers for each compute node.
//
// Layout: u32 round | u32 attempt | u32 entries | u32 index | 32 keys | bytes sealed.
type Onion struct {
	Round   uint32
	Attempt uint32
	Entries uint32 // number of the party's onions, in all its messages
	Index   uint32 // of the message, from 0
	Keys    Digest // of all keys of the attempt
	Sealed  []byte // the onions of this message, end to end
}

// MixDigest is the digest of an entry of a batch.
type MixDigest [16]byte

// MixBatch is a compute node's signed description of a batch that it made. The entries themselves
// follow in MixPieces, except for batch 0.
//
// Layout: u32 round | u32 attempt | u32 stage | 32 before | n* u32 party | n* u32 entries |
// n* u32 failed | n* u32 repeated | n* 16 digest | 32 content.
type MixBatch struct {
	Round    uint32
	Attempt  uint32
	Stage    uint32      // number of the batch
	Before   Digest      // of the signed description of the batch before; zero in that of batch 0
	Parties  []uint32    // batch 0: the senders of the onions, in increasing order
	Entries  []uint32    // batch 0: how many onions are of each
	Failed   []uint32    // positions in the batch before (of batch M+1: in the list) that did not open
	Repeated []uint32    // positions in the batch before that opened to the content of an earlier one
	Digests  []MixDigest // of the entries, in order; none after batch M
	Content  Digest      // of all entries
}

// MixPiece is some of a batch's entries. Those of the last batch are sealed for the aggregator.
//
// Layout: u32 round | u32 attempt | u32 stage | u32 index | bytes entries.
type MixPiece struct {
	Round   uint32
	Attempt uint32
	Stage   uint32
	Index   uint32 // from 0
	Entries []byte
}

// MixGo is a party's statement that its entry is in the list, without which one.
//
// Layout: u32 round | u32 attempt | 32 list.
type MixGo struct {
	Round   uint32
	Attempt uint32
	List    Digest
}

// MixAgree is a node's signature on the list that it is ready to open.
//
// Layout: u32 round | u32 attempt | 32 list | n* u32 party.
type MixAgree struct {
	Round   uint32
	Attempt uint32
	List    Digest
	Parties []uint32 // whose MixGo the node has, in increasing order
}

// MixComplaint is a node's statement that another node's batch is not what was promised. Without a piece
// that shows it, one of the two does not follow the protocol, or the broker kept messages back: nothing tells
// which.
//
// Layout: u32 round | u32 attempt | u32 about | text reason | bytes piece.
type MixComplaint struct {
	Round   uint32
	Attempt uint32
	About   uint32 // member index
	Reason  string
	Piece   []byte // the signed MixPiece that contradicts its batch's description or the list; may be empty
}

// MixResult is the outcome of an attempt. A void attempt opened nothing. In a rejected one the
// nodes had agreed, and the list was not opened to its end: the round is lost.
//
// Layout: u32 round | u32 attempt | u8 outcome | 32 list | 32 opened | u32 count | u32 suspect |
// text reason.
type MixResult struct {
	Round   uint32
	Attempt uint32
	Outcome Outcome
	List    Digest
	Opened  Digest // content of the last batch
	Count   uint32 // reports
	Suspect uint32 // member index, Everyone if no member is suspected
	Reason  string // at most 512 printable characters
}

func (*MixRound) kind() Kind     { return KindMixRound }
func (*MixKeys) kind() Kind      { return KindMixKeys }
func (*Onion) kind() Kind        { return KindOnion }
func (*MixBatch) kind() Kind     { return KindMixBatch }
func (*MixPiece) kind() Kind     { return KindMixPiece }
func (*MixGo) kind() Kind        { return KindMixGo }
func (*MixAgree) kind() Kind     { return KindMixAgree }
func (*MixComplaint) kind() Kind { return KindMixComplaint }
func (*MixResult) kind() Kind    { return KindMixResult }

// maxPublic bounds an HPKE public key, in bytes.
const maxPublic = 4096

func (m *MixRound) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.blob("public key", &m.Public, maxPublic)
}

func (m *MixKeys) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.blob("outer key", &m.Outer, maxPublic)
	w.blob("inner key", &m.Inner, maxPublic)
}

func (m *Onion) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.u32("entries", &m.Entries)
	w.u32("index", &m.Index)
	w.fixed("keys", m.Keys[:])
	w.blob("onion", &m.Sealed, maxBody)
}

func (m *MixBatch) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.u32("stage", &m.Stage)
	w.fixed("before", m.Before[:])
	w.increasing("party", &m.Parties)
	w.numbers("entries", &m.Entries)
	w.increasing("failed", &m.Failed)
	w.increasing("repeated", &m.Repeated)
	n := w.count("digests", len(m.Digests), len(MixDigest{}))
	if w.reading() {
		m.Digests = make([]MixDigest, n)
	}
	for i := range m.Digests {
		w.fixed("digest", m.Digests[i][:])
	}
	w.fixed("content", m.Content[:])
}

func (m *MixPiece) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.u32("stage", &m.Stage)
	w.u32("index", &m.Index)
	w.blob("entries", &m.Entries, maxBody)
}

func (m *MixGo) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.fixed("list", m.List[:])
}

func (m *MixAgree) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.fixed("list", m.List[:])
	w.increasing("party", &m.Parties)
}

func (m *MixComplaint) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.u32("about", &m.About)
	w.text("reason", &m.Reason, 512)
	w.blob("piece", &m.Piece, maxBody)
}

func (m *MixResult) fields(w *wire) {
	w.attempt(&m.Round, &m.Attempt)
	w.u8("outcome", (*uint8)(&m.Outcome))
	w.fixed("list", m.List[:])
	w.fixed("opened", m.Opened[:])
	w.u32("count", &m.Count)
	w.u32("suspect", &m.Suspect)
	w.text("reason", &m.Reason, 512)
	opened := m.Outcome == OutcomeAccepted
	switch {
	case w.err != nil:
	case m.Outcome < OutcomeAccepted || m.Outcome > OutcomeRejected:
		w.fail("no such outcome %d", m.Outcome)
	case !opened && (m.Opened != Digest{} || m.Count != 0):
		w.fail("a result that is not accepted has reports")
	case opened && (m.Suspect != Everyone || m.Reason != ""):
		w.fail("an accepted result has a suspect or a reason")
	}
}

// numbers is a list of numbers.
func (w *wire) numbers(name string, list *[]uint32) {
	if n := w.count(name, len(*list), 4); w.reading() {
		*list = make([]uint32, n)
	}
	for i := range *list {
		w.u32(name, &(*list)[i])
	}
}

// increasing is a list of numbers in strictly increasing order.
func (w *wire) increasing(name string, list *[]uint32) {
	w.numbers(name, list)
	for i := range *list {
		if w.err == nil && i > 0 && (*list)[i] <= (*list)[i-1] {
			w.fail("%s is not in increasing order at entry %d", name, i)
		}
	}
}

// Bounds on a plan with a mix-net.
const (
	MaxMixEntries = 1 << 14 // in a round
	maxMixReport  = 1 << 10 // bytes of a report, 8 for each number
)

// MixEntries returns the least and the largest number of reports that a party sends through a mix-net in a
// round: one of each column of each record, and one under a plan without Reports.
func (p *Plan) MixEntries() (least, most int) {
	if !p.Mixes() {
		return 1, 1
	}
	return int(p.Reports.Records) * int(p.Reports.Columns), int(p.Reports.MixRecords) * int(p.Reports.Columns)
}

// CheckMix returns why a plan's reports cannot go through a mix-net. The error is of ClassInput.
func (p *Plan) CheckMix() error {
	_, most := p.MixEntries()
	switch all := uint64(p.Parties()) * uint64(most); {
	case all > MaxMixEntries:
		return Fail(ClassInput, "mix-net: %d parties with up to %d reports each are more than %d reports; "+
			"allow fewer records (max_records), or use the back end sum", p.Parties(), most, MaxMixEntries)
	case 8*uint64(p.Dim) > maxMixReport:
		return Fail(ClassInput, "mix-net: a report of %d numbers is longer than %d bytes; "+
			"a mix-net carries at most %d numbers in a report", p.Dim, maxMixReport, maxMixReport/8)
	case p.MinParties < p.Colluders+2:
		return Fail(ClassInput, "mix-net: N_min = %d with T = %d hides a report among fewer "+
			"than two; N_min must be at least T + 2", p.MinParties, p.Colluders)
	case p.After != nil || p.Audit:
		return Fail(ClassInput, "mix-net: a plan with audit or a predecessor needs sums; use the back end sum")
	}
	return nil
}

// Printable returns at most 512 characters of a text, with a question mark in place of each that is
// not printable ASCII.
func Printable(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '?'
		}
	}
	return string(b[:min(len(b), 512)])
}

// SubjectMixKeys is the subject of a MixKeys.
func (s BoundPlan) SubjectMixKeys(node uint32) string { return s.subject("mix.key.%s", s.name(node)) }

// SubjectOnion is the subject of an Onion.
func (s BoundPlan) SubjectOnion(party uint32) string { return s.subject("mix.onion.%s", s.name(party)) }

// SubjectMixBatch is the subject of a MixBatch and a MixComplaint.
func (s BoundPlan) SubjectMixBatch(node uint32) string {
	return s.subject("mix.batch.%s", s.name(node))
}

// SubjectMixPiece is the subject of a MixPiece.
func (s BoundPlan) SubjectMixPiece(node, stage uint32) string {
	return s.subject("mix.piece.%s.%d", s.name(node), stage)
}

// SubjectMixGo is the subject of a MixGo.
func (s BoundPlan) SubjectMixGo(party uint32) string { return s.subject("mix.go.%s", s.name(party)) }

// SubjectMixAgree is the subject of a MixAgree.
func (s BoundPlan) SubjectMixAgree(node uint32) string {
	return s.subject("mix.agree.%s", s.name(node))
}

// MixFilters returns the subjects to which a member of a plan with a mix-net subscribes.
func (s BoundPlan) MixFilters(member uint32) []string {
	f := []string{s.SubjectControl(), s.subject("mix.key.*"), s.subject("mix.batch.*"), s.subject("mix.agree.*")}
	me, nodes := s.name(member), uint32(s.Plan.Computes())
	switch s.Plan.Members[member].Role {
	case RoleParty: // its own messages show a store that was rolled back
		return append(f, s.subject("mix.onion.%s", me), s.subject("mix.go.%s", me))
	case RoleCompute:
		f = append(f, s.subject("mix.go.*"))
		k := member - s.Plan.Compute(0) + 1
		if k == 1 {
			f = append(f, s.subject("mix.onion.*"))
		}
		stages := []uint32{k - 1, k, nodes, nodes + k - 1, nodes + k}
		slices.Sort(stages)
		for _, stage := range slices.Compact(stages) {
			f = append(f, s.subject("mix.piece.*.%d", stage))
		}
		return f
	default:
		return append(f, s.subject("mix.go.*"), s.subject("mix.piece.*.%d", nodes),
			s.subject("mix.piece.*.%d", 2*nodes))
	}
}
