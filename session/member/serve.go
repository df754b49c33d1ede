package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"choir/crypto/identity"
	"choir/internal/atomicfile"
	"choir/protocol"
	"choir/session/terms"
)

// Policy is which proposed plans a site approves without asking a person. The zero Policy
// approves none.
type Policy struct {
	Epsilon      float64              // the largest epsilon that a plan may claim; infinite: it may claim none
	Delta        float64              // the largest delta that it may claim it at
	Applications []string             // that are allowed, such as "dp-pvi"
	Keys         []identity.PublicKey // every member must have one of these
}

// allows returns why the policy does not approve a plan, nil if it does.
func (p *Policy) allows(plan *protocol.Plan) error {
	if !slices.Contains(p.Applications, plan.Application) {
		return fmt.Errorf("the policy allows %q, not %q", p.Applications, plan.Application)
	}
	switch {
	case !plan.Claims() && !math.IsInf(p.Epsilon, 1):
		return errors.New("it claims no epsilon, and the policy limits it")
	case plan.Claims() && !(plan.Epsilon <= p.Epsilon):
		return fmt.Errorf("its epsilon is %g, and the policy allows %g", plan.Epsilon, p.Epsilon)
	case plan.Claims() && !(plan.Delta <= p.Delta):
		return fmt.Errorf("its delta is %g, and the policy allows %g", plan.Delta, p.Delta)
	}
	for _, m := range plan.Members {
		if !slices.Contains(p.Keys, m.Key) {
			return fmt.Errorf("the key of %s is not among the known cards", m.Name)
		}
	}
	return nil
}

// Service is a site's long-lived member: it runs the plans of a consortium that its people, or its
// policy, have approved, one after the other.
type Service struct {
	Config *Config // of the member, without plan_file
	Folder string  // the consortium's folder, or a folder of such folders
	Policy *Policy // nil: only people approve
	Log    *slog.Logger
	Show   func(*Proposal) // shows a plan that waits for a person; optional

	key     *identity.PrivateKey
	over    map[string]string // what came of the plans that are over, by id
	refused map[string]bool   // plans, by id, that this site's files or budget refused since its start
	said    map[string]bool   // what was logged once
	store   string            // the folder, next to the member's store, of plans and of over.json
	waiting map[protocol.PlanID]*Proposal
	present map[protocol.PlanID]*Proposal // those that waited at the last look
	page    atomic.Pointer[proposalPage]
	rooms   rooms
}

// overFile is the file over.json.
type overFile struct {
	SchemaVersion int               `json:"schema_version"`
	Over          map[string]string `json:"over"`
}

// Times of a Service.
const (
	servePoll  = time.Second
	serveRetry = 10 * time.Second
)

// Run serves until the context ends. Started again with the same store it goes on where it was.
func (s *Service) Run(ctx context.Context) error {
	release, err := s.begin()
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // the process's end releases it, too
	s.Log.Info("serving the plans in "+s.Folder, "event", "serving", "over", len(s.over))
	ctx, stop := context.WithCancel(ctx)
	defer s.rooms.all.Wait()
	defer stop()
	plan, folder := s.next()
	if err := s.publish(); err != nil {
		return err
	}
	shut, err := s.listen(ctx)
	if err != nil {
		return err
	}
	defer func() { shut() }()
	for ; ; plan, folder = s.next() {
		pause := servePoll
		s.rooms.keep(ctx, s.folders("room"))
		if err := s.publish(); err != nil {
			return err
		}
		if plan != nil {
			shut()
			if err := s.runPlan(ctx, plan, folder); err != nil || ctx.Err() != nil {
				return err
			}
			clear(s.waiting) // the ledger has grown
			if shut, err = s.listen(ctx); err != nil {
				return err
			}
			if id := plan.Plan.ID().String(); s.over[id] == "" && !s.refused[id] {
				pause = serveRetry
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// begin checks the configuration, takes the store's lock and reads what is over.
func (s *Service) begin() (release func() error, err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if release, err = s.Config.hold(); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// check checks the configuration.
func (s *Service) check() error {
	if s.Config.StoreFile == "" {
		return protocol.Fail(protocol.ClassInput, "config: store_file is missing")
	}
	if s.Config.PlanFile != "" {
		return protocol.Fail(protocol.ClassInput, "config: plan_file: serve takes the plans from the folder")
	}
	if _, err := os.Stat(s.Folder); err != nil {
		return protocol.Fail(protocol.ClassInput, "folder: %w", err)
	}
	return nil
}

// open reads the key and what is over.
func (s *Service) open() (err error) {
	if s.key, err = terms.ReadKey(s.Config.KeyFile, s.Config.PassphraseFile); err != nil {
		return err
	}
	s.said, s.over, s.store = map[string]bool{}, map[string]string{}, s.Config.served()
	s.refused, s.waiting = map[string]bool{}, map[protocol.PlanID]*Proposal{}
	s.rooms = rooms{config: s.Config, own: s.key.Public(), log: s.Log, known: map[string]bool{}}
	return s.read()
}

// read reads which plans are over.
func (s *Service) read() error {
	path := filepath.Join(s.store, "over.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var f overFile
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return protocol.Fail(protocol.ClassInput, "%s: %w: remove it; a plan that has completed ends at once when "+
			"it is started again", path, err)
	}
	maps.Copy(s.over, f.Over)
	return nil
}

// once logs a message, and reports true, once.
func (s *Service) once(level slog.Level, message, event string, attrs ...any) bool {
	if s.said[message] {
		return false
	}
	s.said[message] = true
	s.Log.Log(context.Background(), level, message, append([]any{"event", event}, attrs...)...)
	return true
}

// folders returns those of the consortium's folders that have a file.
func (s *Service) folders(file string) (dirs []string) {
	paths, _ := filepath.Glob(filepath.Join(s.Folder, "*", file)) // its only error is a bad pattern
	own := filepath.Join(s.Folder, file)
	if _, err := os.Stat(own); err == nil {
		paths = append(paths, own)
	}
	for _, path := range paths {
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}

// next returns the oldest plan that is signed by all and not over. On the way it shows proposals
// and approves those that the policy allows.
func (s *Service) next() (first *protocol.SignedPlan, folder string) {
	s.present = map[protocol.PlanID]*Proposal{}
	for _, dir := range s.folders("plan.choir") {
		plan, err := s.look(terms.Consortium(dir))
		if err != nil {
			s.once(slog.LevelWarn, fmt.Sprintf("%s: %v", dir, err), "refused")
		}
		if plan != nil && (first == nil || plan.Plan.Created < first.Plan.Created) {
			first, folder = plan, dir
		}
	}
	return first, folder
}

// look returns the folder's plan if it is to run.
func (s *Service) look(folder terms.Consortium) (*protocol.SignedPlan, error) {
	plan, err := folder.Proposed()
	if err != nil || plan == nil {
		return nil, err
	}
	id := plan.Plan.ID()
	index, mine := plan.Plan.Index(s.key.Public())
	switch {
	case s.over[id.String()] != "" || s.refused[id.String()]:
		return nil, nil
	case !mine:
		return nil, fmt.Errorf("plan %s: this member is not in it", id.Short())
	case time.Now().Unix() > plan.Plan.NotAfter:
		return nil, fmt.Errorf("plan %s: %w", id.Short(), protocol.ErrExpired)
	}
	all, odd, err := folder.Collect()
	if err != nil {
		return nil, err
	}
	for _, text := range odd {
		s.once(slog.LevelWarn, text, "refused")
	}
	missing := all.Missing()
	if slices.Contains(missing, all.Plan.Members[index].Name) {
		return nil, s.propose(folder, all.Plan)
	}
	if len(missing) > 0 {
		s.once(slog.LevelInfo, fmt.Sprintf("plan %s waits for the signatures of %v", id.Short(), missing),
			"waiting")
		return nil, nil
	}
	return all, nil
}

// propose shows a plan that this site has not approved, and approves it if the policy does.
func (s *Service) propose(folder terms.Consortium, p *protocol.Plan) error {
	fingerprint := terms.Fingerprint(p.ID())
	why := errors.New("there is no policy")
	if s.Policy != nil {
		why = s.Policy.allows(p)
	}
	if i, ok := p.Index(s.key.Public()); why == nil && ok && p.Is(i, protocol.RoleParty) {
		why = CheckData(p, s.Config)
	}
	if why == nil {
		why = s.affords(p)
	}
	if why == nil {
		why = s.succeeds(folder)
	}
	if why == nil {
		err := folder.Approve(fingerprint, s.key, time.Now())
		if err == nil {
			s.once(slog.LevelInfo, fmt.Sprintf("plan %s (%s) is approved by the policy", p.ID().Short(), p.Name),
				"approved")
		}
		return err
	}
	return s.waits(folder, p, why)
}

// affords returns why this site's ledger does not cover a plan.
func (s *Service) affords(p *protocol.Plan) error {
	chain, err := s.ledger()
	if err != nil {
		return err
	}
	return checkBudget(p, s.key.Public(), chain, s.Config.Budget)
}

// succeeds compares a successor plan with the store, which then goes on with that plan alone.
func (s *Service) succeeds(folder terms.Consortium) error {
	store := s.Config.StoreFile
	if _, err := os.Stat(store); errors.Is(err, fs.ErrNotExist) {
		store = "" // no plan has run here
	}
	return CheckSuccessor(filepath.Join(string(folder), "plan.choir"), s.key.Public(), store, false, false)
}

// runPlan runs this member under a plan to its end. It returns an error only if the service cannot
// go on. A plan that failed in a way that time may mend is tried again, and one that this site's files or
// budget refuse is tried again by the next service.
func (s *Service) runPlan(ctx context.Context, plan *protocol.SignedPlan, folder string) error {
	id := plan.Plan.ID()
	text, err := plan.MarshalText()
	if err != nil {
		return err
	}
	c := *s.Config
	c.PlanFile = filepath.Join(s.store, id.String()+".choir")
	if c.OutDir != "" {
		c.OutDir = filepath.Join(c.OutDir, id.Short())
	}
	if err := atomicfile.WriteFile(c.PlanFile, text); err != nil {
		return err
	}
	index, _ := plan.Plan.Index(s.key.Public())
	s.Log.Info("running plan "+id.Short()+" from "+folder, "event", "running")
	m, err := Open(&c, plan.Plan.Members[index].Role, s.Log, time.Now())
	if err == nil {
		err = m.run(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	switch outcomeOf(err) {
	case planRetried:
		s.Log.Warn("plan "+id.Short()+" is tried again", "event", "retried", "error", err.Error())
		return nil
	case planRefused:
		s.refused[id.String()] = true
		s.Log.Warn("plan "+id.Short()+" is refused here, and the others wait for this member: mend what the error "+
			"names in this site's files, and start choir serve again", "event", "refused", "error", err.Error())
		return nil
	}
	s.over[id.String()] = "completed"
	if err != nil {
		s.over[id.String()] = err.Error()
		s.Log.Warn("plan "+id.Short()+" is over", "event", "over", "error", err.Error())
	} else {
		s.Log.Info("plan "+id.Short()+" has completed", "event", "over")
	}
	return atomicfile.WriteJSON(filepath.Join(s.store, "over.json"), overFile{1, s.over})
}

// outcome is what a service does with a plan under which its member has ended.
type outcome int

const (
	planOver    outcome = iota // never runs it again
	planRetried                // runs it again: time may mend the failure
	planRefused                // leaves it to the next service: people must mend something at this site
)

// outcomeOf returns what is done after a member has ended with err. A plan is over only if its session is,
// for all members or for this one: what is wrong with this site's card, key or store ends no session.
func outcomeOf(err error) outcome {
	switch protocol.ClassOf(err) {
	case protocol.ClassFailed, protocol.ClassAuth, protocol.ClassTimeout:
		if err != nil {
			return planRetried
		}
	case protocol.ClassInput, protocol.ClassBudget:
		return planRefused
	case protocol.ClassIntegrity:
		switch {
		case errors.Is(err, identity.ErrNotYetValid): // the clock is late
			return planRetried
		case errors.Is(err, protocol.ErrExpired), errors.Is(err, errGoneOn):
			return planOver
		}
		return planRefused
	}
	return planOver
}
