package shuffle

import (
	"errors"
	"fmt"
	"math"

	"choir/privacy/pld"
)

// ErrRound reports a round whose description is invalid, or for which no bound can be computed.
var ErrRound = errors.New("shuffle: impossible round")

// Kind is the local randomiser of a round, and what is used of it.
type Kind uint8

const (
	// LDP: any randomiser that is Eps0-LDP and the same for all users (Theorem S1).
	LDP Kind = 1
	// LDP2021: Eps0-LDP randomisers that may depend on earlier reports of the same round [FMT21].
	LDP2021 Kind = 2
	// RandomisedResponse: k-RR with Categories and Gamma (Theorem S2).
	RandomisedResponse Kind = 3
	// StrongResponse: the same against an adversary who knows whether the victim's report is random
	// (Theorem S3). For comparison.
	StrongResponse Kind = 4
	// Laplace: a value in [0, 1] plus Laplace noise of scale 1/Eps0. With Levels, the value is one of as many
	// equidistant ones and the noise discrete: exp(-Eps0 |z|/(Levels - 1)) at z levels.
	Laplace Kind = 5
	// Gaussian: a value in an interval of length 1 plus Gaussian noise of deviation Sigma.
	Gaussian Kind = 6
)

// MaxUsers is the largest number of reports that is accepted, MaxLevels that of levels.
const (
	MaxUsers  = 1_000_000_000
	MaxLevels = 1 << 12
)

// Round is one kind of shuffled round, run Count times with fresh randomness. The adversary sees the
// multiset of the reports and knows all values but one user's; neighbours differ in that value.
type Round struct {
	Kind  Kind
	Users int     // honest reports, the victim's included and the coalition's not
	Eps0  float64 // local guarantee, for LDP, LDP2021 and Laplace
	Sigma float64 // for Gaussian

	Levels int // for Laplace: 2 to MaxLevels; 0: noise in real numbers

	Categories int     // at least 2, for k-RR
	Gamma      float64 // probability of a uniform report, in [0, 1]
	Dummies    int     // reports of one honest node from the law that random reports have

	// SelfRate is the probability with which each user reports, by its own secret coin; otherwise an
	// empty report is shuffled in. 0 means 1.
	SelfRate float64
	// Population is the number of users from whom a secret sample of Users is drawn without
	// replacement; 0 means that there is no sampling. Colluders is the number of users in the population
	// that belong to the adversary: they see whether they were drawn.
	Population, Colluders int

	Count int // number of rounds, at least 1
}

// Validate returns an error with the name of an invalid field.
func (r Round) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrRound}, args...)...)
	}
	krr := r.Kind == RandomisedResponse || r.Kind == StrongResponse
	switch {
	case r.Kind < LDP || r.Kind > Gaussian:
		return bad("unknown kind %d", r.Kind)
	case r.Users < 1 || r.Users > MaxUsers:
		return bad("%d shuffled reports: 1 to %d are accepted", r.Users, MaxUsers)
	case r.Count < 1 || r.Count > 1<<31:
		return bad("%d rounds: 1 to 2^31 are accepted", r.Count)
	case (r.Kind <= LDP2021 || r.Kind == Laplace) && !(r.Eps0 > 0 && r.Eps0 <= 50):
		return bad("eps0 %v is not in (0, 50]", r.Eps0)
	case r.Kind == Gaussian && !(r.Sigma >= 0.02 && r.Sigma <= 1e6):
		return bad("sigma %v is not between 0.02 and 10^6 times the width of the values", r.Sigma)
	case r.Levels != 0 && (r.Kind != Laplace || r.Levels < 2 || r.Levels > MaxLevels):
		return bad("%d levels: 2 to %d are accepted, of Laplace reports", r.Levels, MaxLevels)
	case krr && (r.Categories < 2 || r.Categories > MaxUsers):
		return bad("%d categories: 2 to %d are accepted", r.Categories, MaxUsers)
	case krr && !(r.Gamma >= 0 && r.Gamma <= 1):
		return bad("gamma %v is not in [0, 1]", r.Gamma)
	case krr && r.Gamma == 0 && r.Dummies == 0:
		return bad("gamma 0: reports without randomness need dummies")
	case r.Dummies < 0 || r.Dummies > MaxUsers:
		return bad("%d dummies: 0 to %d are accepted", r.Dummies, MaxUsers)
	case r.Kind != RandomisedResponse && r.Dummies > 0:
		return bad("dummies are proven for k-rr and the weak adversary only")
	case !(r.SelfRate >= 0 && r.SelfRate <= 1):
		return bad("self-sampling rate %v is not in [0, 1]", r.SelfRate)
	case r.selfSampled() && r.Kind != RandomisedResponse:
		return bad("self-sampling is proven for k-rr and the weak adversary only")
	}
	return r.validateSample()
}

func (r Round) validateSample() error {
	switch {
	case r.Population == 0 && r.Colluders == 0:
		return nil
	case r.selfSampled():
		return fmt.Errorf("%w: self-sampling and a sample of fixed size together are not proven", ErrRound)
	case r.Population < r.Users:
		return fmt.Errorf("%w: a sample of %d from a population of %d", ErrRound, r.Users, r.Population)
	case r.Population > MaxUsers:
		return fmt.Errorf("%w: a population of %d: up to %d are accepted", ErrRound, r.Population, MaxUsers)
	case r.Colluders < 0 || r.Colluders >= r.Population:
		return fmt.Errorf("%w: %d colluders of %d users leave no victim", ErrRound, r.Colluders, r.Population)
	}
	return nil
}

func (r Round) selfSampled() bool { return r.SelfRate != 0 && r.SelfRate != 1 }

// LocalEpsilon returns the guarantee of one report against all others, rounded up: infinite for
// Gaussian noise, and for k-RR with Gamma 0.
func (r Round) LocalEpsilon() float64 {
	switch r.Kind {
	case LDP, LDP2021, Laplace:
		return r.Eps0
	case Gaussian:
		return math.Inf(1)
	}
	k := float64(r.Categories)
	return math.Log1p((1-r.Gamma)*k/r.Gamma) * (1 + 0x1p-45)
}

// Fallback returns the round under the weaker assumptions of LDP2021.
func (r Round) Fallback() (Round, error) {
	if r.Kind != LDP && r.Kind != LDP2021 {
		return r, fmt.Errorf("%w: clones-2021 is for ldp rounds", ErrRound)
	}
	r.Kind = LDP2021
	return r, nil
}

// GammaOf returns the gamma of k-RR with the local guarantee eps0.
func GammaOf(eps0 float64, categories int) float64 {
	k := float64(categories)
	return k / (math.Expm1(eps0) + k)
}

// law returns t, the probability of the own value, and f, that of each other value.
func (r Round) law() (t, f float64) {
	q := r.SelfRate
	if q == 0 {
		q = 1
	}
	f = q * r.Gamma / float64(r.Categories)
	return q*(1-r.Gamma) + f, f
}

// dominating returns a pair that dominates one round, without tails of mass about tail. Large pairs are
// approximated by their curve in as many points.
func (r Round) dominating(tail float64, points int) (*pld.Lattice, error) {
	return r.lattice(above, func(r Round, rate float64) (*pld.Lattice, error) {
		if r.continuous() {
			return r.dominatingReports(tail, rate, min(points, reportPoints)), nil
		}
		m := r.mixture(rate, tail)
		m.points = points
		return m.lattice()
	}, tail)
}

// attained returns pairs that real neighbours attain in one round, without tails of mass about tail: no
// smaller epsilon holds than that of any of them, composed with itself. They are wrong by at most the
// mass far under both laws together. For Laplace and Gaussian reports it is the pair of counted reports if
// counted is set. upper is an upper bound on their epsilon.
func (r Round) attained(tail, upper float64, counted bool) (pairs []*pld.Lattice, far float64, err error) {
	l, err := r.lattice(below, func(r Round, rate float64) (*pld.Lattice, error) {
		switch {
		case r.continuous() && counted:
			return r.sharpest(tail, rate), nil
		case r.continuous():
			l, x := r.realisedReports(tail, rate, upper)
			far = math.Max(far, x)
			return l, nil
		}
		return r.realised(tail, rate)
	}, tail)
	if err != nil {
		return nil, 0, err
	}
	if r.symmetric() {
		return []*pld.Lattice{l}, far, nil
	}
	return []*pld.Lattice{l, mirrored(l)}, far, nil
}

func (r Round) continuous() bool { return r.Kind == Laplace || r.Kind == Gaussian }

// symmetric reports whether the realised pair has the same curve in both directions.
func (r Round) symmetric() bool {
	return !r.continuous() && !(r.Kind == RandomisedResponse && r.Categories == 2)
}

// mixture returns the pair of a discrete round for one size of the sample.
func (r Round) mixture(rate, tail float64) mixture {
	m := mixture{side: above, rate: rate, cut: tail}
	m.all, m.lost = r.tosses(above, tail)
	return m
}

func (r Round) tosses(v side, tail float64) ([]coins, float64) {
	switch r.Kind {
	case LDP, LDP2021:
		fixed := part{math.Tanh(r.Eps0 / 2), 2 / (math.Exp(r.Eps0) + 1), 0}
		share := fixed.rest
		if r.Kind == LDP2021 {
			share = math.Exp(-r.Eps0)
		}
		return clones(v, r.Users, share, fixed, tail)
	}
	x := blanket{n: r.Users, g: r.Gamma, w: 1 / float64(r.Categories), d: r.Dummies}
	if r.selfSampled() {
		// A report that is not the own value is uniform with probability q gamma, or empty.
		x.g = 1 - r.SelfRate*(1-r.Gamma)
		x.w = r.SelfRate * r.Gamma / float64(r.Categories) / x.g
	}
	if r.Kind == StrongResponse {
		return x.strong(v, tail)
	}
	return x.pair(v, tail)
}

// realised returns the pair of attained for one size of the sample.
func (r Round) realised(tail, rate float64) (*pld.Lattice, error) {
	if r.Kind == RandomisedResponse && r.Categories == 2 {
		t, f := r.law()
		w := r.dummy()
		return listed(alike(r.Users, t, f, rate, binomial{r.Dummies, w, 1 - w}, tail)), nil
	}
	return r.neighbours(rate, tail).lattice()
}

// neighbours returns the pair of realised as a mixture, for other rounds than those of two values.
func (r Round) neighbours(rate, tail float64) mixture {
	m := mixture{side: below, rate: 1, cut: tail, points: finePoints}
	switch {
	case r.Kind == StrongResponse && rate == 1:
		m.all, _ = r.tosses(below, tail)
		return m
	case r.Kind == LDP || r.Kind == LDP2021: // of the class is k-RR with three values
		r.Categories, r.Gamma = 3, GammaOf(r.Eps0, 3)
	}
	t, f := r.law()
	w := r.dummy()
	m.all = third{n: r.Users, t: t, f: f, rate: rate,
		dummies: binomial{r.Dummies, 2 * w, 1 - 2*w}}.pair(tail)
	return m
}

// dummy returns the probability of a value among the dummies.
func (r Round) dummy() float64 {
	if r.selfSampled() {
		_, f := r.law()
		return f / (1 - r.SelfRate*(1-r.Gamma))
	}
	return 1 / float64(r.Categories)
}

// listed returns the lattice of two laws on the same outputs.
func listed(p, q []float64) *pld.Lattice {
	atoms := make([]pld.Atom, len(p))
	for i := range p {
		atoms[i] = pld.Atom{P: p[i], Q: q[i]}
	}
	return pld.NewLattice(atoms, 0)
}
