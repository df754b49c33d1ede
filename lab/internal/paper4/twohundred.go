package paper4

import "choir/learn/pvi"

// twoHundred is Figure 3: 200 clients and half the budget.
func twoHundred() comparison {
	v := virtual(pvi.Config{Clip: 0.75, Damping: 0.18, PrecisionFloor: 200, StartPrecision: 150}, 1, 20)
	b := pair{0.840, -0.345}
	v.bars = bar(b, b, b)
	return comparison{name: "paper4-adult200",
		title: "Logistic regression on Adult, 200 clients, (1/2, 1e-5)", figure: "Figure 3", parties: 200,
		epsilon: 0.5, train: 0.5, splits: splits(), methods: []method{v}}
}
