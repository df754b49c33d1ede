package protocol

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// heard reports whether a filter with the bus's wildcards matches a subject: "*" is one token, a
// last ">" is one or more.
func heard(filter, subject string) bool {
	f, s := strings.Split(filter, "."), strings.Split(subject, ".")
	for i := range f {
		if f[i] == ">" {
			return len(s) > i
		}
		if i >= len(s) || (f[i] != "*" && f[i] != s[i]) {
			return false
		}
	}
	return len(f) == len(s)
}

// TestSubjects: a role's filters match the subjects of what it needs and no others, and none under
// another plan.
func TestSubjects(t *testing.T) {
	s := testSession(t)
	share := &Chunk{Plan: s.ID.Prefix(), Context: shareContext, Index: 2} // alice to node-1
	others := s
	others.ID[0]++
	token := regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	for subject, want := range map[string][]uint32{ // 0-2 parties, 3-4 nodes, 5 the aggregator
		s.SubjectKey(3):                         {0, 1, 2},
		s.SubjectKey(5):                         {0, 1, 2, 3, 4},
		s.SubjectOpen(1, 3):                     {3},
		s.SubjectOpen(1, 5):                     {5},
		s.SubjectOpen(3, 5):                     {5},
		s.SubjectGroup(1):                       {1},
		s.SubjectControl():                      {0, 1, 2, 3, 4, 5},
		s.SubjectShare(share):                   {3},
		s.SubjectContribution(1, 2, 3):          {1, 3, 4, 5},
		s.SubjectReceipt(3, 1, 2, 3):            {1},
		s.SubjectHold(3, 1, 2):                  {3, 4, 5},
		s.SubjectAgree(3, 1, 2):                 {3, 4, 5},
		s.SubjectConfirm(3, 1, 2):               {0, 1, 2, 3, 5},
		s.SubjectPartial(3, 1, 2, "head"):       {3, 5},
		s.SubjectPartial(3, 1, 2, "0"):          {5},
		s.SubjectPartial(3, 1, 2, "manifest-0"): {5},
		s.SubjectResult(1, 2, "head"):           {0, 1, 2, 3, 4},
		s.SubjectResult(1, 2, "7"):              {0, 1, 2},
		others.SubjectControl():                 nil,
	} {
		tokens := strings.Split(subject, ".")
		if len(tokens) > 16 || !slices.ContainsFunc([]BoundPlan{s, others},
			func(s BoundPlan) bool { return tokens[1] == s.ID.Short() }) {
			t.Errorf("%s: %d tokens", subject, len(tokens))
		}
		for _, tok := range tokens {
			if !token.MatchString(tok) {
				t.Errorf("%s: the token %q", subject, tok)
			}
		}
		var got []uint32
		for i := range uint32(6) {
			if slices.ContainsFunc(s.Filters(i), func(f string) bool { return heard(f, subject) }) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s reaches %v, not %v", subject, got, want)
		}
	}
	if s.Name(1) != "bob" || s.Name(77) != "member-77" {
		t.Error("names")
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		RoleParty.String():       "party",
		RoleCompute.String():     "compute",
		RoleAggregator.String():  "aggregator",
		Role(9).String():         "role(9)",
		NoiseNone.String():       "none",
		NoiseParty.String():      "party",
		NoiseCompute.String():    "compute",
		Placement(9).String():    "placement(9)",
		OutcomeAccepted.String(): "accepted",
		OutcomeVoid.String():     "void",
		OutcomeRejected.String(): "rejected",
		Outcome(9).String():      "outcome(9)",
		KindPartial.String():     "partial sum",
		Kind(99).String():        "kind(99)",
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestRoster(t *testing.T) {
	p := testPlan()
	slices.Reverse(p.Members)
	p.SortMembers()
	if !slices.Equal(p.Members, testPlan().Members) {
		t.Error("another order")
	}
	if p.Parties() != 3 || p.Computes() != 2 || p.Compute(1) != 4 || p.Aggregator() != 5 {
		t.Error("indices")
	}
	if i, ok := p.Index(testKey(4).Public()); !ok || i != 4 {
		t.Error(i, ok)
	}
	if p.Is(6, RoleParty) || !p.Is(5, RoleAggregator) || p.Is(5, RoleParty) {
		t.Error("roles")
	}
}

// TestSubjectsLiterally: the subjects that are built without fmt are those of brokers' permissions
// and other implementations, also for members outside the roster.
func TestSubjectsLiterally(t *testing.T) {
	s := testSession(t)
	const most = 1<<32 - 1
	for _, n := range []uint32{0, 1, 2, 9, 10, 77, 1 << 20, most} {
		for got, want := range map[string]string{
			s.SubjectShare(&Chunk{Context: Context{From: n, To: 3, Round: n, Attempt: 12},
				Index: n}): fmt.Sprintf("share.%d.%s.node-1.%d.12.%d", slotOf(n), s.Name(n), n, n),
			s.SubjectContribution(n, most, n): fmt.Sprintf("commit.%d.%s.4294967295.%d", slotOf(n), s.Name(n), n),
			s.SubjectReceipt(4, n, n, 1<<31):  fmt.Sprintf("receipt.node-2.%s.%d.2147483648", s.Name(n), n),
		} {
			if want = "choir." + s.ID.Short() + "." + want; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}
