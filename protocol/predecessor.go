package protocol

import (
	"bytes"
	"fmt"

	"choir/privacy"
)

// maxChain bounds the predecessors of a plan.
const maxChain = 64

// Predecessor is the plan that a successor plan goes on from, and where that plan stopped. The
// successor has its own id, and so its own keys, noise and masks; the model, the parties' private
// states and what the parties were charged go on.
type Predecessor struct {
	Plan  *Plan
	Round uint32 // of Plan, the last one whose result counts
	// Attempts is how many attempts of Plan a party was charged at most.
	Attempts uint32
	// Model is the keyed digest of the model after Round: Next of the round's Result.
	Model Digest
}

func (r *Predecessor) fields(w *wire) {
	if w.reading() {
		if w.depth++; w.depth > maxChain {
			w.fail("more than %d predecessors", maxChain)
			return
		}
		r.Plan = new(Plan)
	}
	w.within("predecessor", r.Plan, maxBlob)
	w.u32("predecessor's round", &r.Round)
	w.u32("predecessor's attempts", &r.Attempts)
	w.fixed("predecessor's model", r.Model[:])
}

// after is the predecessor, or nothing: it is the end of the plan.
func (p *Plan) after(w *wire) {
	has := p.After != nil
	if w.err != nil || w.reading() && len(w.b) == 0 || !w.reading() && !has {
		return
	}
	w.flag("predecessor", &has)
	if !has {
		w.fail("an empty predecessor")
		return
	}
	if w.reading() {
		p.After = new(Predecessor)
	}
	p.After.fields(w)
}

// RoundsBefore is the number of rounds of all predecessors: the application's rounds go on from
// there.
func (p *Plan) RoundsBefore() uint32 {
	if p.After == nil {
		return 0
	}
	return p.After.Plan.RoundsBefore() + p.After.Round
}

// AllRounds is the number of the plan's last round, counted from the first plan of the chain.
func (p *Plan) AllRounds() uint32 { return p.RoundsBefore() + p.Rounds }

// SameParties reports whether two plans have the same parties, by key.
func (p *Plan) SameParties(q *Plan) bool {
	if p.Parties() != q.Parties() {
		return false
	}
	for _, m := range p.Members[:p.Parties()] {
		if i, ok := q.Index(m.Key); !ok || !q.Is(i, RoleParty) {
			return false
		}
	}
	return true
}

// checkPredecessor checks what a successor must have in common with its predecessor. The
// application compares the parameters.
func (p *Plan) checkPredecessor() error {
	if p.After == nil {
		return nil
	}
	a, q := p.After, p.After.Plan
	if err := q.Validate(); err != nil {
		return fmt.Errorf("predecessor: %w", err)
	}
	switch {
	case a.Round < 1 || a.Round > q.Rounds:
		return fmt.Errorf("predecessor: round %d is not in 1..%d", a.Round, q.Rounds)
	case a.Attempts < a.Round || int(a.Attempts) > q.Releases():
		return fmt.Errorf("predecessor: %d attempts are not in %d..%d", a.Attempts, a.Round, q.Releases())
	case p.Created < q.Created:
		return fmt.Errorf("created: before the predecessor")
	case p.Dim != q.Dim || p.FracBits != q.FracBits || p.Application != q.Application || p.Noise != q.Noise:
		return fmt.Errorf("predecessor: it has another dimension, grid, application or placement of the noise")
	case p.Noise == NoiseNone && !p.UnsafeDifferences &&
		(!p.SameParties(q) || int(p.MinParties) < p.Parties() || int(q.MinParties) < q.Parties()):
		return fmt.Errorf("predecessor: without noise the difference of a sum of each plan can be one party's " +
			"contribution; keep the parties, or set unsafe_differences")
	case uint64(p.RoundsBefore())+uint64(p.Rounds) > MaxRounds:
		return fmt.Errorf("rounds: %d after %d are more than %d", p.Rounds, p.RoundsBefore(), MaxRounds)
	}
	if claims := p.Claims(); claims != q.Claims() || claims && p.Relation != q.Relation {
		return fmt.Errorf("predecessor: it claims another kind of privacy")
	}
	return nil
}

// spentBefore is what the predecessors released, as the worst adversary sees it that this plan
// tolerates: one with this plan's number of colluders in each of them. ok is false if such an
// adversary would have known all noise of one of them.
func (p *Plan) spentBefore() (all []privacy.SampledRelease, ok bool) {
	for a := p.After; a != nil; a = a.Plan.After {
		q := *a.Plan
		q.Colluders = p.Colluders
		c, _ := q.Charge(int(a.Attempts))
		if q.HiddenParts() == 0 {
			return nil, false
		}
		all = append(all, c)
	}
	return all, true
}

// Origin is the model that a successor plan goes on from, with the key of its digest. Parties, the
// aggregator and readers of a transcript may know it; compute nodes need not.
type Origin struct {
	Key   DigestKey
	Model []int64
}

// transcriptOrigin is the first byte of an Origin on a transcript.
const transcriptOrigin = 66

// MarshalOrigin returns an Origin as an entry of a transcript and as a file: u8 66, 32 bytes of key, the
// packed model.
func MarshalOrigin(s *Origin) []byte {
	return append(append([]byte{transcriptOrigin}, s.Key[:]...), PackInts(s.Model)...)
}

// IsOrigin reports whether a transcript's entry is an Origin.
func IsOrigin(entry []byte) bool { return len(entry) > 0 && entry[0] == transcriptOrigin }

// OriginLen is the number of integers of a marshalled Origin's model, 0 if it is none. A reader compares it
// with the plan's model before OpenOrigin: a few kB are the packed form of up to 2^28 zeros.
func OriginLen(b []byte) int {
	head := 1 + len(DigestKey{})
	if !IsOrigin(b) || len(b) < head {
		return 0
	}
	packed, _ := ViewPackedInts(b[head:])
	return packed.Len()
}

// OpenOrigin decodes an Origin and checks that it is the one that the plan names.
func (p *Plan) OpenOrigin(b []byte) (*Origin, error) {
	if p.After == nil {
		return nil, fmt.Errorf("%w: the plan has no predecessor", ErrMismatch)
	}
	s := new(Origin)
	if len(b) < 1+len(s.Key) || b[0] != transcriptOrigin {
		return nil, fmt.Errorf("%w: the predecessor's model is missing", ErrMismatch)
	}
	packed := b[1+copy(s.Key[:], b[1:]):]
	if packedDigest(s.Key, packed) != p.After.Model { // before it is unpacked: 64 kB of zeros unpack to 2 GB
		return nil, p.otherOrigin()
	}
	var ok bool
	if s.Model, ok = UnpackInts(packed); !ok || !bytes.Equal(MarshalOrigin(s), b) {
		return nil, fmt.Errorf("%w: not a model in canonical form", ErrMalformed)
	}
	return s, nil
}

func (p *Plan) otherOrigin() error {
	return fmt.Errorf("%w: it is not the model after round %d of plan %s", ErrMismatch, p.After.Round,
		p.After.Plan.ID().Short())
}

// CheckOrigin checks that an Origin is the one that the plan names.
func (p *Plan) CheckOrigin(s *Origin) error {
	if IntDigest(s.Key, s.Model) != p.After.Model {
		return p.otherOrigin()
	}
	return nil
}
