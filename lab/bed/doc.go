// Package bed runs sessions for experiments: every role in this process, over the
// memory transport or an embedded NATS server, with all keys, plans, shares and noise of a
// deployment, but with randomness that is a function of a seed, so that an experiment is
// repeatable.
//
// That randomness gives no privacy, and the data sets of the experiments are public. Nothing
// but experiments may use it.
package bed
