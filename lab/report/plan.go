package report

import (
	"cmp"
	"fmt"

	"choir/protocol"
	"choir/session/terms"
)

// ofPlan is the report of a plan file, for those who decide whether to sign it.
func ofPlan(path string) (*Page, error) {
	signed, err := terms.ReadPlan(path)
	if err != nil {
		return nil, err
	}
	s, err := terms.Summarise(signed)
	if err != nil {
		return nil, err
	}
	p := &Page{Kind: "Plan", Title: cmp.Or(s.Name, "Plan")}
	p.Verdict = "Every member has signed this plan."
	if !s.Complete {
		p.Verdict = "This plan is not yet signed by every member."
		p.Bad = true
	}
	p.planFacts(s)
	if err := p.adversaries(signed.Plan); err != nil {
		return nil, err
	}
	p.cost(s)
	members := Section{Heading: "Members", Table: &Table{
		Head: []string{"name", "role", "fingerprint", "key valid until", ""}, Numeric: make([]bool, 5)}}
	for _, m := range s.Members {
		state := "not signed"
		if m.Signed {
			state = "signed"
		}
		members.Table.Rows = append(members.Table.Rows,
			Row{Cells: []string{m.Name, m.Role, m.Fingerprint, m.NotAfter.Format("2006-01-02"), state}})
	}
	p.add(members)
	p.parameters(s)
	p.add(Section{Heading: "How to check this",
		Commands: []string{"choir plan check PLAN", "choir plan show PLAN"},
		Notes:    []string{"Plan " + s.Plan}})
	return p, nil
}

func (p *Page) planFacts(s *terms.Summary) {
	p.fact("Parties", "%d", s.Parties)
	p.fact("Compute nodes", "%d", s.Computes)
	p.fact("Rounds", "%d", s.Rounds)
	p.fact("May collude", "%d parties", s.Colluders)
	if s.Epsilon > 0 {
		p.fact("Epsilon, all rounds", "%s of %s", number(s.Spends, 4), number(s.Epsilon, 4))
		p.fact("Delta", "%s", number(s.Delta, 3))
	} else {
		p.fact("Epsilon", "none claimed")
	}
}

// adversaries is the plan's table of who can learn what: the rows that it promises, and the
// first that it does not.
func (p *Page) adversaries(plan *protocol.Plan) error {
	g, err := terms.GuaranteesOf(plan)
	if err != nil {
		return err
	}
	s := Section{Heading: "Who can learn what", List: g.Assumptions}
	for i, a := range s.List {
		s.List[i] = "Assumed: " + a + "."
	}
	if len(g.Layers) == 0 {
		s.Text = []string{"The plan claims no privacy for the sums that it reveals."}
		p.add(s)
		return nil
	}
	s.Text = []string{fmt.Sprintf("Epsilon at delta %s over all rounds, against each adversary that the "+
		"plan promises to "+
		"withstand, and against the first that it does not. Lower is more private.", number(g.Delta, 3))}
	s.Table = &Table{Numeric: []bool{false, false, true, true, true, false},
		Head: []string{"adversary", "sees", "colluding parties", "nodes", "epsilon, one record", ""}}
	broken := false
	for _, l := range g.Layers {
		local := g.Reports != nil && int(l.Computes) == plan.Computes()
		if broken && !local {
			continue
		}
		row := Row{Muted: !l.Tolerated, Cells: []string{l.Adversary, l.Seen,
			fmt.Sprint(l.Parties), fmt.Sprint(l.Computes), epsilon(l.Sample), "promised"}}
		if l.Tolerated {
			s.Table.Rows = append(s.Table.Rows, row)
			continue
		}
		row.Cells[5] = "not promised"
		s.Table.Rows = append(s.Table.Rows, row)
		broken = true
	}
	p.add(s)
	return nil
}

func epsilon(e *float64) string {
	if e == nil {
		return "no bound"
	}
	return number(*e, 4)
}

func (p *Page) cost(s *terms.Summary) {
	c := Section{Heading: "What a round costs",
		Table: &Table{Head: []string{"", "bytes"}, Numeric: []bool{false, true},
			Rows: []Row{
				{Cells: []string{"a party sends", fmt.Sprint(s.Cost.UploadPerParty)}},
				{Cells: []string{"a party receives", fmt.Sprint(s.Cost.DownloadPerParty)}},
				{Cells: []string{"a compute node receives", fmt.Sprint(s.Cost.DownloadPerCompute)}},
			}}}
	c.Notes = []string{fmt.Sprintf("One dishonest party can move a sum by at most %s times the largest honest "+
		"update; %s times if only coordinates were checked. A false update within that bound is not noticed. "+
		"Beyond it the round is lost, with its share of the budget, and nobody can tell whose update it was.",
		number(s.Reach.Checked, 3), number(s.Reach.Unchecked, 3))}
	if u := s.NoiseUse; u != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("The noise on a sum has standard deviation %s: %s clips, %s times "+
			"a trusted "+
			"aggregator's and %s of that of local noise.",
			number(u.Std, 4), number(u.PerClip, 3), number(u.Trusted, 3), number(u.Local, 3)))
	}
	p.add(c)
}

func (p *Page) parameters(s *terms.Summary) {
	if len(s.Parameters) > 0 && len(s.Parameters) < 8<<10 {
		p.add(Section{Heading: "Parameters", Commands: []string{string(s.Parameters)}})
	}
}
