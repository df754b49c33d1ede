package report

import (
	"fmt"
	"html/template"
	"path/filepath"
	"slices"

	"choir/attack/collude"
	"choir/lab/figure"
	"choir/protocol"
)

// attackFile is what choir attack leaves in a folder.
const attackFile = "attack.json"

// OfAttack makes the report of a folder of choir attack.
func OfAttack(dir string) (*Page, error) {
	var r collude.Result
	ok, err := readJSON(filepath.Join(dir, attackFile), &r)
	if err != nil {
		return nil, err
	}
	if !ok || r.SchemaVersion != 1 {
		return nil, protocol.Fail(protocol.ClassInput,
			"%s has no %s of choir attack run --out or attack sweep --out",
			filepath.Base(dir), attackFile)
	}
	p := &Page{Title: "What a coalition gets", Kind: "Attack"}
	p.attackVerdict(&r)
	p.matrix(&r)
	p.sweep(&r)
	p.records(&r)
	p.add(verdicts("Verdicts", &r, false))
	p.add(verdicts("Positive controls", &r, true))
	if err := p.curves(&r); err != nil {
		return nil, err
	}
	p.stories(&r)
	p.add(Section{Heading: "Not covered", List: r.NotCovered})
	t := r.Target
	p.add(Section{Heading: "To repeat it",
		Text: []string{fmt.Sprintf("%d parties, %d compute nodes, N_min = %d, T = %d, %d rounds, noise %v, "+
			"epsilon %g at delta %g; %d runs, seed %d for the attacks' own choices. Keys and noise are new each time.",
			t.Parties, t.Nodes, t.MinParties, t.Colluders, t.Rounds, t.Noise, t.Epsilon, t.Delta, r.Runs, r.Seed)}})
	return p, nil
}

func (p *Page) attackVerdict(r *collude.Result) {
	broke, undecided := r.Failed()
	switch {
	case broke > 0:
		p.Verdict, p.Bad = fmt.Sprintf("Broken promises: %d.", broke), true
	case undecided > 0:
		p.Verdict, p.Bad = fmt.Sprintf("Undecided attacks: %d.", undecided), true
	default:
		p.Verdict = "Every promise that was tested held, and every positive control broke."
	}
	p.fact("Coalition", "%s", r.Coalition)
	p.fact("Parties", "%d", r.Target.Parties)
	p.fact("Compute nodes", "%d", r.Target.Nodes)
	p.fact("Rounds", "%d", r.Target.Rounds)
	p.fact("Budget", "%s", number(r.Target.Epsilon, 4))
}

// verdicts is the matrix of coalitions and attacks.
func verdicts(heading string, r *collude.Result, control bool) Section {
	t := &Table{Head: []string{"Attack", "Coalition", "Claimed", "Measured", "Unit", "Verdict", "Promise"},
		Numeric: []bool{false, false, true, true, false, false, false}}
	for i, v := range r.Verdicts {
		if v.Control != control {
			continue
		}
		measured := numberOr(v.Measured)
		if v.Detail != nil && v.Unit == "epsilon" {
			measured += " to " + number(v.Detail.High, 3)
		}
		t.Rows = append(t.Rows, Row{Strong: !control && v.Verdict == collude.Broke, Link: storyOf(i, v),
			Cells: []string{v.Scenario, v.Coalition, numberOr(v.Claimed), measured, v.Unit, string(v.Verdict),
				v.Promise}})
	}
	s := Section{Heading: heading, Table: t}
	if control {
		s.Text = []string{"Where the attack must succeed. One that does not break here is blind."}
	} else {
		s.Notes = []string{"A measured epsilon is a lower confidence limit; a second number is the upper limit " +
			"for this adversary. Neither is above the truth with more than the probability 1e-9 (canaries: 1e-3)."}
	}
	return s
}

// Matrix is the verdicts of a result by coalition and attack, without its controls.
type Matrix struct {
	Coalitions, Attacks []string
	Verdicts            [][]collude.Verdict // by coalition and attack; empty: none
}

// MatrixOf arranges a result.
func MatrixOf(r *collude.Result) (m Matrix) {
	for _, v := range r.Verdicts {
		if v.Control {
			continue
		}
		i, j := slices.Index(m.Coalitions, v.Given), slices.Index(m.Attacks, v.Scenario)
		if j < 0 {
			j = len(m.Attacks)
			m.Attacks = append(m.Attacks, v.Scenario)
		}
		if i < 0 {
			i = len(m.Coalitions)
			m.Coalitions, m.Verdicts = append(m.Coalitions, v.Given), append(m.Verdicts, nil)
		}
		for len(m.Verdicts[i]) <= j {
			m.Verdicts[i] = append(m.Verdicts[i], "")
		}
		m.Verdicts[i][j] = v.Verdict
	}
	return m
}

// matrix is the verdicts of a sweep over several attacks.
func (p *Page) matrix(r *collude.Result) {
	m := MatrixOf(r)
	if len(m.Coalitions) < 2 {
		return
	}
	t := &Table{Head: append([]string{"Coalition"}, m.Attacks...), Numeric: make([]bool, 1+len(m.Attacks))}
	for i, c := range m.Coalitions {
		row := Row{Cells: []string{c}, Strong: slices.Contains(m.Verdicts[i], collude.Broke)}
		for _, v := range m.Verdicts[i] {
			row.Cells = append(row.Cells, string(v))
		}
		t.Rows = append(t.Rows, row)
	}
	p.add(Section{Heading: "Coalitions and attacks", Table: t,
		Notes: []string{"Not promised: the plan does not tolerate the coalition, or promises nothing there."}})
}

// sweep is the map of measured against claimed epsilon.
func (p *Page) sweep(r *collude.Result) {
	if len(r.Cells) == 0 {
		return
	}
	nodes, parties := 0, 0
	cells := map[[2]int]collude.Cell{}
	for _, c := range r.Cells {
		cells[[2]int{c.Parties, c.Nodes}] = c
		nodes, parties = max(nodes, c.Nodes), max(parties, c.Parties)
	}
	s := Section{Heading: "Measured of claimed epsilon",
		Text: []string{"The aggregator with so many parties and compute nodes. The darker a cell, the closer the " +
			"lower limit is to the claim. In brackets: coalitions that the plan does not tolerate."}}
	s.Figure = template.HTML(heatMap(cells, parties, nodes))
	p.add(s)
}

// records is the risk of each record that membership inference looked at.
func (p *Page) records(r *collude.Result) {
	for _, v := range r.Verdicts {
		if v.Control || v.Detail == nil || len(v.Detail.Records) == 0 {
			continue
		}
		t := &Table{Head: []string{"Length of the record, in clips", "Epsilon claimed", "Measured", "AUC",
			"AUC allowed",
			"AUC, others unknown", "TPR at 1 % FPR"}, Numeric: []bool{true, true, true, true, true, true, true}}
		for _, x := range v.Detail.Records {
			t.Rows = append(t.Rows, Row{Cells: []string{number(x.Length, 3), numberOr(x.Claimed),
				number(x.Measured, 3),
				fixed(x.AUC, 3), fixed(x.MostAUC, 3), fixed(x.Unknown, 3), fixed(x.AtOne, 3)}})
		}
		p.add(Section{Heading: "Risk by record", Table: t,
			Text: []string{"Membership inference against " + v.Coalition + ", by an adversary who knows the " +
				"victim's other records, and by one who knows only their population."}})
	}
}

func numberOr(x *float64) string {
	if x == nil {
		return "–"
	}
	return number(*x, 4)
}

// curves are the ROC curves of what has one.
func (p *Page) curves(r *collude.Result) error {
	panel := figure.Panel{XLabel: "false positive rate", YLabel: "true positive rate", YMin: 0, YMax: 1}
	drawn := map[string]bool{}
	for _, v := range r.Verdicts {
		name := v.Scenario
		if v.Control {
			name += ", control"
		}
		if v.Detail == nil || drawn[name] || len(drawn) == 6 {
			continue
		}
		drawn[name] = true
		c := figure.Curve{Name: name}
		for _, point := range v.Detail.ROC {
			c.X, c.Y = append(c.X, point[0]), append(c.Y, point[1])
		}
		panel.Curves = append(panel.Curves, c)
	}
	if len(panel.Curves) == 0 {
		return nil
	}
	s := Section{Heading: "Receiver operating characteristics"}
	if err := p.figure(&s, &figure.Figure{Title: "ROC", Panels: []figure.Panel{panel}, Width: 800,
		Height: 500}); err != nil {
		return err
	}
	p.add(s)
	return nil
}

// storyOf is the ID of a verdict's story; empty without one.
func storyOf(i int, v collude.Outcome) string {
	if len(v.Story) == 0 && v.Reason == "" && methodOf(v) == "" {
		return ""
	}
	return fmt.Sprintf("story-%d", i)
}

func methodOf(v collude.Outcome) string {
	if v.Detail == nil {
		return ""
	}
	return v.Detail.Method
}

// stories tell what broke step by step, and what was seen where nothing did.
func (p *Page) stories(r *collude.Result) {
	for i, v := range r.Verdicts {
		id := storyOf(i, v)
		if id == "" {
			continue
		}
		s := Section{ID: id, Heading: fmt.Sprintf("%s: %s", v.Scenario, v.Verdict), Steps: v.Story,
			Commands: v.Repeat}
		if v.Reason != "" {
			s.Text = []string{v.Reason}
		}
		if method := methodOf(v); method != "" {
			s.Text = append(s.Text, "The limit is "+method+".")
		}
		if v.Control {
			s.Heading = fmt.Sprintf("%s, control: %s", v.Scenario, v.Verdict)
		}
		if v.Verdict == collude.Broke && len(v.Repeat) == 0 {
			s.Commands = []string{again(r, v)}
		}
		p.add(s)
	}
}

// again is the command that repeats an attack and its control.
func again(r *collude.Result, v collude.Outcome) string {
	t, data := r.Target, ""
	if r.Records > 0 {
		data = " --data FILE"
	}
	if t.Name != "" {
		return fmt.Sprintf("choir attack run PLAN --coalition %s --scenario %s --runs %d --seed %d%s", r.Coalition,
			v.Scenario, r.Runs, r.Seed, data)
	}
	return fmt.Sprintf("choir attack run --parties %d --nodes %d --colluders %d --dropouts %d --rounds %d \\\n"+
		"  --epsilon %g --delta %g --noise %v --coalition %s --scenario %s --runs %d --seed %d%s", t.Parties,
		t.Nodes, t.Colluders, t.Parties-t.MinParties, t.Rounds, t.Epsilon, t.Delta, t.Noise, r.Coalition,
		v.Scenario, r.Runs, r.Seed, data)
}
