package collude

import (
	"fmt"
	"strconv"
	"strings"

	"choir/protocol"
)

// Coalition is the members that work together. The zero value is an outsider who has nothing.
type Coalition struct {
	Parties    int  // the last ones of the roster; never the victim, who is the first one
	Nodes      int  // compute nodes, the first ones
	Aggregator bool // sees the partial sums
	Broker     bool // sees and orders all messages
}

// ParseCoalition reads a list such as "parties=2,nodes=2,aggregator,broker".
func ParseCoalition(s string) (c Coalition, err error) {
	seen := map[string]bool{}
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		name, number, counted := strings.Cut(word, "=")
		n := 0
		if counted {
			if n, err = strconv.Atoi(number); err != nil || n < 0 {
				return c, badCoalition("%q isn't a number of members", word)
			}
		}
		if seen[name] {
			return c, badCoalition("%s is there twice", name)
		}
		seen[name] = true
		switch {
		case name == "parties" && counted:
			c.Parties = n
		case name == "nodes" && counted:
			c.Nodes = n
		case word == "aggregator":
			c.Aggregator = true
		case word == "broker":
			c.Broker = true
		default:
			return c, badCoalition("%q isn't one of parties=N, nodes=N, aggregator, broker", word)
		}
	}
	return c, nil
}

func badCoalition(format string, args ...any) error {
	return protocol.Fail(protocol.ClassInput, "coalition: "+format, args...)
}

// String is the form that ParseCoalition reads.
func (c Coalition) String() string {
	var words []string
	if c.Parties > 0 {
		words = append(words, fmt.Sprintf("parties=%d", c.Parties))
	}
	if c.Nodes > 0 {
		words = append(words, fmt.Sprintf("nodes=%d", c.Nodes))
	}
	if c.Aggregator {
		words = append(words, "aggregator")
	}
	if c.Broker {
		words = append(words, "broker")
	}
	if len(words) == 0 {
		return "outsider"
	}
	return strings.Join(words, ",")
}

// members are the coalition's members by their index in a plan.
func (c Coalition) members(p *protocol.Plan) map[uint32]bool {
	in := map[uint32]bool{}
	for i := range c.Parties {
		in[uint32(p.Parties()-1-i)] = true
	}
	for k := range c.Nodes {
		in[p.Compute(k)] = true
	}
	if c.Aggregator {
		in[p.Aggregator()] = true
	}
	return in
}

// seesSums reports whether a member of the coalition learns the sum of every round.
func (c Coalition) seesSums() bool { return c.Aggregator || c.Parties > 0 }
