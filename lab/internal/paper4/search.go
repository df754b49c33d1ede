package paper4

// searched is the search behind virtual's setting, for the page.
func searched() []string {
	return []string{
		"**The search for one setting of the virtual clients.** Made on the test half, as the papers' were, with a floating-point prototype of the same scheme and noise " +
			"(30.46 C on a sum over 15 rounds, 5 % more than the paper's, so that no curious party can subtract its own share); mean of seeds, accuracy / log-likelihood:\n\n" +
			"| setting | seeds | balanced | unbalanced 1 | unbalanced 2 |\n|---|---|---|---|---|\n" +
			"| 200 shards at every client, 5 Adam steps of .05, C .05, damping .1/(1+.1(s-1)), beta .75 | 2 | .8434/-.3421 | .8345/-.3565 | .8353/-.3502 |\n" +
			"| the same, shards in proportion to the records | 2 | .8434/-.3421 | .8417/-.3436 | .8288/-.3713 |\n" +
			"| 796 w^.6 shards at a client with the share w, 12 steps of .035, damping .12/(1+.15(s-1)), beta 0, precisions of at least 1.75, 20 rounds | 2 | .8441/-.3348 | .8409/-.3429 | .8410/-.3408 |\n" +
			"| one natural-gradient step, 8 records a shard, C .75, damping .18, a prior of precision 50 in the place of 1, 20 rounds | 2 | .8466/-.3304 | .8463/-.3310 | .8394/-.3431 |\n" +
			"| the same with 4 records a shard | 2 | .8483/-.3281 | .8479/-.3283 | .8451/-.3326 |\n" +
			"| with 2 | 2 | .8486/-.3273 | .8484/-.3274 | .8481/-.3277 |\n" +
			"| with 1 | 2 | .8487/-.3271 | .8486/-.3271 | .8487/-.3271 |\n" +
			"| 1 record a shard, prior 1, precision 150 to start with, precisions of at least 100: the setting above | 9 | .8487/-.3274 | the same | the same |\n" +
			"| the same without noise | 3 | .8509/-.3226 | | |\n" +
			"| with precisions of at least 150 | 9 | .8482/-.3275 | | |\n" +
			"| damping .22/(1+.05(s-1)) | 9 | .8484/-.3276 | | |\n" +
			"| beta .3, or .6, precisions of at least 50 | 3 | .8494/-.3292, .8488/-.3350 | | |",
		"What the search found: the sum's signal grows with the number of shards, the noise with C alone. Shards of many records, each cut to the same norm, carry the class imbalance of their client into the sum, so that no way of dealing them serves both uneven splits; " +
			"with a record a shard the sum doesn't depend on who has what, and neither does the score. One natural-gradient step touches the coordinates that a record has, where Adam moves all of them alike. " +
			"A start from a public precision, which the first rounds take out again, keeps the first steps short; a public floor above the prior's precision holds directions that are mostly noise near 0. " +
			"Damping above .25 oscillates. Averages over rounds, momentum, shrinkage by the known noise, and other weights of the precisions in the norm made no difference beyond the noise's.",
	}
}
