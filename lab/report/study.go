package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"choir/lab/bench"
	"choir/lab/experiment"
	"choir/lab/study"
	"choir/protocol"
)

// ofStudies is the report of a folder with results of studies; nil if it has none.
func ofStudies(_ string, documents []document) (*Page, error) {
	p := &Page{Kind: "Study"}
	studies := 0
	brief := len(documents) > 1
	for _, d := range documents {
		var err error
		switch {
		case d.has("name", "rows", "seeds", "transport"):
			err = p.study(d, brief)
		case d.has("cases", "regimes", "claimed_epsilon"), d.name == "noisy-factors" && d.has("cases"):
			err = p.noisyFactors(d)
		default:
			continue
		}
		if err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "%s.json: %w", d.name, err)
		}
		studies++
	}
	switch {
	case studies == 0:
		return nil, nil
	case studies > 1:
		p.Title, p.Verdict = fmt.Sprintf("%d studies", studies), ""
	}
	return p, nil
}

// study adds the sections of one study; a brief one has its figures, table and command only.
func (p *Page) study(d document, brief bool) error {
	r, err := study.Parse(d.raw)
	if err != nil {
		return err
	}
	p.Title, p.Verdict = r.Title, r.Summary()
	if r.Unfinished {
		p.Verdict, p.Bad = "Interrupted: rows are missing. "+p.Verdict, true
	}
	s := Section{Heading: r.Title, Text: []string{"Source: " + plain(r.Source) + "."}}
	if brief {
		s.Text = append(s.Text, r.Summary())
	} else {
		for _, a := range r.About {
			s.Text = append(s.Text, plain(a))
		}
	}
	for _, f := range r.Figures() {
		if err := p.figure(&s, f); err != nil {
			return err
		}
	}
	if brief {
		s.Commands = []string{repeatStudy(r)}
		p.add(s)
		return nil
	}
	p.add(s)
	p.add(Section{Heading: "Results", Table: tableOf(r.Table())})
	if len(r.Calibration) > 0 {
		p.add(Section{Heading: "Calibration", Text: []string{plain(study.CalibrationText)},
			Table: tableOf(r.CalibrationTable())})
	}
	if len(r.Spent) > 0 {
		p.add(Section{Heading: "Privacy spent", Table: tableOf(r.SpentTable())})
	}
	notes := Section{Heading: "Notes"}
	for _, n := range r.Notes {
		notes.Text = append(notes.Text, plain(n))
	}
	for _, set := range r.Settings {
		notes.List = append(notes.List, plain(set.Name+": "+set.Value))
	}
	p.add(notes)
	p.add(Section{Heading: "How to repeat", Commands: []string{repeatStudy(r)}})
	return nil
}

func repeatStudy(r *study.Result) string {
	return fmt.Sprintf("choir experiment run %s --seeds %d --transport %s", r.Name, r.Seeds, r.Transport)
}

func (p *Page) noisyFactors(d document) error {
	var r experiment.NoisyFactorsResult
	if err := json.Unmarshal(d.raw, &r); err != nil {
		return err
	}
	p.Title = "What joint noise in private factors does to the published privacy claim"
	p.add(Section{Heading: "Epsilon, claimed and measured", Table: tableOf(r.Table())})
	p.add(Section{Heading: "Where the clip leaves the others alone", Table: tableOf(r.RegimeTable())})
	p.add(Section{Heading: "How to repeat", Commands: []string{
		fmt.Sprintf("choir experiment run noisy-factors --seeds %d", r.Seeds)}})
	return nil
}

// ofBenchmarks is the report of a folder with benchmarks' documents; nil if it has none.
func ofBenchmarks(dir string, documents []document) (*Page, error) {
	all, err := bench.Documents(dir)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	p := &Page{Kind: "Benchmark", Title: "Cost of the protocol"}
	repeat := Section{Heading: "How to repeat"}
	for _, d := range all {
		sections := sectionsOf(d.Title, d.Markdown)
		if d.Figure != nil && len(sections) > 0 {
			if err := p.figure(&sections[0], d.Figure); err != nil {
				return nil, err
			}
		}
		p.Sections = append(p.Sections, sections...)
		if command := strings.TrimSpace(d.Command); command != "" {
			repeat.Commands = append(repeat.Commands, command)
		}
	}
	p.add(repeat)
	return p, nil
}
