package protocol

import (
	"math"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"choir/crypto/channel"
	"choir/crypto/commit"
)

// sameFields compares messages; a nil list equals an empty one.
var sameFields = cmpopts.EquateEmpty()

func digests() *rapid.Generator[Digest] {
	return rapid.Custom(func(t *rapid.T) Digest {
		return Digest(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
	})
}

func blobs(max int) *rapid.Generator[[]byte] { return rapid.SliceOfN(rapid.Byte(), 0, max) }

func texts(max int) *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.ByteRange(' ', '~'), 0, max),
		func(b []byte) string { return string(b) })
}

func fromOne() *rapid.Generator[uint32] { return rapid.Uint32Range(1, math.MaxUint32) }

// entrySets generates sets in increasing order of party, including the extremes.
func entrySets() *rapid.Generator[[]Entry] {
	return rapid.Custom(func(t *rapid.T) []Entry {
		m := rapid.MapOfN(rapid.Uint32(), digests(), 0, 6).Draw(t, "set")
		var set []Entry
		for p, d := range m {
			set = append(set, Entry{p, d})
		}
		sortEntries(set)
		return set
	})
}

func sortEntries(set []Entry) {
	for i := range set {
		for j := i; j > 0 && set[j].Party < set[j-1].Party; j-- {
			set[j], set[j-1] = set[j-1], set[j]
		}
	}
}

// messageOf generates any message of a kind that can be encoded.
func messageOf(t *rapid.T, k Kind) Message {
	round, attempt := fromOne().Draw(t, "round"), fromOne().Draw(t, "attempt")
	d := func() Digest { return digests().Draw(t, "digest") }
	switch k {
	case KindAccept:
		return &Accept{}
	case KindKey:
		k := &Key{Number: 1, Public: blobs(64).Draw(t, "public"), NotAfter: rapid.Int64().Draw(t, "not after")}
		for i := range rapid.Uint32Range(0, 3).Draw(t, "parties") {
			k.Number = 2
			k.For = append(k.For, 2*i)
		}
		return k
	case KindOpen:
		return &Open{rapid.Uint32().Draw(t, "to"), d(), blobs(64).Draw(t, "enc")}
	case KindGroup:
		return &Group{rapid.Uint32().Draw(t, "to"), blobs(64).Draw(t, "sealed")}
	case KindRound:
		return &Round{round, attempt, d(), d()}
	case KindContribution:
		return contributionOf(t, round, attempt)
	case KindReceipt:
		return receiptOf(t, round, attempt)
	case KindHold:
		return &Hold{round, attempt, d(), entrySets().Draw(t, "entries")}
	case KindAgree:
		return &Agree{round, attempt, rapid.Uint32().Draw(t, "count"), d(), d(), commit.Commitment(d())}
	case KindPartial:
		o := d()
		return &Partial{round, attempt, d(), d(), [80]byte(append(append(o[:], o[:]...), o[:16]...))}
	case KindResult:
		return resultOf(t, round, attempt)
	case KindAbort:
		return &Abort{rapid.Uint8Range(1, 7).Draw(t, "class"), texts(512).Draw(t, "reason")}
	case KindConfirm:
		value := hashToExt(d())
		c := &Confirm{round, attempt, d(), newValue(value), 0, nil}
		for i := range rapid.Uint32Range(0, 3).Draw(t, "parties") {
			c.Key = 2
			c.For = append(c.For, 2*i)
		}
		return c
	}
	return mixMessageOf(t, k, round, attempt)
}

// mixMessageOf is messageOf for the messages of the mix-net.
func mixMessageOf(t *rapid.T, k Kind, round, attempt uint32) Message {
	d := func() Digest { return digests().Draw(t, "digest") }
	increasing := func(name string) (list []uint32) {
		for i := range rapid.Uint32Range(0, 3).Draw(t, name) {
			list = append(list, 3*i)
		}
		return list
	}
	switch k {
	case KindMixRound:
		return &MixRound{round, attempt, blobs(64).Draw(t, "public")}
	case KindMixKeys:
		return &MixKeys{round, attempt, blobs(64).Draw(t, "outer"), blobs(64).Draw(t, "inner")}
	case KindOnion:
		return &Onion{round, attempt, rapid.Uint32().Draw(t, "entries"), rapid.Uint32().Draw(t, "index"), d(),
			blobs(64).Draw(t, "sealed")}
	case KindMixBatch:
		b := &MixBatch{Round: round, Attempt: attempt, Stage: rapid.Uint32().Draw(t, "stage"),
			Before: d(), Parties: increasing("parties"), Entries: increasing("entries"), Failed: increasing("failed"),
			Repeated: increasing("repeated"), Content: d()}
		for range rapid.IntRange(0, 3).Draw(t, "digests") {
			whole := d()
			b.Digests = append(b.Digests, MixDigest(whole[:16]))
		}
		return b
	case KindMixPiece:
		return &MixPiece{round, attempt, rapid.Uint32().Draw(t, "stage"), rapid.Uint32().Draw(t, "index"),
			blobs(64).Draw(t, "entries")}
	case KindMixGo:
		return &MixGo{round, attempt, d()}
	case KindMixAgree:
		return &MixAgree{round, attempt, d(), increasing("parties")}
	case KindMixComplaint:
		return &MixComplaint{round, attempt, rapid.Uint32().Draw(t, "about"), texts(512).Draw(t, "reason"),
			blobs(64).Draw(t, "piece")}
	case KindMixResult:
		return mixResultOf(t, round, attempt)
	}
	t.Fatalf("no generator for %s", k)
	return nil
}

func mixResultOf(t *rapid.T, round, attempt uint32) *MixResult {
	m := &MixResult{Round: round, Attempt: attempt, Outcome: Outcome(rapid.Uint8Range(1, 3).Draw(t, "outcome")),
		List: digests().Draw(t, "list"), Suspect: Everyone}
	if m.Outcome == OutcomeAccepted {
		m.Opened = digests().Draw(t, "opened")
		m.Count = rapid.Uint32().Draw(t, "count")
		return m
	}
	m.Suspect = rapid.Uint32().Draw(t, "suspect")
	m.Reason = texts(512).Draw(t, "reason")
	return m
}

func contributionOf(t *rapid.T, round, attempt uint32) *Contribution {
	c := &Contribution{Round: round, Attempt: attempt, Model: digests().Draw(t, "model"),
		Last:       digests().Draw(t, "last"),
		Salt:       PlanID(digests().Draw(t, "salt")).Prefix(),
		Vector:     digests().Draw(t, "vector"),
		Commitment: [32]byte(digests().Draw(t, "commitment"))}
	c.Confirm = make([][16]byte, rapid.IntRange(1, 5).Draw(t, "nodes"))
	for i := range c.Confirm {
		c.Confirm[i][0] = rapid.Byte().Draw(t, "tag")
	}
	c.Explicit = rapid.Uint32Range(0, uint32(len(c.Confirm)-1)).Draw(t, "explicit")
	c.Blinding = make([]SealedScalar, rapid.IntRange(0, 5).Draw(t, "shares"))
	for i := range c.Blinding {
		c.Blinding[i][47] = rapid.Byte().Draw(t, "share")
	}
	return c
}

func receiptOf(t *rapid.T, round, attempt uint32) *Receipt {
	m := &Receipt{Round: round, Attempt: attempt, Party: rapid.Uint32().Draw(t, "party"),
		Bundle: digests().Draw(t, "bundle"),
		Count:  rapid.Uint32Range(1, MaxMembers).Draw(t, "count")}
	m.Index = rapid.Uint32Range(0, m.Count-1).Draw(t, "index")
	for range pathLength(m.Index, m.Count) {
		m.Path = append(m.Path, digests().Draw(t, "path"))
	}
	return m
}

func resultOf(t *rapid.T, round, attempt uint32) *Result {
	r := &Result{Round: round, Attempt: attempt, Outcome: Outcome(rapid.Uint8Range(1, 3).Draw(t, "outcome"))}
	if r.Outcome != OutcomeVoid {
		r.Set, r.Aggregate, r.Next = entrySets().Draw(t, "set"), digests().Draw(t, "sum"), digests().Draw(t, "next")
		r.Partials = rapid.SliceOfN(digests(), 0, 4).Draw(t, "partials")
		r.Commitments = [32]byte(digests().Draw(t, "commitments"))
		r.Trace[31] = rapid.Byte().Draw(t, "trace")
		r.Chunks = rapid.SliceOfN(digests(), 0, 4).Draw(t, "chunks")
	}
	return r
}

func signedKinds() []Kind {
	var kinds []Kind
	for k := KindAccept; k <= KindMixResult; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

func plans() *rapid.Generator[*Plan] {
	return rapid.Custom(func(t *rapid.T) *Plan {
		u32 := func(n string) uint32 { return rapid.Uint32().Draw(t, n) }
		u64 := func(n string) uint64 { return rapid.Uint64().Draw(t, n) }
		finite := rapid.Float64().Filter(func(f float64) bool {
			return !math.IsInf(f, 0) && !math.IsNaN(f) &&
				(f != 0 || !math.Signbit(f))
		})
		p := &Plan{
			Name:          texts(64).Draw(t, "name"),
			Created:       rapid.Int64().Draw(t, "created"),
			NotAfter:      rapid.Int64().Draw(t, "not after"),
			Suite:         channel.Suite(rapid.Byte().Draw(t, "suite")),
			Dim:           u32("dim"),
			FracBits:      rapid.Byte().Draw(t, "frac"),
			Rounds:        u32("rounds"),
			SpareAttempts: u32("spare"),
			MinParties:    u32("min"),
			Colluders:     u32("colluders"),
			DeadlineMS:    u32("deadline"),
			GraceMS:       u32("grace"),
			Clip:          u64("clip"),
			PerParty:      u64("per party"),
			Noise:         Placement(rapid.Byte().Draw(t, "noise")),
			Variance:      u64("variance"),
			Relation:      rapid.Byte().Draw(t, "relation"),
			Sensitivity:   u64("sensitivity"),
			Epsilon:       finite.Draw(t, "epsilon"),
			Delta:         finite.Draw(t, "delta"),
			Paired:        rapid.Bool().Draw(t, "paired"),
			Accountant:    texts(64).Draw(t, "accountant"),
			Audit:         rapid.Bool().Draw(t, "audit"),
			Application:   texts(32).Draw(t, "app"),
			Parameters:    blobs(64).Draw(t, "parameters"),
		}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			p.Members = append(p.Members, Member{Name: texts(32).Draw(t, "member"),
				Role: Role(rapid.Byte().Draw(t, "role")),
				Key:  [32]byte(digests().Draw(t, "key")), NotAfter: rapid.Int64().Draw(t, "expiry")})
		}
		return p
	})
}
