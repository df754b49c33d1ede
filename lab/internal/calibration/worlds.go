package calibration

// worlds are those of the study.
func worlds(quick bool) []world {
	if quick {
		return []world{{"tiny", false, 400, 3, 0.3, 4, 8, 0, 0, false},
			{"tiny linear", true, 400, 3, 0.3, 4, 8, 0, 0, false}}
	}
	return []world{
		{"logistic", false, 16000, 20, 0.4, 10, 1, 0, 0, false},
		{"linear", true, 16000, 20, 0.4, 10, 1, 0, 0, false},
		{"many parties", false, 16000, 20, 0.4, 300, 1, 0, 0, false},
		{"many parties linear", true, 16000, 20, 0.4, 300, 1, 0, 0, false},
		{"small", false, 500, 5, 0.8, 3, 8, 0, 0, false},
		{"small linear", true, 500, 5, 0.2, 3, 2, 0, 0, false},
		{"narrow", false, 50000, 8, 0, 20, 0.3, 0, 0, false},
		{"wide", false, 20000, 60, 0.3, 10, 4, 0, 0, false},
		{"correlated", false, 12000, 15, 0.8, 5, 2, 0, 0, false},
		{"wide linear", true, 30000, 40, 0.6, 40, 1, 0, 0, false},
		{"strict", false, 8000, 10, 0.5, 100, 0.5, 0, 0, false},
		{"generous linear", true, 3000, 12, 0.7, 8, 8, 0, 0, false},
	}
}

// drawn are worlds that nothing was developed on. Each number was drawn once between 500 and 50,000 rows,
// 5 and 60 columns, correlations of 0 and .8, 3 and 100 parties and epsilon .3 and 8, on a
// logarithmic scale but for correlations.
func drawn(quick bool) []world {
	all := []world{
		{"drawn 0", false, 1228, 27, 0.53, 39, 1.74, 0, 0, false},
		{"drawn 1", false, 18000, 5, 0.18, 5, 3.27, 0, 0, false},
		{"drawn 2", true, 676, 12, 0.26, 83, 0.33, 0, 0, false},
		{"drawn 3", false, 500, 28, 0.53, 42, 0.46, 0, 0, false},
		{"drawn 4", false, 868, 11, 0.28, 3, 1.91, 0, 0, false},
		{"drawn 5", true, 2040, 24, 0.07, 18, 0.61, 0, 0, false},
		{"drawn 6", false, 1604, 47, 0.51, 11, 0.76, 0, 0, false},
		{"drawn 7", false, 692, 54, 0.47, 12, 0.44, 0, 0, false},
		{"drawn 8", true, 1164, 40, 0.79, 3, 0.8, 0, 0, false},
		{"drawn 9", false, 11676, 21, 0.12, 4, 0.54, 0, 0, false},
		{"drawn 10", false, 5220, 7, 0.22, 15, 1.02, 0, 0, false},
		{"drawn 11", true, 864, 18, 0.64, 62, 5, 0, 0, false},
		{"drawn 12", false, 2284, 33, 0.35, 25, 2.79, 0, 0, false},
		{"drawn 13", false, 1732, 5, 0.68, 8, 0.41, 0, 0, false},
		{"drawn 14", true, 3316, 16, 0.01, 59, 6.43, 0, 0, false},
		{"drawn 15", false, 1280, 7, 0.02, 5, 2.69, 0, 0, false},
		{"drawn 16", false, 1264, 55, 0.17, 6, 1.17, 0, 0, false},
		{"drawn 17", true, 16496, 7, 0.53, 85, 0.64, 0, 0, false},
		{"drawn 18", false, 34032, 31, 0.14, 4, 0.31, 0, 0, false},
		{"drawn 19", false, 14496, 57, 0.04, 34, 2.23, 0, 0, false},
	}
	if quick {
		return all[:1]
	}
	return all
}

// rare are worlds of one class that few records have, from a fifth to 3 % of them.
func rare(quick bool) []world {
	all := []world{
		{"7 %, correlated", false, 2000, 10, 0.8, 5, 2, -4, 0, false},
		{"3 %", false, 4000, 8, 0.5, 20, 1, -5.1, 0, false},
		{"20 %", false, 1000, 6, 0, 3, 8, -2.2, 0, false},
		{"5 %", false, 3000, 12, 0.3, 4, 4, -4.5, 0, false},
		{"95 %", false, 6000, 6, 0.6, 30, 1, 4.5, 0, false},
		{"10 %, wide", false, 5000, 20, 0.7, 8, 1, -3.5, 0, false},
		{"7 %, few records", false, 600, 10, 0.8, 5, 1, -4, 0, false},
		{"3 %, few records", false, 1500, 8, 0.5, 3, 0.8, -5.1, 0, false},
		{"5 %, many columns", false, 1000, 20, 0, 20, 2, -4.5, 0, false},
		{"20 %, many parties", false, 3000, 10, 0.8, 50, 0.5, -2.2, 0, false},
	}
	if quick {
		return all[:1]
	}
	return all
}

// priors are worlds whose weights are drawn from the prior: there an exact posterior's intervals cover what
// they say.
func priors(quick bool) []world {
	all := []world{
		{"prior 16,000 x 20", false, 16000, 20, 0.4, 10, 1, 0, 0, true},
		{"prior 5,000 x 30", false, 5000, 30, 0, 5, 4, 0, 0, true},
		{"prior 20,000 x 12", false, 20000, 12, 0.5, 20, 4, 0, 0, true},
		{"prior 3,000 x 9", false, 3000, 9, 0.3, 5, 2.5, 0, 0, true},
		{"prior 2,000 x 5", false, 2000, 5, 0, 10, 1, 0, 0, true},
		{"prior 800 x 15", false, 800, 15, 0.6, 3, 8, 0, 0, true},
		{"prior, many parties", false, 12000, 8, 0.2, 200, 1, 0, 0, true},
		{"prior linear 16,000 x 20", true, 16000, 20, 0.4, 10, 1, 0, 0, true},
		{"prior linear 2,000 x 8", true, 2000, 8, 0.5, 20, 2, 0, 0, true},
		{"prior linear 6,000 x 40", true, 6000, 40, 0, 5, 4, 0, 0, true},
	}
	if quick {
		return all[4:5]
	}
	return all
}
