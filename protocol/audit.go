package protocol

import (
	"fmt"

	"choir/crypto/channel"
	"choir/crypto/commit"
)

// In audit mode every party commits to its noised integer update, the nodes reveal the sums of
// their blinding shares with their partial sums, and anyone can check that the commitments of
// the set open to the published aggregate. The commitment is to the update itself, not to the
// integer lifts of its shares; see package commit.

const sealedScalarSize = commit.ScalarSize + channel.Overhead

// SealedScalar is a share of a blinding scalar, sealed to one compute node.
type SealedScalar [sealedScalarSize]byte

// SealBlinding seals a node's share of a party's blinding scalar, under a key for this use in
// this context.
func (s BoundPlan) SealBlinding(
	secret *channel.Secret, c Context, share *commit.Scalar,
) (sealed SealedScalar, err error) {
	box, err := s.blindingBox(secret, c)
	if err != nil {
		return sealed, err
	}
	copy(sealed[:], box.Seal(nil, 0, true, share.Bytes()))
	return sealed, nil
}

// OpenBlinding is the inverse of SealBlinding at the node. It rejects a scalar that is not
// canonical.
func (s BoundPlan) OpenBlinding(
	secret *channel.Secret, c Context, sealed SealedScalar,
) (*commit.Scalar, error) {
	box, err := s.blindingBox(secret, c)
	if err != nil {
		return nil, err
	}
	b, err := box.Open(nil, 0, true, sealed[:])
	if err != nil {
		return nil, fmt.Errorf("%w: blinding share from member %d", ErrSealed, c.From)
	}
	share, err := commit.ParseScalar(b)
	if err != nil {
		return nil, fmt.Errorf("%w: blinding share from member %d: %w", ErrMalformed, c.From, err)
	}
	return share, nil
}

func (s BoundPlan) blindingBox(secret *channel.Secret, c Context) (*channel.Box, error) {
	ctx := c.bytes(s.ID)
	return channel.NewBox(secret.Derive(blindingKey, ctx), append([]byte("choir v1 blinding\x00"), ctx...))
}

// CheckAudit rejects a contribution that lacks what the plan's audit mode requires, or has it
// without audit mode.
func (s BoundPlan) CheckAudit(m *Contribution) error {
	if !s.Plan.Audit {
		if len(m.Blinding) != 0 || m.Commitment != (commit.Commitment{}) {
			return fmt.Errorf("%w: a commitment under a plan without audit", ErrMismatch)
		}
		return nil
	}
	if len(m.Blinding) != s.Plan.Computes() {
		return fmt.Errorf("%w: %d blinding shares for %d nodes", ErrMismatch, len(m.Blinding), s.Plan.Computes())
	}
	if _, err := commit.ParseCommitment(m.Commitment[:]); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// Generators returns the bases of the plan's commitments, nil without audit. The time for it
// grows with the plan's dimension; call it once.
func (p *Plan) Generators() (*commit.Generators, error) {
	if !p.Audit {
		return nil, nil
	}
	return commit.NewGenerators(p.Elements())
}

// Commit commits to the integers of the elements of an update's coordinates, of any value.
// Like ToField it must not fail for a noise that is large: with two coordinates a pair that does
// not fit into an integer is committed to in two parts, b times 2^32 and a.
func (p *Plan) Commit(
	g *commit.Generators, coordinates []int64, r *commit.Scalar,
) (commit.Commitment, error) {
	ints, err := p.Integers(make([]int64, p.Elements()), coordinates)
	if err == nil {
		return g.Commit(ints, r)
	}
	var halves [2][]int64
	for h := range halves {
		halves[h] = make([]int64, p.Elements())
		for i := h; i < len(coordinates); i += 2 {
			halves[h][i/2] = coordinates[i]
		}
	}
	first, err := g.Commit(halves[0], r)
	if err != nil {
		return commit.Commitment{}, err
	}
	second, err := g.Commit(halves[1], commit.SumScalars(nil))
	for range 32 {
		if err != nil {
			return commit.Commitment{}, err
		}
		second, err = commit.Sum([]commit.Commitment{second, second})
	}
	if err != nil {
		return commit.Commitment{}, err
	}
	return commit.Sum([]commit.Commitment{first, second})
}

// UnopenedSum is in the error of every member when a sum fails its audit, also of those whom the aggregator
// tells.
const UnopenedSum = "the commitments do not open to the aggregate"

// CheckOpening checks that the sum of the set's commitments opens to the aggregate under the
// sum of the blinding sums that the nodes revealed. The commitments must have passed
// CheckAudit.
func CheckOpening(
	g *commit.Generators, set []commit.Commitment, blindings [][32]byte, aggregate []int64,
) error {
	total, err := commit.Sum(set)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	sum, err := SumBlindings(blindings)
	if err != nil {
		return err
	}
	return CheckTotal(g, total, sum, aggregate)
}

// SumBlindings returns the sum of the blinding sums that the nodes revealed.
func SumBlindings(blindings [][32]byte) (_ *commit.Scalar, err error) {
	parts := make([]*commit.Scalar, len(blindings))
	for k := range blindings {
		if parts[k], err = commit.ParseScalar(blindings[k][:]); err != nil {
			return nil, fmt.Errorf("%w: blinding sum of node %d: %w", ErrMalformed, k, err)
		}
	}
	return commit.SumScalars(parts), nil
}

// CheckTotal is CheckOpening, given the sums of the commitments and of the blinding sums.
func CheckTotal(
	g *commit.Generators, total commit.Commitment, blinding *commit.Scalar, aggregate []int64,
) error {
	ok, err := g.Opens(total, aggregate, blinding)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%w: "+UnopenedSum+": a compute node summed other "+
			"shares, a party committed to another update, or the aggregator published another sum", ErrMismatch)
	}
	return nil
}
