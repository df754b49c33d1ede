package report

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"choir/lab/figure"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
	"choir/session/result"
	"choir/session/terms"
)

// outcome is what the report reads of a demonstration's result.json.
type outcome struct {
	Data          string            `json:"data"`
	Command       string            `json:"command"`
	Train         int               `json:"train_rows"`
	Test          int               `json:"test_rows"`
	Parties       int               `json:"parties"`
	Computes      int               `json:"compute_nodes"`
	Rounds        int               `json:"rounds"`
	Model         string            `json:"model"`
	Strategy      string            `json:"strategy"`
	Epsilon       float64           `json:"epsilon"`
	EpsilonBudget float64           `json:"epsilon_budget"`
	Delta         float64           `json:"delta"`
	Relation      string            `json:"relation"`
	Result        score             `json:"result"`
	References    map[string]*score `json:"references"`
	Verdict       string            `json:"verdict"`
	Warnings      []string          `json:"warnings"`
}

type score struct {
	Accuracy      *float64 `json:"test_accuracy"`
	LogLikelihood *float64 `json:"test_log_likelihood"`
}

// known reports whether there is a score: without references all of them are zero.
func (s *score) known() bool {
	return s != nil && s.Accuracy != nil && s.LogLikelihood != nil && (*s.Accuracy != 0 || *s.LogLikelihood != 0)
}

// ofSession is the report of a demonstration or of a member's results. Every part is
// optional but one of the plan and the result.
func ofSession(dir string) (*Page, error) {
	var r outcome
	scored, err := readJSON(filepath.Join(dir, "result.json"), &r)
	if err != nil {
		return nil, err
	}
	p := &Page{Kind: "Session", Title: "Session"}
	if scored && (r.Parties == 0 || r.Model == "") {
		return nil, protocol.Fail(protocol.ClassInput, "%s is not the result of a demonstration",
			filepath.Join(dir, "result.json"))
	}
	if scored {
		p.demonstration(&r)
		if err := p.curve(dir, &r); err != nil {
			return nil, err
		}
	}
	signed, err := result.FolderPlan(dir)
	if err != nil {
		return nil, err
	}
	if signed != nil && !scored {
		s, err := terms.Summarise(signed)
		if err != nil {
			return nil, err
		}
		p.Title = cmp.Or(s.Name, p.Title)
		p.planFacts(s)
	}
	if err := p.model(dir, signed); err != nil {
		return nil, err
	}
	if signed != nil {
		if err := p.adversaries(signed.Plan); err != nil {
			return nil, err
		}
	}
	p.verified(dir)
	p.repeat(dir, &r)
	return p, nil
}

// demonstration is the part that result.json has.
func (p *Page) demonstration(r *outcome) {
	p.Kind, p.Title = "Demonstration", r.Data
	p.Verdict, p.Bad = verdictOf(r)
	p.fact("Parties", "%d", r.Parties)
	p.fact("Compute nodes", "%d", r.Computes)
	p.fact("Rounds", "%d", r.Rounds)
	p.fact("Epsilon spent", "%s of %s", number(r.Epsilon, 4), number(r.EpsilonBudget, 4))
	p.fact("Delta", "%s", number(r.Delta, 3))
	p.fact("Model", "%s, %s", r.Model, r.Strategy)
	if len(r.Warnings) > 0 {
		p.add(Section{Heading: "Warnings", Text: r.Warnings, Warning: true})
	}
	p.add(p.scores(r))
}

// verdictOf is the result's own verdict, or one from its scores.
func verdictOf(r *outcome) (verdict string, bad bool) {
	own := r.Result.LogLikelihood
	single, median := r.References["best_single_party"], r.References["median_single_party"]
	majority := r.References["majority"]
	if own == nil {
		return r.Verdict, false
	}
	behind := func(s *score) bool { return s.known() && *own < *s.LogLikelihood }
	bad = behind(single) || behind(median) || behind(majority)
	switch {
	case r.Verdict != "":
		return r.Verdict, bad
	case behind(majority):
		return "The session predicts worse than the " + r.nothing() + ".", true
	case behind(single) || behind(median):
		return "A party alone predicts better than the session at this budget.", true
	case single.known():
		return "Together the parties predict better than the median of them alone, and than the one that " +
			"held-out rows choose.", false
	}
	return "", false
}

// scores is the table of the session and its references.
func (p *Page) scores(r *outcome) Section {
	measure := "test accuracy"
	if r.linear() {
		measure = "test R squared"
	}
	s := Section{Heading: "Scores", Table: &Table{Numeric: []bool{false, true, true},
		Head: []string{"", measure, "mean test log-likelihood"}}}
	s.Notes = []string{fmt.Sprintf("%d rows to learn from, %d to test on. Higher is better in both columns.",
		r.Train, r.Test)}
	row := func(name string, v *score, strong bool) {
		if v.known() {
			s.Table.Rows = append(s.Table.Rows,
				Row{Cells: []string{name, fixed(*v.Accuracy, 4), fixed(*v.LogLikelihood, 4)}, Strong: strong})
		}
	}
	row("secure sum (this session)", &r.Result, true)
	others := maps.Clone(r.References)
	for _, k := range references(r) {
		row(k.name, r.References[k.key], false)
		delete(others, k.key)
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		row(strings.ReplaceAll(key, "_", " "), others[key], false)
	}
	return s
}

func (r *outcome) linear() bool { return r.Model == "linear" }

// nothing is what predicts without columns.
func (r *outcome) nothing() string {
	if r.linear() {
		return "mean of the targets"
	}
	return "majority class"
}

// references are the known keys of a result's references, in the order of the table.
func references(r *outcome) []reference {
	return []reference{
		{"trusted_aggregator", "trusted aggregator, same noise", false},
		{"local_noise", "local noise, no secure sum", true},
		{"best_single_party_private", "party by held-out rows, same privacy", false},
		{"best_single_party", "party by held-out rows, no privacy", true},
		{"median_single_party_private", "median party, same privacy", false},
		{"median_single_party", "median party, no privacy", false},
		{"non_private", "all rows in one place, no privacy", true},
		{"majority", r.nothing(), true},
	}
}

// reference is a learner that the session is compared with.
type reference struct {
	key, name string
	drawn     bool // with the learning curve
}

// curve draws rounds.csv, if there is one.
func (p *Page) curve(dir string, r *outcome) error {
	f, err := os.Open(filepath.Join(dir, "rounds.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "%w", err)
	}
	defer f.Close()
	c := figure.LearningCurve{Series: []figure.Series{{Name: "secure sum (this session)"}}}
	measure := "test_accuracy"
	if r.linear() {
		c.Score, measure = "Test R squared", "test_r_squared"
	}
	own := &c.Series[0]
	err = eachRow(f, func(head, row []string) {
		x, errX := column(head, row, "round")
		a, errA := column(head, row, measure)
		l, errL := column(head, row, "test_log_likelihood")
		if errX == nil && errA == nil && errL == nil {
			own.X = append(own.X, x)
			own.Accuracy = append(own.Accuracy, a)
			own.LogLik = append(own.LogLik, l)
		}
	})
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "rounds.csv: %w", err)
	}
	if len(own.X) == 0 {
		return nil
	}
	for _, k := range references(r) {
		if v := r.References[k.key]; k.drawn && v.known() {
			c.References = append(c.References,
				figure.Reference{Name: k.name, Accuracy: *v.Accuracy, LogLik: *v.LogLikelihood})
		}
	}
	s := Section{Heading: "Learning curve"}
	drawn, err := c.Figure()
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "rounds.csv: %w", err)
	}
	drawn.Width, drawn.Height = 940, 400
	if err := p.figure(&s, drawn); err != nil {
		return err
	}
	p.add(s)
	return nil
}

// eachRow calls f with the header and each row of a table of numbers, which has no quotes. It keeps one line
// at a time, of 64 kB at most: a whole table would take up to a hundred times the file.
func eachRow(r io.Reader, f func(head, row []string)) error {
	var head []string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		row := strings.Split(lines.Text(), ",")
		if head == nil {
			head = row
			continue
		}
		f(head, row)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line has more than %d bytes: it is no table of rounds", bufio.MaxScanTokenSize)
	}
	return lines.Err()
}

func column(head, row []string, name string) (float64, error) {
	i := slices.Index(head, name)
	if i < 0 || i >= len(row) {
		return 0, errors.New("no such column")
	}
	return strconv.ParseFloat(row[i], 64)
}

// model adds the coefficients of the folder's model.
func (p *Page) model(dir string, signed *protocol.SignedPlan) error {
	path := filepath.Join(dir, "model.json")
	if !exists(path) {
		return nil
	}
	f, err := result.ReadModel(path)
	if err != nil {
		return err
	}
	if f.Predictive == nil {
		if signed != nil && (signed.Plan.Application == app.NameTable ||
			signed.Plan.Application == app.NameShuffle) {
			return p.tables(dir)
		}
		p.sum(f.Mean)
		return nil
	}
	if f.Noise != "" {
		p.fact("Posterior", "%s", f.Noise)
	}
	if len(f.Warnings) > 0 && p.Kind == "Session" { // a demonstration's result has them
		p.add(Section{Heading: "Warnings", Text: f.Warnings, Warning: true})
	}
	if len(f.Evaluation) > 0 {
		schema, err := dataset.ParseSchema(f.Schema)
		if err != nil {
			return fmt.Errorf("model.json: %w", err)
		}
		if err := p.evaluations(f.Evaluation, schema.Target); err != nil {
			return err
		}
	}
	var plan *protocol.Plan
	if signed != nil && signed.Plan.ID().String() == f.Plan {
		plan = signed.Plan
	}
	c, err := f.Coefficients(plan, 0.95)
	switch {
	case errors.Is(err, result.ErrNoCoefficients):
	case err != nil:
		return fmt.Errorf("model.json: %w", err)
	default:
		p.coefficientTable(c)
	}
	return nil
}

// sum is the table of a plan of sums.
func (p *Page) sum(total []float64) {
	const most = 100
	s := Section{Heading: "Sum", Table: &Table{Head: []string{"coordinate", "sum"}, Numeric: []bool{true, true}}}
	for i, v := range total[:min(most, len(total))] {
		s.Table.Rows = append(s.Table.Rows, Row{Cells: []string{strconv.Itoa(i + 1), number(v, 6)}})
	}
	if len(total) > most {
		s.Notes = []string{fmt.Sprintf("The first %d of %d coordinates; model.csv has all.", most, len(total))}
	}
	p.add(s)
}

// verified checks the transcript, if the folder has one.
func (p *Page) verified(dir string) {
	s := Section{Heading: "What was verified"}
	defer func() { p.add(s) }()
	if !exists(filepath.Join(dir, "transcript", result.TranscriptFile)) &&
		!exists(filepath.Join(dir, result.TranscriptFile)) {
		s.Text = []string{"The folder has no transcript, so nothing was verified."}
		return
	}
	v, err := result.VerifyFolder(dir)
	if err != nil {
		s.Text, s.Warning = []string{"Verification failed: " + err.Error()}, true
		p.Fault = err
		p.Verdict, p.Bad = "Verification of the transcript failed: do not rely on these results.", true
		return
	}
	s.Text = []string{fmt.Sprintf("From the signed plan and the transcript alone: every signature, set "+
		"of parties, partial "+
		"sum, result and model of %d rounds in %d attempts. The model in the folder is the one that the "+
		"transcript leads to.",
		v.Rounds(), len(v.Attempts))}
	if exists(filepath.Join(dir, "result.json")) {
		s.List = append(s.List, "Not checked: the scores, of result.json and rounds.csv. They are on test "+
			"data, which the transcript does not have.")
	}
	if v.Audited {
		s.List = append(s.List, "Every revealed sum opens the parties' commitments.")
	}
	if v.Claimed {
		s.List = append(s.List, fmt.Sprintf("Charged: epsilon %s at delta %s.", number(v.Epsilon, 6),
			number(v.Delta, 3)))
	}
	if v.Unconfirmed {
		s.List = append(s.List, "The last sum is not confirmed: the record lacks a compute node's signature on it.")
	}
	if v.Aborted != "" {
		s.List = append(s.List, "The session ended early: "+v.Aborted)
	}
	if v.Stopped {
		s.List = append(s.List, "The record ends before the session does: it was stopped.")
	}
	s.List = append(s.List, chainOf(v)...)
	s.Notes = []string{"Plan " + v.Plan.String()}
}

// chainOf names the plans that a session goes on from, the last one first.
func chainOf(v *verify.Report) (lines []string) {
	for {
		id, ok := v.After()
		switch {
		case !ok:
			return lines
		case v.Before == nil:
			return append(lines, "It goes on from plan "+id.Short()+", whose transcript is not here.")
		}
		lines = append(lines, fmt.Sprintf("It goes on from round %d of plan %s, whose transcript was verified too.",
			v.Before.Rounds(), id.Short()))
		v = v.Before
	}
}

// repeat lists the commands that give the results again.
func (p *Page) repeat(dir string, r *outcome) {
	s := Section{Heading: "How to repeat"}
	if r.Command != "" {
		s.Text = []string{"The noise is fresh in every run, so scores differ a little."}
		s.Commands = append(s.Commands, r.Command)
	}
	s.Commands = append(s.Commands, "choir verify DIR")
	if exists(filepath.Join(dir, "model.json")) {
		s.Commands = append(s.Commands, "choir predict --model DIR/model.json --data NEW.csv")
	}
	s.Commands = append(s.Commands, "choir report DIR")
	p.add(s)
}
