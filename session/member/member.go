package member

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/app"
	"choir/session/terms"
	"choir/transport/natsbus"
)

// Member is one role of a deployment, checked and ready to run.
type Member struct {
	Config  *Config
	Signed  *protocol.SignedPlan
	Session protocol.BoundPlan
	Index   uint32
	Key     *identity.PrivateKey
	Log     *slog.Logger
	// LeaveAfter is the round after which a party drops out without a message, for
	// demonstrations. 0: never.
	LeaveAfter uint32
	// Workers is the number of worker processes of a compute node; see Worker.
	// 0: none.
	Workers int

	work   *work
	suffix string // of the name at the broker

	nats    *natsbus.Bus // the connection; nil before there is one
	watcher *watcher     // nil at a worker
	blocked blockade
	lost    lostWait
	stream  time.Time    // when the plan's stream was created
	altered []alteration // of a party's data
	records []byte       // what is kept of a party's data, see recordsKey
	few     string       // a warning of few records; empty: there are enough
	tooFew  string       // a warning of fewer records than the plan counts on

	advised bool        // a party, on its clip
	losses  []time.Time // of the connection, the last few
}

// work is what differs by role.
type work struct {
	model    protocol.Model       // aggregator
	app      protocol.Application // party
	proposer protocol.Proposer    // party
	side     app.Party            // party: app and proposer, except under a plan of sums
	scorer   *scorer              // aggregator with a test_file
	origin   []byte               // aggregator, under a successor plan: the model that it begins with
}

// Open checks all that can be checked before a connection is made: the plan is
// signed by all, valid now, and its claim is right; the key is on its roster in
// this role; the card has not expired; the data fits the plan. The error is of
// protocol.ClassIntegrity if something was altered, is not signed or has expired,
// and of protocol.ClassInput if something does not fit.
func Open(c *Config, role protocol.Role, log *slog.Logger, now time.Time) (*Member, error) {
	if err := c.Validate(role); err != nil {
		return nil, err
	}
	m, err := openPlan(c, now)
	if err != nil {
		return nil, err
	}
	if m.Key, err = terms.ReadKey(c.KeyFile, c.PassphraseFile); err != nil {
		return nil, err
	}
	if m.Index, err = m.Signed.Member(m.Key.Public(), role); err != nil {
		return nil, err
	}
	if err := m.checkCard(now); err != nil {
		return nil, err
	}
	m.Log = log.With("role", role.String(), "member", m.Session.Name(m.Index), "plan", m.Session.ID.Short())
	if err := m.bus().Validate(); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: [bus] %w", err)
	}
	if c.card() == "" {
		m.Log.Warn("this process is "+m.Session.Name(m.Index)+", whose key is in "+c.KeyFile+
			": name its card in card_file, and the key of another member is noticed", "event", "warning")
	}
	return m, m.prepare(role)
}

// openPlan reads the plan and checks its signatures, its time and its claim.
func openPlan(c *Config, now time.Time) (*Member, error) {
	signed, err := terms.ReadPlan(c.PlanFile)
	if err != nil {
		return nil, err
	}
	if err := signed.Complete(now); err != nil {
		return nil, err
	}
	if err := terms.CheckPlan(signed.Plan); err != nil {
		return nil, err
	}
	return &Member{Config: c, Signed: signed, Session: protocol.Bind(signed.Plan)}, nil
}

// checkCard checks that neither the roster entry nor the card has expired.
func (m *Member) checkCard(now time.Time) error {
	if now.Unix() > m.Signed.Plan.Members[m.Index].NotAfter {
		return protocol.Fail(protocol.ClassIntegrity, "plan: %w: that of %s",
			protocol.ErrKeyExpired, m.Session.Name(m.Index))
	}
	return m.Config.checkCard(m.Key.Public(), now)
}

// checkCard checks that the member's card, if there is one, is valid and shows the key.
func (c *Config) checkCard(key identity.PublicKey, now time.Time) error {
	path := c.card()
	if path == "" {
		return nil
	}
	card, err := terms.ReadCard(path, now)
	if err != nil {
		return err
	}
	if card.Key != key {
		return protocol.Fail(protocol.ClassIntegrity, "card %s: it shows another key than the key file; configure "+
			"the key, passphrase and card of one member", path)
	}
	return nil
}

// card is the path of the member's card: the configured one, or the one that keygen wrote next to the key,
// if it is there.
func (c *Config) card() string {
	if c.CardFile != "" {
		return c.CardFile
	}
	beside := strings.TrimSuffix(c.KeyFile, ".key") + ".card"
	if _, err := os.Stat(beside); err != nil {
		return ""
	}
	return beside
}

func (m *Member) bus() natsbus.Config {
	b := m.Config.bus(m.Session, m.Index)
	b.Name += m.suffix
	return b
}

func (m *Member) prepare(role protocol.Role) error {
	if err := m.tryOutDir(role); err != nil {
		return err
	}
	return m.load(role)
}

// tryOutDir checks that the results can be written, if there will be any.
func (m *Member) tryOutDir(role protocol.Role) error {
	dir := m.Config.OutDir
	if role == protocol.RoleCompute || role == protocol.RoleParty && dir == "" {
		return nil
	}
	if err := writable(dir); err != nil {
		return protocol.Fail(protocol.ClassInput, "config: out_dir: %w", err)
	}
	return nil
}

// load reads a role's data.
func (m *Member) load(role protocol.Role) (err error) {
	m.work = &work{}
	switch role {
	case protocol.RoleParty:
		m.work.app, m.work.proposer, err = m.application()
	case protocol.RoleAggregator:
		if m.work.scorer, err = m.newScorer(); err != nil {
			return err
		}
		m.work.model, err = app.NewModel(m.Session.Plan)
	}
	return err
}

// writable makes a folder, for its owner only unless it exists, and checks that
// files can be made in it, so that the session does not fail at its end.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".choir.*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
