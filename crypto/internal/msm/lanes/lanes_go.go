package lanes

// The operations in Go, one lane after the other, by the formulas of the assembly.

// limbs returns the ten limbs of one lane.
func (e *Elements) limbs(l int) (f [10]uint64) {
	for i := range e {
		f[2*i], f[2*i+1] = e[i][l]&low32, e[i][l]>>32
	}
	return f
}

// multiplyGo: limb k of a product is
//
//	Σ_{i+j=k} c·f_i·g_j + 19·Σ_{i+j=k+10} c·f_i·g_j,   c = 2 for i and j odd, else 1,
//
// since limb k stands for 2^ceil(25.5k), ceil(25.5i) + ceil(25.5j) is one more than
// ceil(25.5(i+j)) for i and j odd, and 2^255 = 19.
//
// With f wide (even limbs up to 2^28, odd ones up to 2^27 + 2^14) and g loose (3·2^26 and
// 3·(2^25 + 2^12)), limb 0, the largest, is below
//
//	2^28·3·2^26 · (1 + 4·19) + 5·38 · (2^27 + 2^14)·3·(2^25 + 2^12) < 2^62.6.
func multiplyGo(out, f, g *Elements) {
	for l := range Width {
		a, b := f.limbs(l), g.limbs(l)
		var h [10]uint64
		for i := range a {
			for j := range b {
				c := uint64(1)
				if i&j&1 == 1 {
					c = 2
				}
				if i+j >= 10 {
					c *= 19
				}
				h[(i+j)%10] += c * a[i] * b[j]
			}
		}
		out.carry(l, &h)
	}
}

// carry makes limbs tight and puts them in a lane: two chains of carries, beginning at
// limbs 0 and 4, which end with a carry from limb 9 to 0 and from 0 to 1. Limb 9 has no
// summand with a factor 19 and is below 2^58.1 with its carry; 19 times what is carried
// from it is below 2^37.4 and limb 1 gets less than 2^11.5. Limb 4 gets at most 2^38 the
// first time, so that limb 5 gets at most 2^12 the second time.
func (e *Elements) carry(l int, h *[10]uint64) {
	for _, k := range [...]int{0, 4, 1, 5, 2, 6, 3, 7, 4, 8} {
		size := 26 - k%2
		h[k+1] += h[k] >> size
		h[k] &= 1<<size - 1
	}
	h[0] += 19 * (h[9] >> 25)
	h[9] &= 1<<25 - 1
	h[1] += h[0] >> 26
	h[0] &= low26
	for i := range e {
		e[i][l] = h[2*i] | h[2*i+1]<<32
	}
}

func squareGo(out, f *Elements, n int) {
	*out = *f
	for range n {
		multiplyGo(out, out, out)
	}
}

func addGo(out, f, g *Elements) {
	for i := range out {
		for l := range out[i] {
			out[i][l] = f[i][l] + g[i][l]
		}
	}
}

// twiceP are the limbs of 2p, each as much longer than a tight one as makes f + 2p - g
// positive in each limb.
var twiceP = [Words]uint64{
	(1<<27 - 38) | (1<<26-2)<<32,
	(1<<27 - 2) | (1<<26-2)<<32,
	(1<<27 - 2) | (1<<26-2)<<32,
	(1<<27 - 2) | (1<<26-2)<<32,
	(1<<27 - 2) | (1<<26-2)<<32,
}

func subtractGo(out, f, g *Elements) {
	for i := range out {
		for l := range out[i] {
			out[i][l] = f[i][l] + twiceP[i] - g[i][l]
		}
	}
}

// chooseGo sets lane l to q if bit l of the mask is set, else to p.
func chooseGo(out *Elements, p, q *Packed, mask uint8) {
	for l := range Width {
		from := p
		if mask>>l&1 == 1 {
			from = q
		}
		out.SetLane(l, from)
	}
}

func loadGo(out *Rows, table []Row, at *[Width]uint8) {
	for l, a := range at {
		row := &table[Width*int(a)+l]
		for i := range out {
			out[i][l] = row[i]
		}
	}
}

func storeGo(table []Row, in *Rows, at *[Width]uint8) {
	for l, a := range at {
		row := &table[Width*int(a)+l]
		for i := range in {
			row[i] = in[i][l]
		}
	}
}
