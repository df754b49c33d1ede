package study

import (
	"fmt"
	"strings"
)

// verdicts are those that are counted, in the order of tables.
func verdicts() []Verdict {
	return []Verdict{Reproduced, Better, Worse, Uninformative, NotComparable, NotReproducible}
}

// counts are the numbers of rows by verdict, and of those with a published figure.
func (r *Result) counts() (by map[Verdict]int, published int) {
	by = map[Verdict]int{}
	for _, row := range r.Rows {
		by[row.Verdict]++
	}
	return by, len(r.Rows) - by[Unpublished]
}

// Summary is the outcome in a sentence.
func (r *Result) Summary() string {
	by, published := r.counts()
	if published == 0 {
		return "There is no published figure to compare with."
	}
	var parts []string
	for _, v := range verdicts() {
		if n := by[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	return fmt.Sprintf("Of %d published figures: %s.", published, strings.Join(parts, ", "))
}

// Counts are the numbers of published figures, and of those reproduced, better, worse and
// uninformative. Those that are not comparable or not reproducible count as the last.
func (r *Result) Counts() []int {
	by, published := r.counts()
	return []int{published, by[Reproduced], by[Better], by[Worse],
		by[Uninformative] + by[NotComparable] + by[NotReproducible]}
}
