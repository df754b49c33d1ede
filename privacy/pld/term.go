package pld

import (
	"errors"
	"fmt"
	"math"
)

// ErrTerm reports a term, a delta or a precision that is out of range.
var ErrTerm = errors.New("pld: impossible input")

// Kind is the shape of a pair (P, Q). Noise has variance 1; N(m) is N(m, 1).
type Kind uint8

const (
	// Remove: P = (1-Rate) N(0) + Rate N(Mu), Q = N(0). With Rate 1 it is the Gaussian mechanism.
	Remove Kind = 1
	// Add: P = N(0), Q = (1-Rate) N(0) + Rate N(Mu).
	Add Kind = 2
	// Replace: P = (1-Rate) N(0) + Rate N(Mu), Q = (1-Rate) N(0) + Rate N(-Mu).
	Replace Kind = 3
	// Amplified has no single pair: it is the curve of Remove for alpha >= 1 and that of Add
	// below ([Dissertation], Theorem 21). It dominates, but gives no lower bound.
	Amplified Kind = 4
	// Discrete is the pair of the term's Lattice.
	Discrete Kind = 5
)

// MaxMu is the largest distance that is accepted, in standard deviations of the noise.
const MaxMu = 50

// Term is Count steps of one kind.
type Term struct {
	Kind    Kind
	Mu      float64  // distance over noise standard deviation, in (0, MaxMu]; not for Discrete
	Rate    float64  // sampling rate, in (0, 1]; not for Discrete
	Count   int      // >= 1
	Lattice *Lattice // for Discrete
}

// validate returns an error with the name of an invalid field.
func (t Term) validate() error {
	switch {
	case t.Kind < Remove || t.Kind > Discrete:
		return fmt.Errorf("%w: unknown kind %d", ErrTerm, t.Kind)
	case t.Count < 1:
		return fmt.Errorf("%w: count %d is not positive", ErrTerm, t.Count)
	case t.Kind == Discrete:
		return t.Lattice.validate()
	case !(t.Mu > 0 && t.Mu <= MaxMu):
		return fmt.Errorf("%w: mu %v is not in (0, %d]", ErrTerm, t.Mu, MaxMu)
	case !(t.Rate > 0 && t.Rate <= 1):
		return fmt.Errorf("%w: rate %v is not in (0, 1]", ErrTerm, t.Rate)
	}
	return nil
}

// piece is an interval of the line on which the loss increases with z.
type piece struct {
	kind   Kind
	mu, q  float64
	lo, hi float64 // in z
	low    float64 // mass of P below lo that belongs to the piece
	high   float64 // mass of P above hi that belongs to the piece
}

// pieces returns the pieces of the term, without tails of mass at most tail each.
func (t Term) pieces(tail float64) []piece {
	r := tailQuantile(tail)
	if t.Kind == Amplified && t.Rate == 1 { // without sampling both halves are Gaussian
		t.Kind = Remove
	}
	// Half of the tail mass is allowed for each component of the mixture.
	top := math.Max(tailQuantile(tail/2), t.Mu+tailQuantile(tail/2/t.Rate))
	whole := piece{kind: t.Kind, mu: t.Mu, q: t.Rate, lo: -r, hi: top, low: tail, high: tail}
	switch t.Kind {
	case Add:
		whole.hi = r
	case Replace:
		if t.Rate == 1 {
			whole.lo += t.Mu
		}
	case Remove:
		if t.Rate == 1 {
			whole.lo += t.Mu
		}
	case Amplified:
		above, below := whole, whole
		above.kind, below.kind = Remove, Add
		below.hi = r
		above.lo, above.low = t.Mu/2, 0 // the loss of Remove is 0 at mu/2
		below.hi, below.high = -t.Mu/2, 0
		if below.hi <= below.lo { // this half consists of its tail
			above.high += tail
			return []piece{above}
		}
		return []piece{above, below}
	}
	return []piece{whole}
}

// tailQuantile returns a z with P(N(0,1) > z) <= tail.
func tailQuantile(tail float64) float64 {
	if tail > 0.16 {
		return 1
	}
	// The tail above z >= 1 is below exp(-z^2/2)/2.
	return math.Max(1, math.Sqrt(-2*math.Log(2*tail)))
}

// atom returns the mass at loss 0 between the two halves of an amplified curve.
func (t Term) atom() float64 {
	if t.Kind != Amplified {
		return 0
	}
	return (1 - t.Rate) * math.Erf(t.Mu/(2*math.Sqrt2))
}

// mixLog returns ln(1 - q + q e^x).
func mixLog(q, x float64) float64 {
	switch {
	case q == 1:
		return x
	case x > 30:
		return math.Log(q) + x + math.Log1p((1-q)/q*math.Exp(-x))
	}
	if s := q * math.Expm1(x); s > -0.5 {
		return math.Log1p(s)
	}
	return math.Log((1 - q) + q*math.Exp(x)) // 1 + s would cancel
}

// unmix solves mixLog(q, x) = l for x. It returns -Inf if l is not above the infimum of its range.
func unmix(q, l float64) float64 {
	if q == 1 {
		return l
	}
	if l > 30 {
		return l - math.Log(q) + math.Log1p(-(1-q)*math.Exp(-l))
	}
	if y := math.Expm1(l) / q; y > -1 {
		return math.Log1p(y)
	}
	return math.Inf(-1)
}

// at returns the loss and the density under P at z.
func (p piece) at(z float64) (loss, density float64) {
	x := p.mu*z - p.mu*p.mu/2
	switch p.kind {
	case Remove:
		loss = mixLog(p.q, x)
		return loss, math.Exp(loss-z*z/2) * invSqrt2Pi
	case Add: // in reflected coordinates, so that the loss increases
		return -mixLog(p.q, -p.mu*z-p.mu*p.mu/2), math.Exp(-z*z/2) * invSqrt2Pi
	}
	up := mixLog(p.q, x)
	return up - mixLog(p.q, -p.mu*z-p.mu*p.mu/2), math.Exp(up-z*z/2) * invSqrt2Pi
}

const invSqrt2Pi = 0.3989422804014327

// where returns the z of a loss, clamped to [lo, hi].
func (p piece) where(l float64) float64 {
	var z float64
	switch p.kind {
	case Remove:
		z = p.mu/2 + unmix(p.q, l)/p.mu
	case Add:
		z = -p.mu/2 - unmix(p.q, -l)/p.mu
	default:
		z = p.whereReplace(l)
	}
	return math.Min(p.hi, math.Max(p.lo, z))
}

// whereReplace solves the quadratic in e^(mu z); the loss is odd in z.
func (p piece) whereReplace(l float64) float64 {
	if l < 0 {
		return -p.whereReplace(-l)
	}
	if p.q == 1 { // the exponentials below could overflow
		return l / (2 * p.mu)
	}
	lnQC := math.Log(p.q) - p.mu*p.mu/2
	a := (1 - p.q) * -math.Expm1(-l) / 2 // over e^l
	// e^(mu z) = e^l (a + sqrt(a^2 + e^-l (qc)^2)) / (qc)
	return (l + math.Log(a+math.Hypot(a, math.Exp(lnQC-l/2))) - lnQC) / p.mu
}
