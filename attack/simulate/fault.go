package simulate

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Fault is one fault, or one choice of the schedule: a line of a script. The name
// of its object is independent of other faults, so that a script can be reduced
// line by line.
//
//	lose MSG                 the publish attempt is lost
//	twice MSG                it is stored twice
//	forge MSG n              an altered copy is stored as well, altered in way n
//	delay MSG member ms      the delivery to a member is that much later
//	again MSG member ms      it is delivered a second time, that much later
//	hole MSG member          it is never delivered to a member
//	split MSG member n       that member gets an altered copy of it instead, altered in way n
//	lie member WHAT          it follows that row of the table of cheats, with - for blanks
//	batch member@n k         the member's n-th batch takes up to k messages
//	think member r.a ms      the update for round r attempt a needs that long
//	crash member@n HOW ms    it crashes at its n-th batch and restarts after that
//	replay member@n          and reads all messages again after the restart
//	rewind member@n k        and starts from its store of k durable batches before, with all messages
//	slow member ms           every batch needs that long until the faults end
//	skew member ms           its clock is wrong by that much
//	late member ms           it starts that late
//	leave member ms away     it leaves at a time, for that long (0: for good)
//	cut member ms length     it is cut off from a time on for that long
//
// MSG is a subject without the plan, # and a count: the count-th attempt to
// publish on that subject; a final "'" marks the second copy. HOW is 0: the batch
// is lost; 1: it is durable and no message of it was sent; 2 and more: its first
// HOW-1 messages were sent.
type Fault struct {
	Kind string
	Key  string
	Args []int64
}

// kinds are the kinds of faults with their numbers of arguments.
var kinds = map[string]int{"lose": 0, "twice": 0, "forge": 1, "delay": 1, "again": 1, "hole": 0, "split": 1,
	"lie": 0, "batch": 1, "think": 1, "crash": 2, "replay": 0, "rewind": 1, "slow": 1, "skew": 1, "late": 1,
	"leave": 2, "cut": 2}

// String is the fault's line.
func (f Fault) String() string {
	s := f.Kind + " " + f.Key
	for _, a := range f.Args {
		s += " " + strconv.FormatInt(a, 10)
	}
	return s
}

// parseFault reads what String writes.
func parseFault(line string) (Fault, error) {
	words := strings.Fields(line)
	n, ok := kinds[words[0]]
	if !ok {
		return Fault{}, fmt.Errorf("no such fault: %s", line)
	}
	if len(words) < n+2 || len(words) > n+3 {
		return Fault{}, fmt.Errorf("%s takes a key and %d numbers: %s", words[0], n, line)
	}
	f := Fault{Kind: words[0], Key: strings.Join(words[1:len(words)-n], " ")}
	for _, w := range words[len(words)-n:] {
		a, err := strconv.ParseInt(w, 10, 64)
		if err != nil || (a < 0 && f.Kind != "skew") {
			return Fault{}, fmt.Errorf("%s: %q isn't a number that fits", line, w)
		}
		f.Args = append(f.Args, a)
	}
	return f, nil
}

// chaos decides on the faults, by the seed or by a script.
type chaos struct {
	seed    uint64
	script  map[string]Fault // nil: by the seed
	happens []Fault          // in order
	counts  map[string]int
}

func newChaos(seed uint64, script []Fault, scripted bool) *chaos {
	c := &chaos{seed: seed, counts: map[string]int{}}
	if scripted {
		c.script = map[string]Fault{}
		for _, f := range script {
			c.script[f.Kind+" "+f.Key] = f
		}
	}
	return c
}

// ask decides whether a fault of a kind happens, with probability p, to the
// object with the name key and the hash id; shape draws the fault's numbers.
func (c *chaos) ask(kind string, p float64, id uint64, key func() string,
	shape func(d *dice) []int64) ([]int64, bool) {
	var f Fault
	if c.script != nil {
		var ok bool
		if f, ok = c.script[kind+" "+key()]; !ok {
			return nil, false
		}
	} else {
		d := dice(mixIn(c.seed, kind) ^ id)
		if !d.chance(p) {
			return nil, false
		}
		f = Fault{Kind: kind, Key: key()}
		if shape != nil {
			f.Args = shape(&d)
		}
	}
	c.happens = append(c.happens, f)
	c.counts[kind]++
	return f.Args, true
}

// dice is a small generator (splitmix64) that is fast to seed.
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *dice) chance(p float64) bool { return float64(d.next()>>11) < p*(1<<53) }

// upto is a number in 1..n.
func (d *dice) upto(n int64) int64 { return 1 + int64(d.next()%uint64(n)) }

// mix hashes words under a seed.
func mix(seed uint64, words ...string) uint64 {
	for _, w := range words {
		seed = mixIn(seed, w)
	}
	return seed
}

// mixIn hashes bytes under a seed, eight at a time, finished by splitmix64. It is
// not collision resistant.
func mixIn[T string | []byte](seed uint64, w T) uint64 {
	h, n := seed^uint64(len(w))*0x9e3779b97f4a7c15, len(w)
	for ; len(w) >= 8; w = w[8:] {
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		h = bits.RotateLeft64((h^x)*0xff51afd7ed558ccd, 31)
	}
	for i := range len(w) {
		h = (h ^ uint64(w[i])) * 1099511628211
	}
	d := dice(h ^ uint64(n))
	return d.next()
}
