package terms

import (
	"fmt"

	"choir/protocol"
	"choir/session/app"
)

// mostOverstated is how many times the records of a party a plan may count on. Settings that follow from ten
// times the records there are cost little, and from a hundred times five times the width (decision 93).
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
	return fmt.Sprintf("the plan counts on %.0f records of this party, which has %d: if all parties together "+
		"have far fewer than records in [learning] names, the rounds are set up for more than there is to "+
		"learn, and intervals will be several times as wide as they need be; name the number of all records "+
		"there", counted, rows)
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
