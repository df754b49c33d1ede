package experiment

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"choir/crypto/identity"
	"choir/learn/bayes"
	"choir/learn/mcmc"
	"choir/learn/pvi"
	"choir/protocol"
	"choir/session/app"
	"choir/session/run"
	"choir/session/terms"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// Demo is one whole session with everything that a newcomer needs to
// judge it.
type Demo struct {
	Parties, Computes, Rounds int // Rounds 0: the method's default
	Colluders, Dropouts       int
	Epsilon, Delta            float64
	Clip                      float64 // 0: the strategy's default
	Model                     bayes.Model
	Method                    Method           // "": MethodPVI
	Sampler                   mcmc.Method      // of MethodMCMC; "": mcmc.Trace
	Strategy                  pvi.StrategyName // "": virtual, or with model bnn optimisation
	Shards                    int              // 0: the strategy's default
	Data                      Source
	Out                       string // folder for all output; with InMemory it may be empty, for none
	InMemory                  bool   // no broker and no files while it runs: for experiments
	NoReferences              bool
	Command                   string // that repeats it, for the result
	// Rand is for tests that must not depend on luck; nil is crypto/rand.Reader for all.
	Rand     func(member uint32) io.Reader
	Progress func(Progress)
	Notify   func(member string, n protocol.Notice)
}

// Progress is what can be told of a session while it runs.
type Progress struct {
	Phase   string `json:"phase"`          // "warning", "round", "references", "reference", "working"
	Name    string `json:"name,omitempty"` // the warning, the reference that is computed, or what takes time
	Round   int    `json:"round,omitempty"`
	Rounds  int    `json:"rounds,omitempty"`
	Counted int    `json:"counted,omitempty"` // parties in the round's set
	Parties int    `json:"parties,omitempty"`
	// Scores is nil where the aggregator's process was killed before it logged them.
	Scores  *Scores `json:"scores,omitempty"`
	Epsilon float64 `json:"epsilon,omitempty"` // spent so far
	Seconds float64 `json:"seconds"`
	Linear  bool    `json:"-"` // the scores have an R squared
}

// Result is what a demonstration prints as JSON and leaves in result.json.
type Result struct {
	SchemaVersion     int        `json:"schema_version"`
	Plan              string     `json:"plan"`
	Data              string     `json:"data"`
	TrainRows         int        `json:"train_rows"`
	TestRows          int        `json:"test_rows"`
	Features          int        `json:"features"`
	Parties           int        `json:"parties"`
	ComputeNodes      int        `json:"compute_nodes"`
	Colluders         int        `json:"colluders"`
	MinParties        int        `json:"min_parties"`
	Rounds            int        `json:"rounds"`
	Model             string     `json:"model"`
	Strategy          string     `json:"strategy"` // or the method, where there is none
	Epsilon           float64    `json:"epsilon"`  // spent
	Delta             float64    `json:"delta"`
	EpsilonBudget     float64    `json:"epsilon_budget"`
	Accountant        string     `json:"accountant"`
	Relation          string     `json:"relation"`
	Clip              float64    `json:"clip"`
	NoisePerParty     float64    `json:"noise_std_per_party"`
	UploadPerRound    float64    `json:"upload_bytes_per_party_per_round"`
	Measure           string     `json:"measure"` // what test_accuracy is: "accuracy" or "r_squared"
	Result            Scores     `json:"result"`
	References        References `json:"references"`
	Verdict           string     `json:"verdict"`  // the scores in a sentence
	Warnings          []string   `json:"warnings"` // about the data, the plan and how the run ended
	Seconds           float64    `json:"seconds"`
	SecondsSession    float64    `json:"seconds_session"`
	SecondsReferences float64    `json:"seconds_references"`
	OutDir            string     `json:"out_dir"`
	Command           string     `json:"command,omitempty"` // that repeats it
}

// Worse names what is better than the result for every row: the majority class or the mean of the
// targets. Empty is neither.
func (r *Result) Worse() string {
	if r.References == (References{}) || !r.References.worse(r.Result) {
		return ""
	}
	return baseline(bayes.Model(r.Model) == bayes.Linear)
}

// demoRun is a demonstration under way.
type demoRun struct {
	*Demo
	began    time.Time
	data     *Data
	app      app.Spec
	plan     *protocol.Plan
	s        protocol.BoundPlan
	keys     []*identity.PrivateKey
	signed   *protocol.SignedPlan
	models   *recorder
	states   [][]int64 // the last public states
	rounds   []Progress
	digests  protocol.DigestSecret // of the models on record
	epsilons map[int]float64       // spent, by rounds
	mu       sync.Mutex
}

// Run runs the session and the references and leaves the results in Out.
func (d *Demo) Run(ctx context.Context) (*Result, error) {
	r := &demoRun{Demo: d, began: time.Now()}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	rep, err := r.session(ctx)
	if err != nil {
		return nil, err
	}
	return r.conclude(ctx, rep)
}

// conclude computes the references of a session that is over, and leaves
// the results.
func (r *demoRun) conclude(ctx context.Context, rep *run.Report) (*Result, error) {
	refBegan := time.Now()
	refs, missing, err := r.references(ctx)
	if err != nil {
		return nil, err
	}
	res, err := r.result(rep, refs)
	if err != nil {
		return nil, err
	}
	res.Warnings = append(res.Warnings, missing...)
	res.SecondsReferences = time.Since(refBegan).Seconds()
	res.Seconds = time.Since(r.began).Seconds()
	res.Command = r.Command
	if r.Out == "" {
		return res, nil
	}
	return res, r.write(res, rep)
}

func (r *demoRun) references(ctx context.Context) (refs References, missing []string, err error) {
	if r.NoReferences {
		return References{}, nil, nil
	}
	r.tell(Progress{Phase: "references", Seconds: time.Since(r.began).Seconds()})
	type computed struct {
		refs    References
		missing []string
	}
	c, err := abandonable(ctx, func() (c computed, err error) {
		c.refs, c.missing, err = r.reference().all(ctx, func(name string) {
			if ctx.Err() == nil {
				r.tell(Progress{Phase: "reference", Name: name, Seconds: time.Since(r.began).Seconds()})
			}
		})
		return c, err
	})
	return c.refs, c.missing, err
}

// abandonable returns what compute does, or the context's error as soon as that ends. compute then
// goes on without effect: it must change nothing that is used after an error.
func abandonable[T any](ctx context.Context, compute func() (T, error)) (T, error) {
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := compute()
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// prepare loads the data, makes identities, tells what the plan's noise will hide, and has every member sign
// the plan.
func (r *demoRun) prepare(ctx context.Context) error {
	_, err := abandonable(ctx, func() (none struct{}, err error) { return none, r.makePlan() })
	if err != nil {
		return err
	}
	warnings, err := terms.Warnings(r.plan)
	for _, w := range warnings {
		r.tell(Progress{Phase: "warning", Name: w, Seconds: time.Since(r.began).Seconds()})
	}
	return err
}

func (r *demoRun) makePlan() (err error) {
	if err := r.loadData(); err != nil {
		return err
	}
	random, created, lifetime := r.origin()
	roster, err := run.NewRoster(random, r.Parties, r.Computes)
	if err != nil {
		return err
	}
	t := terms.Terms{
		Name:      "demo",
		Members:   roster.Members,
		Created:   created,
		Lifetime:  lifetime,
		Rounds:    r.Rounds,
		Dropouts:  r.Dropouts,
		Colluders: r.Colluders,
		Deadline:  10 * time.Second,
		Grace:     300 * time.Millisecond,
		Noise:     r.placement(),
		Epsilon:   r.Epsilon,
		Delta:     r.Delta,
	}
	if r.app, t.Rounds, err = r.Demo.Spec(t, r.data); err != nil {
		return err
	}
	r.Rounds = t.Rounds
	if r.plan, err = t.Plan(r.app); err != nil {
		return err
	}
	r.s = protocol.Bind(r.plan)
	if r.keys, err = roster.KeysIn(r.plan); err != nil {
		return err
	}
	if r.signed, err = roster.Sign(r.plan); err != nil {
		return err
	}
	return r.signed.Complete(r.began)
}

// origin is what keys come from, and when the plan is made and how long it holds. The plan's identity
// determines public draws: with seeded members it is always the same.
func (r *demoRun) origin() (random io.Reader, created time.Time, lifetime time.Duration) {
	if r.Rand == nil {
		return nil, r.began, 24 * time.Hour
	}
	return r.Rand(math.MaxUint32), time.Unix(0, 0), 200 * 365 * 24 * time.Hour
}

func (r *demoRun) loadData() (err error) {
	r.Data.Parties, r.Data.Linear = r.Parties, r.Model == bayes.Linear
	r.data, err = r.Data.Load()
	return err
}

// session runs all members in this process, over an embedded NATS server
// unless everything stays in memory.
func (r *demoRun) session(ctx context.Context) (*run.Report, error) {
	connect, shutdown, err := r.network(ctx)
	if err != nil {
		return nil, err
	}
	defer shutdown()
	r.models = &recorder{Model: r.app.Model(r.plan), next: func(raw []int64) (Scores, error) {
		s, err := abandonable(ctx, func() (Scores, error) { return r.scored(raw) })
		if ctx.Err() != nil {
			return s, nil // the session ends, and the round counts without its scores
		}
		return s, err
	}}
	apps, err := r.seats()
	if err != nil {
		return nil, err
	}
	l := &run.Local{
		Session:  r.s,
		Keys:     r.keys,
		Model:    r.models,
		Resend:   2 * time.Second,
		GiveUp:   5 * time.Minute,
		Connect:  connect,
		Store:    r.store,
		Notify:   r.notify,
		Leave:    r.leaves,
		Rand:     r.Rand,
		App:      func(i uint32) protocol.Application { return apps[i] },
		Proposer: func(i uint32) protocol.Proposer { return apps[i] },
	}
	return l.Run(ctx)
}

// network starts what the members connect over.
func (r *demoRun) network(ctx context.Context) (connect run.Connect, shutdown func(), err error) {
	if r.InMemory {
		return run.InMemory(r.s), func() {}, nil
	}
	server, err := embedded.Start(embedded.Config{StoreDir: filepath.Join(r.Out, "nats")})
	if err != nil {
		return nil, nil, fmt.Errorf("embedded server: %w", err)
	}
	c := natsbus.Config{Server: server, Storage: natsbus.File}
	return run.OverNATS(ctx, r.s, c), server.Shutdown, nil
}

// leaves: the demonstration's drop-outs go without a word half way.
func (r *demoRun) leaves(i uint32) uint32 {
	if int(i) >= r.Parties-r.Dropouts {
		return uint32(max(1, r.Rounds/2))
	}
	return 0
}

func (r *demoRun) notify(i uint32, n protocol.Notice) {
	if r.Notify != nil {
		r.Notify(r.s.Name(i), n)
	}
	if i != r.plan.Aggregator() || n.Code != protocol.NoteResult || n.Detail == protocol.OutcomeVoid.String() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p, scores := r.progress(n.Round, n.Count), r.models.last
	p.Scores = &scores
	r.rounds = append(r.rounds, p)
	r.tell(p)
}

// progress is what can be told of a round that is over.
func (r *demoRun) progress(round uint32, counted int) Progress {
	return Progress{
		Linear:  r.Model == bayes.Linear,
		Phase:   "round",
		Round:   int(round),
		Rounds:  r.Rounds,
		Counted: counted,
		Parties: r.Parties,
		Seconds: time.Since(r.began).Seconds(),
		Epsilon: r.spent(int(round)),
	}
}

func (r *demoRun) tell(p Progress) {
	if r.Progress != nil {
		r.Progress(p)
	}
}

func (r *demoRun) reference() reference {
	return reference{r.data, r.app, r.plan, r.Model == bayes.Linear, r.Epsilon}
}

func (r *demoRun) scored(raw []int64) (Scores, error) { return r.reference().score(raw) }

// recorder is the aggregator's model with a look at every state. The scores
// need the test rows, which only a demonstration has in one place.
type recorder struct {
	protocol.Model
	next func(raw []int64) (Scores, error)
	last Scores
	// states are the last three, for the judgement of how the run ended.
	states [][]int64
}

// Fold implements protocol.Model.
func (m *recorder) Fold(round uint32, model, sum []int64) ([]int64, error) {
	next, err := m.Model.Fold(round, model, sum)
	if err != nil {
		return nil, err
	}
	m.states = lastStates(m.states, next)
	m.last, err = m.next(next)
	return next, err
}

// lastStates appends a state and keeps three.
func lastStates(states [][]int64, next []int64) [][]int64 {
	states = append(states, slices.Clone(next))
	return states[max(0, len(states)-3):]
}

// perPartyStd is the standard deviation of one party's noise in the unit of
// the natural parameters.
func (r *demoRun) perPartyStd() float64 {
	return math.Ldexp(math.Sqrt(float64(r.plan.Variance)), -int(r.plan.FracBits))
}
