//go:build !amd64 || purego

package lanes

// Fast reports whether the operations are the processor's; in this build they aren't.
func Fast() bool { return false }

func multiply(out, f, g *Elements) { multiplyGo(out, f, g) }

func square(out, f *Elements, n int) { squareGo(out, f, n) }

func add(out, f, g *Elements) { addGo(out, f, g) }

func subtract(out, f, g *Elements) { subtractGo(out, f, g) }

func choose(out *Elements, p, q *Packed, mask uint8) { chooseGo(out, p, q, mask) }

func load(out *Rows, table []Row, at *[Width]uint8) { loadGo(out, table, at) }

func store(table []Row, in *Rows, at *[Width]uint8) { storeGo(table, in, at) }
