package shuffle

// clones is the pair of Theorem S1 (and, with another share, of [FMT21]): s - 1 ~ Bin(n-1, share) and
// a fixed lambda.
func clones(v side, n int, share float64, fixed part, tail float64) ([]coins, float64) {
	b := binomial{n - 1, share, 1 - share}
	lo, hi := b.tails(tail)
	row := b.row(lo, hi)
	var out []coins
	for k := lo; k <= hi; {
		end := block(k, hi)
		p := fixed
		p.weight = 0
		for i := k; i <= end; i++ {
			p.weight += row[i-lo]
		}
		out = append(out, coins{v.pick(k, end) + 1, []part{p}})
		k = end + 1
	}
	return out, 2 * tail
}

// blanket is the pair of Theorem S2 for n users whose reports are with probability G draws from a law
// omega and otherwise their value, w = omega(1) = omega(2), and D more draws from omega.
type blanket struct {
	n int
	g float64
	w float64
	d int
}

func (x blanket) pair(v side, tail float64) ([]coins, float64) {
	b := binomial{x.n - 1, x.g, 1 - x.g}
	lo, hi := b.tails(tail)
	row := b.row(lo, hi)
	first, _ := x.reports(lo).tails(tail)
	_, last := x.reports(hi).tails(tail)
	out := newGroups(v, first, last+1)
	for k := lo; k <= hi; {
		end := block(k, hi)
		var weight float64
		for i := k; i <= end; i++ {
			weight += row[i-lo]
		}
		m := v.pick(k, end) + 1 + x.d
		x.given(m, weight, out)
		k = end + 1
	}
	return out.list(), 4 * tail
}

// reports is the law of the reports 1 and 2 of the others that drew from omega, if b of them did.
func (x blanket) reports(b int) binomial { return binomial{b + x.d, 2 * x.w, max(0, 1-2*x.w)} }

// given adds the pair given that m reports, the victim's included, are draws from omega or the
// victim's value.
func (x blanket) given(m int, weight float64, out *groups) {
	draws := binomial{m, 2 * x.w, max(0, 1-2*x.w)}
	lo, hi := min(out.lo, m), min(out.hi, m)
	row := draws.row(lo, hi)
	mixed := 2 * x.w * float64(m)
	for s := lo; s <= hi; s++ {
		own, any := (1-x.g)*float64(s), x.g*mixed
		mass := weight * row[s-lo] * (own + any) / mixed
		if mass > 0 {
			out.add(s, part{own / (own + any), any / (own + any), mass})
		}
	}
}

// strong is the pair of Theorem S3: the adversary knows whether the victim's report is its value,
// and then the other reports 1 and 2.
func (x blanket) strong(v side, tail float64) ([]coins, float64) {
	f := x.g * x.w
	out, lost := clones(v, x.n, 2*f, part{1, 0, 0}, tail)
	for i := range out {
		out[i].parts[0].weight *= 1 - x.g
	}
	return append(out, coins{0, []part{{0, 1, x.g}}}), lost
}

// third is a pair that real neighbours attain if there are three values: all others have the third. A
// report is the own value with probability t, and each other value with probability f. The victim is in
// the sample with probability rate; otherwise another holder of the third value is.
type third struct {
	n       int
	t, f    float64
	rate    float64
	dummies binomial // number of reports 1 and 2 among the dummies
}

func (x third) pair(tail float64) ([]coins, float64) {
	if x.dummies.n > 0 || x.f == 0 {
		return x.counts(tail)
	}
	b := binomial{x.n, 2 * x.f, 1 - 2*x.f}
	lo, hi := b.tails(tail)
	row := b.row(lo, hi)
	out := newGroups(below, lo, hi)
	ratio := x.t / x.f
	n := float64(x.n)
	for k := lo; k <= hi; k++ {
		threes := binomial{x.n - k, x.t / (1 - 2*x.f), 0}
		threes.q = 1 - threes.p
		if threes.q < 1e-12 { // only three values
			threes.p, threes.q = 1, 0
		}
		from, to := threes.tails(tail)
		for i, p := range threes.row(from, to) {
			s, third := float64(k), float64(from+i)
			rest := third/ratio + (n - s - third)
			mean := x.rate*((ratio+1)*s/2+rest)/n + 1 - x.rate
			lambda := x.rate * (ratio - 1) * s / (2 * n) / mean
			if mass := row[k-lo] * p * mean; mass > 0 {
				out.add(k, part{lambda, 1 - lambda, mass})
			}
		}
	}
	return out.list(), 0
}

// counts is the pair of the numbers of reports 1 and 2 alone, which is post-processing. With dummies
// the other numbers are not independent of them.
func (x third) counts(tail float64) ([]coins, float64) {
	others := binomial{x.n - 1, 2 * x.f, 1 - 2*x.f}
	law := convolve(others, x.dummies, tail)
	own := x.rate * (x.t + x.f)
	as := (1 - x.rate) * 2 * x.f // a holder of the third value in the place of the victim
	none := 1 - own - as
	out := newGroups(below, law.lo, law.lo+len(law.mass))
	for k := out.lo; k <= out.hi; k++ {
		with, without := law.at(k-1), law.at(k)
		mass := (own+as)*with + none*without
		if mass <= 0 {
			continue
		}
		lambda := x.rate * (x.t - x.f) * with / mass
		rest := 1 - lambda
		if none <= 0 && x.f == 0 && x.rate == 1 {
			rest = 0
		}
		out.add(k, part{lambda, rest, mass})
	}
	return out.list(), 0
}

// masses is a law on lo, lo+1, ...
type masses struct {
	lo   int
	mass []float64
}

func (m masses) at(k int) float64 {
	if k < m.lo || k >= m.lo+len(m.mass) {
		return 0
	}
	return m.mass[k-m.lo]
}

// convolve returns the law of a sum, without tails.
func convolve(a, b binomial, tail float64) masses {
	la, ha := a.tails(tail)
	lb, hb := b.tails(tail)
	ra, rb := a.row(la, ha), b.row(lb, hb)
	out := masses{la + lb, make([]float64, len(ra)+len(rb)-1)}
	for i, p := range ra {
		for j, q := range rb {
			out.mass[i+j] += p * q
		}
	}
	return out
}

// groups collects parts by the blocks of s that they belong to.
type groups struct {
	side   side
	lo, hi int
	blocks []coins
}

func newGroups(v side, lo, hi int) *groups {
	g := &groups{side: v, lo: lo, hi: hi}
	width := g.width()
	for k := lo; k <= hi; k += width {
		g.blocks = append(g.blocks, coins{s: v.pick(k, min(hi, k+width-1))})
	}
	return g
}

func (g *groups) width() int { return max(1, g.lo>>blockBits) }

func (g *groups) add(s int, p part) {
	b := &g.blocks[(s-g.lo)/g.width()]
	if b.parts = append(b.parts, p); len(b.parts) > most {
		b.thin(g.side)
	}
}

func (g *groups) list() []coins {
	var out []coins
	for _, b := range g.blocks {
		if len(b.parts) > 0 {
			out = append(out, b)
		}
	}
	return out
}

// alike is a pair of real neighbours with two values: all others have the second, and the victim has
// the first or the second. A user reports the first with probability t if that is its value, and with
// probability f otherwise; outputs are the numbers of these reports. Losses are not symmetric. The victim
// is in the sample with probability rate, and otherwise another user.
func alike(n int, t, f, rate float64, dummies binomial, tail float64) (p, q []float64) {
	law := convolve(binomial{n - 1, f, 1 - f}, dummies, tail)
	first := f + rate*(t-f)
	for k := law.lo; k <= law.lo+len(law.mass); k++ {
		with, without := law.at(k-1), law.at(k)
		p = append(p, first*with+(1-first)*without)
		q = append(q, f*with+(1-f)*without)
	}
	return p, q
}
