package privacy

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"choir/privacy/pld"
	"choir/privacy/shuffle"
)

// The accountants that a ShuffleQuery may name.
const (
	accountantClones     = "clones"      // docs/privacy.md, Theorem S1: any randomiser
	accountantClones2021 = "clones-2021" // [FMT21]: also randomisers that depend on reports of the round
	accountantClosedForm = "closed-form" // [FMT21], Theorem 3.1: one round, for comparison
	accountantBlanket    = "blanket"     // docs/privacy.md, Theorem S2 and identity (*)
	accountantLocal      = "local"       // a single report
)

// ShuffleQuery describes shuffled rounds, which may differ, together with Gaussian releases.
type ShuffleQuery struct {
	Rounds     []shuffle.Round
	Gaussians  []SampledStep // for replace-one neighbours
	Delta      float64
	Accountant string // "" means the tightest that is proven
	Precision  pld.Precision
}

// Answer computes both bounds.
func (q ShuffleQuery) Answer() (Answer, error) {
	a, err := q.upper()
	if err != nil {
		return Answer{}, err
	}
	if math.IsInf(a.Epsilon, 1) {
		return Answer{}, reject("no finite epsilon holds at delta %v: with more than this probability "+
			"a report is exposed; use a larger gamma, more users or dummies, or a larger delta", q.Delta)
	}
	all, err := shuffle.Lower(q.Rounds, q.Delta, a.Epsilon, q.Precision)
	if err != nil {
		return Answer{}, reject("%v", err)
	}
	a.LowerBound = math.Min(all, a.Epsilon)
	return a, nil
}

// upper computes the upper bound.
func (q ShuffleQuery) upper() (Answer, error) {
	if err := validateDelta(q.Delta); err != nil {
		return Answer{}, err
	}
	rounds, name, err := q.proven()
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Accountant: name, Assumptions: q.assumptions()}
	switch name {
	case accountantClosedForm:
		a.Epsilon, err = q.closedForm()
	case AccountantRDP:
		a.Epsilon, err = q.renyi()
	default:
		a.Epsilon, err = q.composed(rounds)
	}
	if err == nil && q.Accountant == "" {
		a = q.withLocal(a)
	}
	return a, err
}

// proven returns the rounds as the accountant of the query sees them, and its name.
func (q ShuffleQuery) proven() (rounds []shuffle.Round, name string, err error) {
	if len(q.Rounds) == 0 {
		return nil, "", reject("no shuffled round")
	}
	for _, r := range q.Rounds {
		if err := r.Validate(); err != nil {
			return nil, "", reject("%v", err)
		}
	}
	rounds, name = slices.Clone(q.Rounds), q.Accountant
	switch q.Accountant {
	case "", accountantClones, accountantBlanket:
		name, err = q.tightest()
	case accountantClones2021:
		for i, r := range rounds {
			if rounds[i], err = r.Fallback(); err != nil {
				return nil, "", reject("%v", err)
			}
		}
	case accountantClosedForm, AccountantRDP:
	default:
		err = reject("accountant %q is not proven for shuffled rounds", q.Accountant)
	}
	return rounds, name, err
}

// tightest returns the name of the accountant for the rounds.
func (q ShuffleQuery) tightest() (string, error) {
	name := accountantClones
	for _, r := range q.Rounds {
		if r.Kind != shuffle.LDP && r.Kind != shuffle.LDP2021 {
			name = accountantBlanket
		}
	}
	if q.Accountant != "" && q.Accountant != name {
		return "", reject("accountant %q is not the one that is proven for these rounds, %q", q.Accountant, name)
	}
	return name, nil
}

// withLocal replaces the bound by that of the local guarantees if it is smaller.
func (q ShuffleQuery) withLocal(a Answer) Answer {
	local, mu := q.local()
	if !math.IsInf(mu, 1) {
		local = GaussianEpsilon(mu, q.Delta)
	}
	if up(local) < a.Epsilon {
		a.Epsilon, a.Accountant = up(local), accountantLocal
	}
	return a
}

// local returns the guarantee of the reports if they are not shuffled: pure, or if all have Gaussian noise as
// the distance of a Gaussian. What does not exist is infinite.
func (q ShuffleQuery) local() (pure, mu float64) {
	squares, gaussian := 0.0, true
	for _, r := range q.Rounds {
		if r.Kind == shuffle.StrongResponse { // who knows the coin knows more than a report shows
			return math.Inf(1), math.Inf(1)
		}
		pure += float64(r.Count) * r.LocalEpsilon()
		gaussian = gaussian && r.Kind == shuffle.Gaussian
		squares += float64(r.Count) / (r.Sigma * r.Sigma)
	}
	switch {
	case len(q.Gaussians) > 0:
		return math.Inf(1), math.Inf(1)
	case gaussian:
		return math.Inf(1), up(math.Sqrt(squares))
	}
	return up(pure), math.Inf(1)
}

func (q ShuffleQuery) composed(rounds []shuffle.Round) (float64, error) {
	others, err := dominating(q.Gaussians, ReplaceOne, pld.Remove)
	if err != nil {
		return 0, err
	}
	e, err := shuffle.Upper(rounds, others, q.Delta, q.Precision)
	if err != nil {
		return 0, reject("%v", err)
	}
	return e, nil
}

// only returns the single kind of LDP rounds that the accountants for comparison take.
func (q ShuffleQuery) only() (shuffle.Round, error) {
	r := q.Rounds[0]
	if len(q.Rounds) > 1 || len(q.Gaussians) > 0 || r.Kind != shuffle.LDP || r.Population > 0 {
		return r, reject("accountant %q is for equal ldp rounds without sampling", q.Accountant)
	}
	return r, nil
}

func (q ShuffleQuery) closedForm() (float64, error) {
	r, err := q.only()
	if err != nil {
		return 0, err
	}
	if r.Count != 1 {
		return 0, reject("accountant closed-form: the bound is for one step, not %d steps", r.Count)
	}
	n := float64(r.Users)
	if most := math.Log(n / (16 * math.Log(2/q.Delta))); !(r.Eps0 <= most) {
		return 0, reject("accountant closed-form: the bound is proven up to eps0 %g at %d users, not %g",
			math.Max(0, most), r.Users, r.Eps0)
	}
	e := math.Exp(r.Eps0)
	return up(math.Log1p((e - 1) / (e + 1) * (8*math.Sqrt(e*math.Log(4/q.Delta)/n) + 8*e/n))), nil
}

// renyi converts the Renyi divergences of the pair at integer orders.
func (q ShuffleQuery) renyi() (float64, error) {
	r, err := q.only()
	if err != nil {
		return 0, err
	}
	l, err := r.Listed(1e-300)
	if err != nil {
		return 0, reject("%v", err)
	}
	if l.Infinite > 1e-250 {
		return 0, reject("accountant rdp: the Renyi divergences are infinite")
	}
	l.Infinite = 0
	curve := func(order float64) float64 { return up(float64(r.Count) * l.Renyi(order)) }
	var orders []float64
	for order := 2.0; order <= 256; order++ {
		orders = append(orders, order)
	}
	e := curveEpsilon(curve, orders, q.Delta)
	return e, nil
}

func (q ShuffleQuery) assumptions() []string {
	var out []string
	add := func(s string) {
		for _, x := range out {
			if x == s {
				return
			}
		}
		out = append(out, s)
	}
	for _, r := range q.Rounds {
		if r.Population == 0 {
			add(fmt.Sprintf("%d honest reports a round beside those of the coalition, with fresh randomness",
				r.Users))
		}
		for _, s := range roundAssumptions(r) {
			add(s)
		}
	}
	add("at least one compute node, which shuffles, is honest: " +
		"against all of them only the local guarantee holds")
	add("replace-one neighbours: one value changes, and who takes part is public")
	return out
}

func roundAssumptions(r shuffle.Round) (out []string) {
	switch r.Kind {
	case shuffle.LDP:
		out = append(out,
			"all users of a round have the same randomiser, which does not depend on other reports of it")
	case shuffle.LDP2021:
		out = append(out, "randomisers may depend on earlier reports of the round")
	case shuffle.Laplace:
		out = append(out, "values lie in [0, 1] and the noise is exactly Laplace: no floating-point sampler is")
	case shuffle.Gaussian:
		out = append(out, "values lie in an interval as long as the sensitivity, and noise is exactly Gaussian: "+
			"no floating-point sampler is")
	case shuffle.StrongResponse:
		out = append(out, "the adversary knows which users report at random, the victim included")
	default:
		out = append(out,
			"the adversary knows which of the others report at random; the randomiser is exact")
	}
	if r.Dummies > 0 {
		out = append(out, fmt.Sprintf("an honest node adds %d dummies, with the law of random reports",
			r.Dummies))
	}
	if r.Population > 0 {
		out = append(out, fmt.Sprintf("a secret uniform sample of %d of %d users a round, drawn by somebody "+
			"who is trusted; %d colluders in the population see whether they were drawn",
			r.Users, r.Population, r.Colluders))
	}
	return out
}

// Parameter is a parameter of shuffled rounds that Solve finds.
type Parameter string

const (
	SolveGamma Parameter = "gamma"   // the least, for k-rr
	SolveEps0  Parameter = "eps0"    // the largest
	SolveUsers Parameter = "shuffle" // the least
)

// Solve returns the query with the value of a parameter of its only kind of rounds, and its answer:
// the least privacy of a report, or the least number of users, with which epsilon is within the target. Real
// values are exact to one part in 10^4.
func (q ShuffleQuery) Solve(p Parameter, target float64) (ShuffleQuery, Answer, error) {
	if err := validateEpsilon(target); err != nil {
		return q, Answer{}, err
	}
	if len(q.Rounds) != 1 {
		return q, Answer{}, reject("solving is for one kind of rounds, not %d", len(q.Rounds))
	}
	if p != SolveGamma && p != SolveEps0 && p != SolveUsers {
		return q, Answer{}, reject("cannot solve for %q", p)
	}
	var failed error
	rough := q
	if q.Precision.Cells == 0 {
		rough.Precision.Cells = 100 // the bound is larger, by less than 10^-4 of it
	}
	meets := func(x float64) bool {
		a, err := rough.with(p, x).upper()
		if err != nil && failed == nil && !errors.Is(err, shuffle.ErrRound) {
			failed = err
		}
		return err == nil && a.Epsilon <= target
	}
	good, bad, err := bracketShuffle(p, meets)
	if failed != nil {
		err = failed
	}
	if err != nil {
		return q, Answer{}, err
	}
	for math.Abs(good-bad) > 1e-4*math.Max(good, bad) && !(p == SolveUsers && math.Abs(good-bad) <= 1) {
		mid := (good + bad) / 2
		if p == SolveUsers {
			mid = math.Floor(mid)
		}
		if meets(mid) {
			good = mid
		} else {
			bad = mid
		}
	}
	q = q.with(p, good)
	a, err := q.Answer()
	return q, a, err
}

// with returns the query with a value of a parameter.
func (q ShuffleQuery) with(p Parameter, x float64) ShuffleQuery {
	r := q.Rounds[0]
	krr := r.Kind == shuffle.RandomisedResponse || r.Kind == shuffle.StrongResponse
	switch {
	case p == SolveUsers:
		r.Users = int(x)
	case p == SolveGamma:
		r.Gamma = x
	case krr:
		r.Gamma = shuffle.GammaOf(x, r.Categories)
	default:
		r.Eps0 = x
	}
	q.Rounds = []shuffle.Round{r}
	return q
}

// bracketShuffle returns a value that meets the target and one that does not, or is at the end of the range.
func bracketShuffle(p Parameter, meets func(float64) bool) (good, bad float64, err error) {
	first, factor, last := 1.0, 2.0, 0.0
	switch p {
	case SolveGamma: // gamma 1 always meets it
		factor, last = 0.5, 1e-9
	case SolveEps0:
		first, last = 1e-9, 50
		factor = 4
	case SolveUsers:
		for n := 1.0; n <= shuffle.MaxUsers; n *= 4 {
			if meets(n) {
				return n, math.Floor(n / 4), nil
			}
		}
		return 0, 0, fmt.Errorf("%w: no number of users up to %d is enough", ErrUnreachable, shuffle.MaxUsers)
	}
	if !meets(first) {
		return 0, 0, fmt.Errorf("%w: not even %s %v is enough", ErrUnreachable, p, first)
	}
	for good = first; ; good = bad {
		bad = good * factor
		if factor > 1 && bad > last || factor < 1 && bad < last {
			return good, good, nil
		}
		if !meets(bad) {
			return good, bad, nil
		}
	}
}
