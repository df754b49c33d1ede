package verify_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/commit"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
	"choir/crypto/identity"
	"choir/crypto/share"
	"choir/protocol"
	"choir/session/app"
)

// script writes transcripts with all members' keys, so that a test can have any member sign
// anything.
type script struct {
	t       *testing.T
	keys    []*identity.PrivateKey
	signed  *protocol.SignedPlan
	s       protocol.BoundPlan
	model   protocol.Model
	now     []int64
	bases   *commit.Generators
	rand    *rand.ChaCha8
	entries [][]byte

	last protocol.Digest     // of the last result of a sum
	due  []*protocol.Confirm // of the last result, by node
}

// newScript signs a plan of three parties (N_min 2), two compute nodes and an
// aggregator: two rounds of a sum of two coordinates, one spare attempt.
func newScript(t *testing.T, alter func(*protocol.Plan)) *script {
	t.Helper()
	p := &protocol.Plan{
		Name:              "script",
		Created:           1_700_000_000,
		NotAfter:          1_700_086_400,
		Suite:             channel.SuiteX25519,
		Dim:               2,
		FracBits:          8,
		Rounds:            2,
		SpareAttempts:     1,
		MinParties:        2,
		UnsafeDifferences: true,
		DeadlineMS:        1000,
		Clip:              1000,
		PerParty:          1000,
		Application:       "sum",
	}
	w := &script{t: t, rand: rand.NewChaCha8([32]byte{1})}
	for i, m := range []struct {
		name string
		role protocol.Role
	}{
		{name: "ann", role: protocol.RoleParty},
		{name: "ben", role: protocol.RoleParty},
		{name: "cleo", role: protocol.RoleParty},
		{name: "node-a", role: protocol.RoleCompute},
		{name: "node-b", role: protocol.RoleCompute},
		{name: "sum", role: protocol.RoleAggregator},
	} {
		w.keys = append(w.keys, identity.FromSeed([32]byte{byte(i + 1)}))
		p.Members = append(p.Members, protocol.Member{Name: m.name, Role: m.role, Key: w.keys[i].Public(),
			NotAfter: p.NotAfter})
	}
	if alter != nil {
		alter(p)
	}
	w.plan(p)
	return w
}

// plan signs a plan and starts a transcript under it.
func (w *script) plan(p *protocol.Plan) {
	w.t.Helper()
	w.signed = &protocol.SignedPlan{Plan: p}
	for _, k := range w.keys {
		w.must(w.signed.Sign(k))
	}
	var err error
	w.s = protocol.Bind(p)
	w.model, err = app.NewModel(p)
	w.must(err)
	w.bases, err = p.Generators()
	w.must(err)
	w.now = w.model.Initial()
}

func (w *script) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// record signs a message of a member and adds it to the transcript.
func (w *script) record(from uint32, m protocol.Message) {
	w.t.Helper()
	b, err := w.s.Sign(w.keys[from], from, m)
	w.must(err)
	w.entries = append(w.entries, b)
}

// begin records the aggregator's key and all channels.
func (w *script) begin() *script {
	public := bytes.Repeat([]byte{7}, 32)
	w.record(5, &protocol.Key{Number: 1, Public: public, NotAfter: w.s.Plan.NotAfter})
	w.entries = append(w.entries, protocol.TranscriptSecret(scriptSecret))
	for i := range uint32(5) {
		w.record(i, &protocol.Open{To: 5, Key: protocol.KeyDigest(w.s, 5, public),
			Enc: bytes.Repeat([]byte{byte(i)}, 32)})
	}
	return w
}

// contribution returns a party's manifest for an attempt, and the blinding shares in it.
func (w *script) contribution(
	round, attempt, party uint32, value []int64,
) (*protocol.Contribution, []*commit.Scalar) {
	c := &protocol.Contribution{Round: round, Attempt: attempt, Model: w.digest(round-1, w.now), Last: w.last,
		Explicit: uint32(share.ExplicitIndex(int(party), int(round), 2)),
		Vector:   protocol.Digest{byte(party)}, Confirm: make([][16]byte, 2)}
	if w.bases == nil {
		return c, nil
	}
	r, err := commit.RandomScalar(w.rand)
	w.must(err)
	c.Commitment, err = w.bases.Commit(w.integers(value), r)
	w.must(err)
	shares, err := r.Split(2, w.rand)
	w.must(err)
	c.Blinding = make([]protocol.SealedScalar, 2)
	return c, shares
}

// attempt records a whole honest attempt: the Round, the contributions of the given values'
// parties, both lists of the counted parties, the Agrees, and what follows from them.
func (w *script) attempt(round, attempt uint32, values map[uint32][]int64, counted ...uint32) *script {
	w.t.Helper()
	w.record(5, &protocol.Round{Round: round, Attempt: attempt, Model: w.digest(round-1, w.now), Last: w.last})
	w.confirm()
	sum, entries, blind := make([]int64, len(w.now)), []protocol.Entry{}, [2][]*commit.Scalar{}
	var total commit.Commitment
	var commitments []commit.Commitment
	for p := range uint32(3) {
		v, ok := values[p]
		if !ok {
			continue
		}
		c, shares := w.contribution(round, attempt, p, v)
		w.record(p, c)
		bundle, err := c.BundleDigest(w.s, p)
		w.must(err)
		if !contains(counted, p) {
			continue
		}
		entries = append(entries, protocol.Entry{Party: p, Bundle: bundle})
		for i := range sum {
			sum[i] += v[i]
		}
		for k := range shares {
			blind[k] = append(blind[k], shares[k])
		}
		commitments = append(commitments, c.Commitment)
	}
	if w.bases != nil {
		var err error
		total, err = commit.Sum(commitments)
		w.must(err)
	}
	for k := range uint32(2) {
		w.record(3+k, &protocol.Hold{Round: round, Attempt: attempt, Last: w.last, Entries: entries})
	}
	set := protocol.SetDigest(w.s, round, attempt, entries)
	vectors, openings := w.parts(round, sum, blind)
	for k := range uint32(2) {
		a := &protocol.Agree{Round: round, Attempt: attempt, Count: uint32(len(entries)), Set: set}
		if len(entries) >= int(w.s.Plan.MinParties) {
			a.Partial = protocol.VectorDigest(vectors[k], openings[k])
			a.Commitments = total
		}
		w.record(3+k, a)
	}
	if len(entries) < int(w.s.Plan.MinParties) {
		w.result(&protocol.Result{Round: round, Attempt: attempt, Outcome: protocol.OutcomeVoid}, nil, nil)
		return w
	}
	w.reveal(round, attempt, entries, sum, blind, total)
	if round == w.s.Plan.Rounds {
		w.confirm()
	}
	return w
}

// confirm records the nodes' Confirms of the last result.
func (w *script) confirm() {
	w.t.Helper()
	for k, m := range w.due {
		w.record(uint32(3+k), m)
	}
	w.due = nil
}

// result records a result, and keeps what the nodes confirm of it.
func (w *script) result(r *protocol.Result, vectors []field.Vector, openings []protocol.Opening) {
	w.t.Helper()
	w.record(5, r)
	digest, err := protocol.ResultDigest(r)
	w.must(err)
	for k := range 2 {
		m := &protocol.Confirm{Round: r.Round, Attempt: r.Attempt, Result: digest}
		if vectors != nil {
			f := w.s.Fingerprint(digest)
			f.Write(vectors[k])
			m.Value = openings[k].Value(f)
			w.last = digest
		}
		w.due = append(w.due, m)
	}
}

// integers returns the integers of the elements of coordinates.
func (w *script) integers(coordinates []int64) []int64 {
	w.t.Helper()
	ints, err := w.s.Plan.Integers(make([]int64, w.s.Plan.Elements()), coordinates)
	w.must(err)
	return ints
}

func contains(list []uint32, p uint32) bool {
	for _, x := range list {
		if x == p {
			return true
		}
	}
	return false
}

// parts returns the nodes' partial sums of a sum, with their openings.
func (w *script) parts(
	round uint32, sum []int64, blind [2][]*commit.Scalar,
) (vectors [2]field.Vector, openings [2]protocol.Opening) {
	w.t.Helper()
	ints := w.integers(sum)
	vectors[0] = field.Vector{11, field.Element(field.MaxSigned)}[:len(ints)]
	vectors[1] = make(field.Vector, len(ints))
	w.must(fixedpoint.ToField(vectors[1], ints))
	vectors[1].Sub(vectors[0])
	for k := range openings {
		openings[k].Salt = [32]byte{byte(round), byte(k)}
		if w.bases != nil {
			openings[k].Blinding = [32]byte(commit.SumScalars(blind[k]).Bytes())
		}
	}
	return vectors, openings
}

func (w *script) reveal(
	round, attempt uint32, set []protocol.Entry, sum []int64, blind [2][]*commit.Scalar, total commit.Commitment,
) {
	w.t.Helper()
	ints := w.integers(sum)
	vectors, openings := w.parts(round, sum, blind)
	r := &protocol.Result{Round: round, Attempt: attempt, Outcome: protocol.OutcomeAccepted, Set: set,
		Aggregate: w.digest(round, ints), Commitments: total}
	for k, v := range vectors {
		m := &protocol.Partial{Round: round, Attempt: attempt, Set: protocol.SetDigest(w.s, round, attempt, set),
			Opening: [80]byte{byte(k)}} // sealed for the aggregator: a verifier does not open it
		opening := openings[k]
		m.Vector = protocol.VectorDigest(v, opening)
		w.record(uint32(3+k), m)
		w.entries = append(w.entries, vectorEntry(v, opening))
		r.Partials = append(r.Partials, m.Vector)
	}
	limit, err := w.s.Plan.MaxSum()
	w.must(err)
	next := w.now
	if _, err := w.s.Plan.OpenSum(w.integers(sum), limit); err != nil {
		r.Outcome = protocol.OutcomeRejected
	} else {
		next, err = w.model.Fold(round, w.now, sum)
		w.must(err)
	}
	r.Next, w.now = w.digest(round, next), next
	w.result(r, vectors[:], openings[:])
}

// alter has the author of the n-th message of type M sign another one.
func alter[M protocol.Message](w *script, n int, change func(m M)) int {
	w.t.Helper()
	for i, b := range w.entries {
		e, m, err := w.s.Receive(b)
		if err != nil {
			continue // a vector
		}
		if m, ok := m.(M); ok {
			if n--; n < 0 {
				change(m)
				if w.entries[i], err = w.s.Sign(w.keys[e.From], e.From, m); err != nil {
					w.t.Fatal(err)
				}
				return i
			}
		}
	}
	w.t.Fatal("no such entry")
	return 0
}

// vectorEntry returns the transcript's entry of a vector.
func vectorEntry(v field.Vector, o protocol.Opening) []byte {
	b := protocol.EmptyTranscriptVector(len(v))
	protocol.SetTranscriptOpening(b, o)
	field.PutVector(b[protocol.TranscriptVectorHeader:], v)
	return b
}

// scriptSecret keys the digests of a script's transcript.
var scriptSecret = protocol.DigestSecret{5}

func (w *script) digest(round uint32, v []int64) protocol.Digest {
	return protocol.IntDigest(scriptSecret.Key(round), v)
}

// values are the vectors of three parties.
func values() map[uint32][]int64 {
	return map[uint32][]int64{0: {1, -2}, 1: {10, 20}, 2: {-300, 400}}
}
