package terms

import (
	"fmt"

	"choir/protocol"
	"choir/session/app"
)

// mostOverstated is how many times the records of a party a plan may count on. Clips let a record's factor
// leave its part of start_precision only so far: at 40 times nothing is seen of that, and beyond 100 times
// coefficients are outside their intervals (decision 93).
const mostOverstated = 50

// TooFew warns of a party with far fewer records than the plan counts on: its share of the declared ones by
// the plan's weights. A party below 0 is the one that the plan counts on least. It depends on the data.
func TooFew(p *protocol.Plan, party, rows int) string {
	l, err := app.PVIOf(p)
	if err != nil || l.PVI.StartPrecision == 0 || l.PVI.Strategy.Params().Shards < 2 {
		return ""
	}
	share := l.Weights[max(party, 0)]
	if party < 0 {
		for _, w := range l.Weights {
			share = min(share, w)
		}
	}
	counted := share * float64(l.Records)
	if counted <= mostOverstated*float64(rows) {
		return ""
	}
	return fmt.Sprintf("the plan counts on %.0f records of this party, which has %d: they begin with a share "+
		"of start_precision that they can't leave, which draws all coefficients towards 0 and may leave them "+
		"outside their intervals; name each party's share of the records as weights in [learning], and the "+
		"number of all as records", counted, rows)
}

// Shares are the parties' shares of the records for a plan's weights; nil if all are equal, as by default.
func Shares(records []int) []float64 {
	total, equal := 0.0, true
	for _, n := range records {
		total += float64(n)
		equal = equal && n == records[0]
	}
	if equal {
		return nil
	}
	shares := make([]float64, len(records))
	for i, n := range records {
		shares[i] = float64(n) / total
	}
	return shares
}
