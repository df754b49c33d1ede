package member

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"choir/host/status"
	"choir/internal/atomicfile"
	"choir/privacy/ledger"
	"choir/protocol"
	"choir/session/run"
	"choir/session/terms"
)

// Proposal is a proposed plan that waits for a person at this site, with what that person should know.
type Proposal struct {
	Plan        string        `json:"plan"`
	Name        string        `json:"name"`
	Folder      string        `json:"folder"`
	Room        string        `json:"room"` // at the broker; "" if the folder is shared
	Fingerprint string        `json:"fingerprint"`
	Terms       string        `json:"terms"` // in one line
	Why         string        `json:"why"`   // the policy does not approve it
	Delta       float64       `json:"delta"`
	Layers      []terms.Layer `json:"layers"`
	Charge      *Forecast     `json:"charge"` // null: the site's ledger is not charged

	created int64
}

// Forecast is what a site's ledger is charged if a plan uses all its attempts.
type Forecast struct {
	Spent   float64  `json:"spent"` // epsilon of all charges so far, at Delta
	After   *float64 `json:"after"` // epsilon after the plan; null: no bound
	Limit   float64  `json:"limit"` // the site's own budget, else the plan's
	Delta   float64  `json:"delta"`
	Problem string   `json:"problem,omitempty"` // why the plan would be refused
}

func (f *Forecast) String() string {
	if f.After == nil {
		return f.Problem
	}
	text := fmt.Sprintf("epsilon %.4g is spent, and %.4g after this plan, of %.4g at delta %g", f.Spent,
		*f.After, f.Limit, f.Delta)
	if f.Problem != "" {
		text += "; the plan would be refused: " + f.Problem
	}
	return text
}

// ProposalFile is the file proposed.json next to a site's store.
type ProposalFile struct {
	SchemaVersion int         `json:"schema_version"`
	Proposals     []*Proposal `json:"proposals"` // the oldest first
}

// ReadProposals reads which plans wait for a person, as the member's Service wrote it last.
func ReadProposals(c *Config) (*ProposalFile, error) {
	b, err := os.ReadFile(filepath.Join(c.served(), "proposed.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, protocol.Fail(protocol.ClassInput, "config: plan_file is missing, and choir serve has not run "+
			"with store_file %q: name the plan, or start choir serve", c.StoreFile)
	}
	f := new(ProposalFile)
	if err == nil {
		err = json.Unmarshal(b, f)
	}
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "store: %w", err)
	}
	return f, nil
}

// served is the folder of a Service next to the member's store.
func (c *Config) served() string { return c.StoreFile + ".served" }

// With is the flag of "choir join" that names this site's key, which is in keyFile.
func (p *Proposal) With(keyFile string) string {
	if p.Room != "" {
		return "--config FILE"
	}
	return "--key " + keyFile
}

// waits keeps a plan that waits for a person, and shows it if it is new.
func (s *Service) waits(folder terms.Consortium, p *protocol.Plan, why error) error {
	if have := s.waiting[p.ID()]; have != nil && have.Why == why.Error() {
		s.present[p.ID()] = have
		return nil
	}
	g, err := terms.GuaranteesOf(p)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d parties, %d compute nodes, %d rounds of %s", p.Parties(), p.Computes(), p.Rounds,
		p.Application)
	if p.Claims() {
		text += fmt.Sprintf(", epsilon %g at delta %g", p.Epsilon, p.Delta)
	} else {
		text += ", exact sums without an epsilon"
	}
	room, err := folder.Room()
	if err != nil {
		return err
	}
	proposal := &Proposal{Plan: p.ID().String(), Name: p.Name, Folder: string(folder), Room: room,
		Fingerprint: terms.Fingerprint(p.ID()), Terms: text, Why: why.Error(), Delta: p.Delta, Layers: g.Promised(),
		Charge: s.forecast(p), created: p.Created}
	s.waiting[p.ID()], s.present[p.ID()] = proposal, proposal
	message := fmt.Sprintf("plan %s (%s) in %s waits for a person here: %s; fingerprint %s; %v", p.ID().Short(),
		p.Name, folder, text, proposal.Fingerprint, why)
	attrs := []any{}
	if proposal.Charge != nil {
		attrs = append(attrs, "ledger", proposal.Charge.String())
	}
	if fresh := s.once(slog.LevelWarn, message, "proposed", attrs...); fresh && s.Show != nil {
		s.Show(proposal)
	}
	return nil
}

// forecast is what a plan charges this site's ledger; nil if it charges nothing.
func (s *Service) forecast(p *protocol.Plan) *Forecast {
	i, ok := p.Index(s.key.Public())
	if !ok || !p.Claims() || !p.Is(i, protocol.RoleParty) {
		return nil
	}
	own, err := s.Config.Budget.budget()
	if err != nil {
		return &Forecast{Problem: err.Error()}
	}
	chain, err := s.ledger()
	if err != nil {
		return &Forecast{Problem: err.Error()}
	}
	spent, after, limit, err := run.NewLedger(protocol.Bind(p), chain, own).Forecast()
	f := &Forecast{Spent: spent.Epsilon, Limit: limit.Epsilon, Delta: limit.Delta}
	if after.Epsilon > 0 && !math.IsInf(after.Epsilon, 0) {
		f.After = &after.Epsilon
	}
	if err != nil {
		f.Problem = err.Error()
	}
	if own == nil && errors.Is(err, ledger.ErrOverspend) {
		f.Problem += ", since the member's file has no [budget]: set the limit of all plans together there"
	}
	return f
}

// ledger reads the site's ledger, which is empty before the first plan.
func (s *Service) ledger() (*ledger.Ledger, error) {
	if _, err := os.Stat(s.Config.StoreFile); errors.Is(err, fs.ErrNotExist) {
		return new(ledger.Ledger), nil
	}
	return ledgerAt(s.Config.StoreFile)
}

// publish writes which plans wait, and shows them on the page.
func (s *Service) publish() error {
	f := ProposalFile{SchemaVersion: 1, Proposals: []*Proposal{}}
	for _, p := range s.present {
		f.Proposals = append(f.Proposals, p)
	}
	slices.SortFunc(f.Proposals, func(p, q *Proposal) int {
		return cmp.Or(cmp.Compare(p.created, q.created), cmp.Compare(p.Plan, q.Plan))
	})
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if last := s.page.Load(); last != nil && bytes.Equal(last.text, b) {
		return nil
	}
	s.page.Store(&proposalPage{f, b})
	return atomicfile.WriteJSON(filepath.Join(s.store, "proposed.json"), f)
}

// proposalPage is what the page of a Service shows.
type proposalPage struct {
	ProposalFile
	text []byte // in JSON
}

//go:embed proposals.html
var proposalText string

var proposalTemplate = template.Must(template.New("proposals").Funcs(template.FuncMap{
	"epsilon": func(e *float64) string {
		if e == nil {
			return "none"
		}
		return fmt.Sprintf("%.4g", *e)
	},
}).Parse(proposalText))

// listen serves the page of proposed plans, if the member has a page, until the returned function is
// called. A session that runs has its own page at the same address.
func (s *Service) listen(ctx context.Context) (func(), error) {
	if s.Config.Station.Listen == "" {
		return func() {}, nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		if err := proposalTemplate.Execute(&b, s.page.Load()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = w.Write(b.Bytes()) // an error means that the reader has gone
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.page.Load().text)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "idle")
	})
	address, shut, err := status.Listen(ctx, s.Config.Station.Listen, mux)
	if err != nil {
		return func() {}, protocol.Fail(protocol.ClassInput, "config: station.listen: %w", err)
	}
	s.once(slog.LevelInfo, "proposed plans are shown at "+address, "watchable", "address", address)
	return shut, nil
}
