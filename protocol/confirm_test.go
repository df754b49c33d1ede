package protocol

import (
	"errors"
	"math/rand/v2"
	"testing"

	"choir/crypto/channel"
	"choir/crypto/field"
	"choir/crypto/fixedpoint"
)

// confirmed is a sum of three vectors, with what the nodes and the aggregator make of it.
type confirmed struct {
	s       BoundPlan
	group   *channel.Secret
	context Context
	result  Digest
	sum     []int64
	trace   SealedTrace
	values  []Value
}

func newConfirmed(t *testing.T, dim int) *confirmed {
	t.Helper()
	rng := rand.New(rand.NewChaCha8([32]byte{byte(dim)}))
	group, err := channel.NewSecret(make([]byte, channel.SecretSize))
	if err != nil {
		t.Fatal(err)
	}
	c := &confirmed{s: Bind(testPlan()), group: group, result: testDigest(1), sum: make([]int64, dim),
		context: Context{From: 5, To: Everyone, Round: 1, Attempt: 1, Purpose: PurposeResult}}
	total := make(field.Vector, dim)
	var openings []Opening
	for range 3 {
		v := make(field.Vector, dim)
		for i := range v {
			v[i] = field.Element(rng.Uint64N(field.Modulus))
		}
		total.Add(v)
		var o Opening
		o.Salt[0] = byte(rng.Uint32())
		openings = append(openings, o)
		f := c.s.Fingerprint(c.result)
		f.Write(v)
		c.values = append(c.values, o.Value(f))
	}
	fixedpoint.FromField(c.sum, total)
	if c.trace, err = c.s.SealTrace(group, c.context, openings); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *confirmed) holds(t *testing.T) bool {
	t.Helper()
	want, err := c.s.Expected(c.group, c.context, c.trace, c.result, c.sum)
	if err != nil {
		t.Fatal(err)
	}
	return AddValues(c.values) == want
}

// TestConfirmedSum checks that the nodes' values add up to what a party expects of the sum of their
// vectors, and not of another sum, another result or other values.
func TestConfirmedSum(t *testing.T) {
	for _, dim := range []int{1, 2, 257, 10_000} {
		if !newConfirmed(t, dim).holds(t) {
			t.Errorf("%d elements: the true sum is refused", dim)
		}
		for what, lie := range map[string]func(c *confirmed){
			"another sum":    func(c *confirmed) { c.sum[dim-1]++ },
			"another result": func(c *confirmed) { c.result[0] ^= 1 },
			"another value":  func(c *confirmed) { c.values[1][0] ^= 1 },
		} {
			t.Run(what, func(t *testing.T) {
				c := newConfirmed(t, dim)
				lie(c)
				if c.holds(t) {
					t.Errorf("%d elements: %s is accepted", dim, what)
				}
			})
		}
	}
}

// TestExpectedRejects checks that a sum beyond the field, and a trace under another key or of
// another attempt, are errors.
func TestExpectedRejects(t *testing.T) {
	for what, row := range map[string]struct {
		lie  func(c *confirmed)
		want error
	}{
		"an integer beyond the field": {func(c *confirmed) { c.sum[0] = field.MaxSigned + 1 }, ErrMismatch},
		"another attempt":             {func(c *confirmed) { c.context.Attempt++ }, ErrSealed},
		"an altered trace":            {func(c *confirmed) { c.trace[0] ^= 1 }, ErrSealed},
	} {
		t.Run(what, func(t *testing.T) {
			c := newConfirmed(t, 3)
			row.lie(c)
			if _, err := c.s.Expected(c.group, c.context, c.trace, c.result, c.sum); !errors.Is(err, row.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestValuesHideTheSum checks that, without the group key, the values of two different sums are
// equally likely: for every trace of the one there is a trace of the other with the same values.
func TestValuesHideTheSum(t *testing.T) {
	c := newConfirmed(t, 1)
	salts := map[Value]bool{}
	for i := range 64 {
		f := c.s.Fingerprint(c.result)
		f.Write(field.Vector{5}) // the same vector each time
		var o Opening
		o.Salt[0] = byte(i)
		salts[o.Value(f)] = true
	}
	if len(salts) != 64 {
		t.Errorf("one vector has %d values under 64 salts", len(salts))
	}
}
