//go:build amd64 && !purego

package lanes

import "golang.org/x/sys/cpu"

//go:noescape
func multiplyAVX512(out, x, y *Elements)

//go:noescape
func squareAVX512(out, x *Elements, n int)

//go:noescape
func addAVX512(out, x, y *Elements)

//go:noescape
func subtractAVX512(out, x, y *Elements)

//go:noescape
func chooseAVX512(out *Elements, p, q *Packed, mask uint8)

//go:noescape
func loadAVX512(out *Rows, table *Row, at *[Width]uint8)

//go:noescape
func storeAVX512(table *Row, in *Rows, at *[Width]uint8)

// Fast reports whether the operations are the processor's: AVX-512F is there, and the
// operating system keeps its registers.
func Fast() bool { return cpu.X86.HasAVX512F }

func multiply(out, f, g *Elements) {
	if Fast() {
		multiplyAVX512(out, f, g)
		return
	}
	multiplyGo(out, f, g)
}

func square(out, f *Elements, n int) {
	if Fast() {
		squareAVX512(out, f, n)
		return
	}
	squareGo(out, f, n)
}

func add(out, f, g *Elements) {
	if Fast() {
		addAVX512(out, f, g)
		return
	}
	addGo(out, f, g)
}

func subtract(out, f, g *Elements) {
	if Fast() {
		subtractAVX512(out, f, g)
		return
	}
	subtractGo(out, f, g)
}

func choose(out *Elements, p, q *Packed, mask uint8) {
	if Fast() {
		chooseAVX512(out, p, q, mask)
		return
	}
	chooseGo(out, p, q, mask)
}

func load(out *Rows, table []Row, at *[Width]uint8) {
	if Fast() {
		loadAVX512(out, &table[0], at)
		return
	}
	loadGo(out, table, at)
}

func store(table []Row, in *Rows, at *[Width]uint8) {
	if Fast() {
		storeAVX512(&table[0], in, at)
		return
	}
	storeGo(table, in, at)
}
