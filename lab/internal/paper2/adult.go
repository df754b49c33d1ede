package paper2

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"choir/lab/bed"
	"choir/lab/internal/twister"
	"choir/lab/study"
	"choir/lab/uci"
	"choir/learn/bayes"
	"choir/learn/dataset"
	"choir/learn/mcmc"
	"choir/session/app"
	"choir/session/terms"
)

const (
	adultParties = 10
	adultRounds  = 100
	adultRows    = 32561 // of adult.data, the training set
	rowNorm      = 3.5   // rows are cut to it
)

// interval is a nominal coverage and how many standard deviations it goes either way.
var intervals = []struct{ level, z float64 }{{0.5, 0.674490}, {0.9, 1.644854}, {0.95, 1.959964}}

// seven are Adult's training and test rows in seven columns, the bias last, in public units and cut to a
// norm, and how many of the training rows are cut.
func seven(dir string) (train, test bayes.Data, cut int, err error) {
	rec, err := uci.Adult(dir)
	if err != nil {
		return train, test, 0, err
	}
	at := map[string]int{}
	for i, name := range rec.Header {
		at[name] = i
	}
	if train, cut, err = sevenOf(rec.Cells[:adultRows], at); err != nil {
		return train, test, cut, err
	}
	test, _, err = sevenOf(rec.Cells[adultRows:], at)
	return train, test, cut, err
}

// sevenOf are rows of which at gives the columns.
func sevenOf(rows [][]string, at map[string]int) (d bayes.Data, cut int, err error) {
	for _, row := range rows {
		number := func(name string) float64 {
			v, e := strconv.ParseFloat(row[at[name]], 64)
			if e != nil {
				err = fmt.Errorf("adult: %w", e)
			}
			return v
		}
		sign := func(yes bool) float64 {
			if yes {
				return 1
			}
			return -1
		}
		status := row[at["marital-status"]]
		x := []float64{(number("age") - 40) / 15, (number("education-num") - 10) / 2.5,
			(number("hours-per-week") - 40) / 12, sign(row[at["sex"]] == "Male"),
			sign(status == "Married-civ-spouse" || status == "Married-AF-spouse"), 0, 1}
		if number("capital-gain") > 5000 {
			x[5] = 2
		}
		square := 0.0
		for _, v := range x {
			square += v * v
		}
		if square > rowNorm*rowNorm {
			cut++
		}
		for i := range x {
			x[i] *= min(1, rowNorm/math.Sqrt(square))
		}
		d.X = append(d.X, x...)
		d.Y = append(d.Y, (sign(row[at["income"]] == ">50K")+1)/2)
	}
	return d, cut, err
}

// sevenSchema has seven columns in [-4, 4].
func sevenSchema() (*dataset.Schema, error) {
	s := &dataset.Schema{Version: dataset.SchemaVersion, Source: "public: units of the study",
		Target: dataset.Binary("income", "<=50K", ">50K"), Missing: dataset.Refuse, Unseen: dataset.Refuse}
	for _, name := range []string{"age", "education", "hours", "male", "married", "gain"} {
		s.Columns = append(s.Columns, dataset.Numeric(name, -4, 4))
	}
	return s, s.Validate()
}

// laplace is the posterior mode of logistic regression under N(0, I) and its inverse
// curvature there.
func laplace(d bayes.Data) (mode []float64, cov *mat.SymDense, err error) {
	n := len(d.X) / len(d.Y)
	mode, cov = make([]float64, n), mat.NewSymDense(n, nil)
	for range 25 {
		h, g := mat.NewSymDense(n, nil), make([]float64, n)
		for i, y := range d.Y {
			x := d.X[i*n : (i+1)*n]
			a := 0.0
			for j, v := range x {
				a += v * mode[j]
			}
			p := 1 / (1 + math.Exp(-a))
			for j, v := range x {
				g[j] += (y - p) * v
				for k := j; k < n; k++ {
					h.SetSym(j, k, h.At(j, k)+p*(1-p)*v*x[k])
				}
			}
		}
		for j := range n {
			h.SetSym(j, j, h.At(j, j)+1)
			g[j] -= mode[j]
		}
		var chol mat.Cholesky
		if !chol.Factorize(h) {
			return nil, nil, mcmc.ErrSingular
		}
		var step mat.VecDense
		if err := chol.SolveVecTo(&step, mat.NewVecDense(n, g)); err != nil {
			return nil, nil, err
		}
		for j := range n {
			mode[j] += step.AtVec(j)
		}
		if err := chol.InverseTo(cov); err != nil {
			return nil, nil, err
		}
		if mat.Norm(&step, 2) < 1e-10 {
			break
		}
	}
	return mode, cov, nil
}

// labelled draws weights around a mode, three posterior standard deviations wide, and labels
// from them.
func labelled(d bayes.Data, mode []float64, cov *mat.SymDense, rng *twister.Twister) (truth []float64,
	out bayes.Data, err error) {
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return nil, out, mcmc.ErrSingular
	}
	var root mat.TriDense
	chol.LTo(&root)
	n := len(mode)
	z := make([]float64, n)
	truth = append([]float64(nil), mode...)
	for i := range n {
		z[i] = 3 * rng.Normal()
		for j := range i + 1 {
			truth[i] += root.At(i, j) * z[j]
		}
	}
	out = bayes.Data{X: d.X, Y: make([]float64, len(d.Y))}
	for i := range d.Y {
		a := 0.0
		for j, w := range truth {
			a += w * d.X[i*n+j]
		}
		if rng.Float() < 1/(1+math.Exp(-a)) {
			out.Y[i] = 1
		}
	}
	return truth, out, nil
}

// covered collects a method's intervals: how many of each level hold the truth, the squared
// ratio of standard deviations to those without privacy, the squared distance to the mode in
// the latter.
type covered struct {
	held        [3]float64
	width, miss float64
	n           float64
}

func (c *covered) add(mean, sd, truth, mode []float64, cov *mat.SymDense) {
	for j := range mean {
		z := math.Abs(mean[j]-truth[j]) / sd[j]
		for k, i := range intervals {
			if z <= i.z {
				c.held[k]++
			}
		}
		own := math.Sqrt(cov.At(j, j))
		c.width += sd[j] * sd[j] / own / own
		c.miss += (mean[j] - mode[j]) * (mean[j] - mode[j]) / own / own
		c.n++
	}
}

// adultMethod is a sampler at an epsilon, with how many draws each seed has.
type adultMethod struct {
	method  mcmc.Method
	epsilon float64
	draws   int
	rounds  int
	set     func(*mcmc.Config) // changes the defaults, if any
}

var adultMethods = []adultMethod{{mcmc.Trace, 1, 30, adultRounds, nil}, {mcmc.Penalty, 1, 2, 500, nil},
	{mcmc.Langevin, 1, 2, 500, nil}, {mcmc.Trace, 2, 8, adultRounds, nil}, {mcmc.Trace, 4, 8, adultRounds, nil},
	{mcmc.Trace, 6, 8, adultRounds, nil}}

// name is the method's in the results.
func (m adultMethod) name() string {
	if m.epsilon == 1 {
		return string(m.method)
	}
	return fmt.Sprintf("%s, epsilon %g", m.method, m.epsilon)
}

// unnoised are the intervals of the Gaussian approximation without privacy, of the draws of the first
// method.
const unnoised = "without privacy"

func adult(ctx context.Context, o study.Options) (*study.Result, error) {
	d, _, _, err := seven(o.DataDir)
	if err != nil {
		return nil, err
	}
	if o.Quick {
		d = bayes.Data{X: d.X[:7*1000], Y: d.Y[:1000]}
	}
	mode, cov, err := laplace(d)
	if err != nil {
		return nil, err
	}
	r := adultResult(o)
	total, names := map[string]*covered{unnoised: {}}, []string{}
	for _, m := range adultMethods {
		names = append(names, m.name())
	}
	steps := 0
	for _, m := range adultMethods {
		if o.Picks(m.name(), names...) {
			total[m.name()] = &covered{}
			steps += m.draws * o.Seeds
		}
	}
	o = o.Begin(steps)
	for _, seed := range o.Each() {
		rng := twister.New(uint32(seed))
		for _, m := range adultMethods {
			for draw := range m.draws {
				if total[m.name()] == nil || o.Quick && draw > 0 {
					break
				}
				a := adultWorld{data: d, mode: mode, cov: cov, rng: rng, to: total[m.name()], own: total[unnoised]}
				spent, err := a.draw(ctx, o, m, uint64(1000*seed+draw))
				if err != nil {
					return nil, err
				}
				if seed == o.Each()[0] && draw == 0 {
					r.Spent = append(r.Spent, spent)
				}
				o.Tell(fmt.Sprintf("%s, seed %d, draw %d", m.name(), seed, draw+1))
			}
		}
	}
	r.Rows = coverageRows(total)
	return r, nil
}

func adultResult(o study.Options) *study.Result {
	return &study.Result{SchemaVersion: 1, Name: "mcmc-adult", Seeds: o.Seeds, Transport: o.Transport,
		Title: "Coverage of posterior intervals on Adult at (1, 1e-5)", Source: "own, after [DP-MCMC]",
		About: []string{"Seven columns of Adult's 32,561 training rows in public units, rows cut to norm 3.5, at " +
			"ten parties; labels are drawn from known weights, so that intervals can be counted. Width is the root " +
			"mean square ratio of standard deviations to those without privacy."},
		Settings: []study.Setting{{Name: "trace", Value: "100 rounds with the defaults of [mcmc]; the chains 500"}}}
}

// adultWorld is what labels are drawn from and where intervals are counted.
type adultWorld struct {
	data    bayes.Data
	mode    []float64
	cov     *mat.SymDense
	rng     *twister.Twister
	to, own *covered
}

// draw adds one draw of data and noise.
func (a adultWorld) draw(ctx context.Context, o study.Options, m adultMethod,
	seed uint64) (study.Spent, error) {
	truth, data, err := labelled(a.data, a.mode, a.cov, a.rng)
	if err != nil {
		return study.Spent{}, err
	}
	own, ownCov, err := laplace(data)
	if err != nil {
		return study.Spent{}, err
	}
	schema, err := sevenSchema()
	if err != nil {
		return study.Spent{}, err
	}
	canonical, err := schema.Canonical()
	if err != nil {
		return study.Spent{}, err
	}
	rounds := m.rounds
	if o.Quick {
		rounds = min(rounds, 60)
	}
	cfg := terms.DefaultMCMC(m.method, schema, int64(len(data.Y)), rounds, 1)
	cfg.Radius = rowNorm
	if m.set != nil {
		m.set(&cfg)
	}
	run := bed.Run{Name: "mcmc-adult " + m.name(), Seed: seed, Rounds: rounds, Epsilon: m.epsilon, Delta: 1e-5,
		App:   &app.MCMC{Version: 1, MCMC: cfg, Schema: json.RawMessage(canonical)},
		Parts: shared(data, adultParties), Transport: o.Transport, Dir: o.Dir}
	out, err := run.Do(ctx)
	if err != nil {
		return study.Spent{}, err
	}
	a.to.add(out.Last.Mean(), out.Last.SD(), truth, own, ownCov)
	sd := make([]float64, len(own))
	for j := range sd {
		sd[j] = math.Sqrt(ownCov.At(j, j))
	}
	a.own.add(own, sd, truth, own, ownCov)
	return out.Spent, nil
}

// shared deals rows to parties in turn.
func shared(d bayes.Data, parties int) []bayes.Data {
	all, n := make([]bayes.Data, parties), len(d.X)/len(d.Y)
	for i, y := range d.Y {
		p := &all[i%parties]
		p.X, p.Y = append(p.X, d.X[i*n:(i+1)*n]...), append(p.Y, y)
	}
	return all
}

// coverageRows are the bars: at epsilon 1 coverage within .05 of nominal, a width of at most 1.4.
func coverageRows(total map[string]*covered) (rows []study.Row) {
	for _, m := range append(adultMethods, adultMethod{method: unnoised, epsilon: 1}) {
		name, barred := m.name(), m.method == mcmc.Trace && m.epsilon == 1
		c := total[name]
		if c == nil {
			continue
		}
		add := func(of string, measure study.Measure, bar, value float64) {
			if !barred {
				bar = 0
			}
			rows = append(rows, study.Row{Case: of, Method: name, Measure: measure, Bar: bar,
				Values: []float64{value}}.Mean())
		}
		for k, i := range intervals {
			share := c.held[k] / c.n
			add(fmt.Sprintf("%.0f %% intervals", 100*i.level), study.Coverage, 0, share)
			add(fmt.Sprintf("%.0f %% intervals, distance to nominal", 100*i.level), study.Distance, 0.05,
				math.Abs(share-i.level))
		}
		add("width over no privacy", study.Distance, 1.4, math.Sqrt(c.width/c.n))
		add("error in standard deviations without privacy", study.Distance, 0, math.Sqrt(c.miss/c.n))
	}
	return rows
}
