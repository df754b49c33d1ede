package shuffle

// clones is the pair of Theorem S1 (and, with another share, of [FMT21]): s - 1 ~ Bin(n-1, share) and
// a fixed lambda.
func clones(v side, n int, share float64, fixed part, tail float64) ([]coins, float64) {
	b := binomial{n - 1, share, 1 - share}
	lo, hi := b.tails(tail)
	row := b.row(lo, hi)
	var out []coins
	for k := lo; k <= hi; {
		end := min(hi, k+lo>>blockBits)
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
	out := newField(v, x, first, last+1, lo+1+x.d, hi+1+x.d)
	width := 1 + (hi-lo)*(last-first+2)/maxTerms
	for k := lo; k <= hi; {
		end := min(hi, k+width-1)
		var weight float64
		for i := k; i <= end; i++ {
			weight += row[i-lo]
		}
		out.given(v.pick(k, end)+1+x.d, weight)
		k = end + 1
	}
	return out.list(), 4 * tail
}

// maxTerms is the number of pairs of m and s that are listed; beyond, values of m are merged in blocks.
const maxTerms = 1 << 26

// reports is the law of the reports 1 and 2 of the others that drew from omega, if b of them did.
func (x blanket) reports(b int) binomial { return binomial{b + x.d, 2 * x.w, max(0, 1-2*x.w)} }

// lambda returns the share of the victim's value if s of m reports are 1 or 2, and what is left of 1.
func (x blanket) lambda(s, m int) (lambda, rest float64) {
	own, any := (1-x.g)*float64(s), x.g*2*x.w*float64(m)
	return own / (own + any), any / (own + any)
}

// field collects the pair of a blanket: for blocks of s, a mixture over values of m, which are nodes. Other
// values of m are spread over the nodes next to them for an upper bound. For a lower bound they are averaged.
type field struct {
	side   side
	x      blanket
	lo, hi int // range of s
	width  int
	nodes  []int
	node   []int    // by m - nodes[0], the last node that is not larger
	parts  [][]part // by block and node; sums of weighted values for a lower bound
}

// nodeBits determines the distance of nodes: 2^-10 of their values.
const nodeBits = 10

func newField(v side, x blanket, lo, hi, least, most int) *field {
	f := &field{side: v, x: x, lo: lo, hi: hi, width: 1 + lo>>blockBits}
	for m := least; ; m = min(most, m+1+m>>nodeBits) {
		for range min(m+1+m>>nodeBits, most+1) - m {
			f.node = append(f.node, len(f.nodes))
		}
		if f.nodes = append(f.nodes, m); m == most {
			break
		}
	}
	for range (hi-lo)/f.width + 1 {
		f.parts = append(f.parts, make([]part, len(f.nodes)))
	}
	return f
}

// ends returns the least and the largest s of a block.
func (f *field) ends(block int) (lo, hi int) {
	lo = f.lo + block*f.width
	return lo, min(f.hi, lo+f.width-1)
}

// given adds the pair given that m reports, the victim's included, are draws from omega or the victim's
// value.
func (f *field) given(m int, weight float64) {
	x := f.x
	lo, hi := min(f.lo, m), min(f.hi, m)
	row := binomial{m, 2 * x.w, max(0, 1-2*x.w)}.row(lo, hi)
	node := f.node[m-f.nodes[0]]
	mixed := 2 * x.w * float64(m)
	for s := lo; s <= hi; s++ {
		own := (1 - x.g) * float64(s)
		mass := weight * row[s-lo] * (own + x.g*mixed) / mixed
		if !(mass > 0) {
			continue
		}
		block := (s - f.lo) / f.width
		if f.side == below {
			p := &f.parts[block][node]
			lambda, rest := x.lambda(s, m)
			p.lambda += mass * lambda
			p.rest += mass * rest
			p.weight += mass
			continue
		}
		f.spread(block, node, m, mass)
	}
}

// spread divides a mass between two nodes so that lambda is kept.
func (f *field) spread(block, node, m int, mass float64) {
	parts := f.parts[block]
	if f.nodes[node] == m {
		parts[node].weight += mass
		return
	}
	_, s := f.ends(block)
	at, _ := f.x.lambda(s, m)
	a, _ := f.x.lambda(s, f.nodes[node])
	b, _ := f.x.lambda(s, f.nodes[node+1])
	share := 0.0
	if a > b {
		share = (a - at) / (a - b)
	}
	parts[node].weight += mass * (1 - share)
	parts[node+1].weight += mass * share
}

func (f *field) list() []coins {
	var out []coins
	for i, parts := range f.parts {
		lo, hi := f.ends(i)
		c := coins{s: f.side.pick(lo, hi)}
		for k, p := range parts {
			switch {
			case p.weight == 0:
				continue
			case f.side == below:
				p.lambda, p.rest = p.lambda/p.weight, p.rest/p.weight
			default:
				p.lambda, p.rest = f.x.lambda(hi, f.nodes[k])
			}
			c.parts = append(c.parts, p)
		}
		if len(c.parts) > 0 {
			out = append(out, c)
		}
	}
	return out
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

func (x third) pair(tail float64) []coins {
	if x.dummies.n > 0 || x.f == 0 {
		return x.counts(tail)
	}
	b := binomial{x.n, 2 * x.f, 1 - 2*x.f}
	lo, hi := b.tails(tail)
	row := b.row(lo, hi)
	// The law of the number of third reports, if k reports are 1 or 2.
	threes := func(k int) binomial {
		t := binomial{x.n - k, x.t / (1 - 2*x.f), 0}
		if t.q = 1 - t.p; t.q < 1e-12 { // only three values
			t.p, t.q = 1, 0
		}
		return t
	}
	first, last := threes(lo).tails(tail)
	width := 1 + max(lo>>blockBits, int(float64(hi-lo)*float64(last-first+1)/maxTerms))
	var out []coins
	for k := lo; k <= hi; k++ {
		if (k-lo)%width == 0 {
			out = append(out, coins{s: min(hi, k+width-1)})
		}
		x.given(k, row[k-lo], threes(k), tail, &out[len(out)-1])
	}
	return out
}

// given adds the pair given that k reports are 1 or 2. Numbers of third reports are merged in blocks.
func (x third) given(k int, weight float64, threes binomial, tail float64, to *coins) {
	ratio, n, s := x.t/x.f, float64(x.n), float64(k)
	from, end := threes.tails(tail)
	var sum part // of weighted values
	for i, p := range threes.row(from, end) {
		third := from + i
		rest := float64(third)/ratio + (n - s - float64(third))
		mean := x.rate*((ratio+1)*s/2+rest)/n + 1 - x.rate
		lambda := x.rate * (ratio - 1) * s / (2 * n) / mean
		mass := weight * p * mean
		sum.lambda += mass * lambda
		sum.rest += mass * (1 - lambda)
		sum.weight += mass
		if last := third == end; last || (i+1)%(1+from>>11) == 0 {
			if sum.weight > 0 {
				to.parts = append(to.parts, part{sum.lambda / sum.weight, sum.rest / sum.weight, sum.weight})
			}
			sum = part{}
		}
	}
}

// counts is the pair of the numbers of reports 1 and 2 alone, which is post-processing. With dummies
// the other numbers are not independent of them.
func (x third) counts(tail float64) []coins {
	others := binomial{x.n - 1, 2 * x.f, 1 - 2*x.f}
	law := convolve(others, x.dummies, tail)
	own := x.rate * (x.t + x.f)
	as := (1 - x.rate) * 2 * x.f // a holder of the third value in the place of the victim
	none := 1 - own - as
	var out []coins
	for k := law.lo; k <= law.lo+len(law.mass); k++ {
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
		out = append(out, coins{k, []part{{lambda, rest, mass}}})
	}
	return out
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
