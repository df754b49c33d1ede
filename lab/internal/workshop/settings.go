package workshop

import "choir/lab/study"

func settings() []study.Setting {
	return []study.Setting{
		{Name: "DP-PVI with the published steps", Value: "C 75 q = 1.5 for a record's own gradient, noise 5 C, " +
			"q 0.02, 25 Adagrad steps an update, the first of 0.5, from the prior, damping 0.1; clients drawn " +
			"in proportion to 1/n until their budget is spent"},
		{Name: "DP-PVI with shorter steps", Value: "the same with first steps of 0.03, and factors that begin " +
			"with a precision of 100 together"},
		{Name: "DP-PVI with our steps", Value: "C 2.5, q 0.1, 120 epsilon - 20 updates of 5 SGD steps of " +
			"0.00015 (10 w)^0.75 at a client with the share w of the records, log standard deviations in " +
			"units of 0.2, damping 0.4 / (1 + 0.005 (s-1)) after s updates by anybody, factors that " +
			"begin with a precision of 300 together; the noise is what the authors' accountant " +
			"then allows; clients drawn as above"},
		{Name: "global VI over secure sums", Value: "1000 rounds, q 0.02, C 3, Adam at 0.015, first " +
			"standard deviation 0.1, averaging 3"}}
}
