package lanes

// Multiply sets out to f·g for f wide and g loose; out is tight. All may be the same.
func Multiply(out, f, g *Elements) { multiply(out, f, g) }

// Square sets out to f^(2^n) for f loose and n >= 1; out is tight, and may be f.
func Square(out, f *Elements, n int) { square(out, f, n) }

// Add sets out to f + g, limb by limb: twice as long as tight ones if both are tight.
func Add(out, f, g *Elements) { add(out, f, g) }

// Subtract sets out to f + 2p - g, limb by limb, for g tight: loose if f is tight, and
// wide if f is twice as long.
func Subtract(out, f, g *Elements) { subtract(out, f, g) }

// Row is four packed elements one after the other, which fill 20 words of the 24: a
// point's coordinates in a table.
type Row [24]uint64

// Rows are eight rows side by side. They hold four [Elements].
type Rows [24][Width]uint64

// Pick returns element k, 0 to 3, of all rows.
func (r *Rows) Pick(k int) *Elements { return (*Elements)(r[Words*k : Words*k+Words]) }

// Choose sets lane l of out to q if bit l of the mask is set, else to p.
func Choose(out *Elements, p, q *Packed, mask uint8) { choose(out, p, q, mask) }

// Load sets lane l of out to row Width·at[l]+l of the table, which must have it.
func Load(out *Rows, table []Row, at *[Width]uint8) {
	_ = table[Width*largest(at)+Width-1]
	load(out, table, at)
}

// Store sets row Width·at[l]+l of the table, which must have it, to lane l of in.
func Store(table []Row, in *Rows, at *[Width]uint8) {
	_ = table[Width*largest(at)+Width-1]
	store(table, in, at)
}

func largest(at *[Width]uint8) int {
	return int(max(at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]))
}
