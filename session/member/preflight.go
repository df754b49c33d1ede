package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"choir/host"
	"choir/internal/disk"
	"choir/protocol"
	"choir/session/terms"
	"choir/transport/natsbus"
)

// Verdicts of a check.
const (
	Right   = "right"
	Warning = "warning"
	Wrong   = "wrong"
	Skipped = "skipped" // something that it needs is wrong
)

// Check is a line of a preflight's page.
type Check struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Detail  string `json:"detail"`
	Remedy  string `json:"remedy,omitempty"`
}

// Preflight is what a site can check of a member before the session, without sending anything that
// is stored.
type Preflight struct {
	SchemaVersion int     `json:"schema_version"`
	Member        string  `json:"member"`
	Role          string  `json:"role"`
	Plan          string  `json:"plan"`
	Right         bool    `json:"right"` // nothing is wrong
	Checks        []Check `json:"checks"`
}

// preflight is a run of the checks: what is found so far.
type preflight struct {
	Preflight
	config  *Config
	now     time.Time
	limit   time.Duration // for reaching the broker, if timing.connect is no shorter
	signed  *protocol.SignedPlan
	session protocol.BoundPlan
	member  *Member // nil: plan or key are wrong
	role    protocol.Role
}

// RunPreflight checks a member's configuration, plan, key, data, store, disk, clock and broker.
func RunPreflight(ctx context.Context, c *Config, now time.Time) *Preflight {
	p := &preflight{config: c, now: now, limit: 15 * time.Second}
	p.SchemaVersion, p.Right = 1, true
	p.checkPlan()
	p.checkKey()
	p.checkConfig()
	p.checkData()
	p.checkStore()
	p.checkDisk()
	p.checkStation()
	p.checkBroker(ctx)
	return &p.Preflight
}

func (p *preflight) add(name, verdict, detail, remedy string) {
	p.Checks = append(p.Checks, Check{name, verdict, detail, remedy})
	p.Right = p.Right && verdict != Wrong
}

// verdict adds a check: right with a detail, or wrong with the error and a remedy.
func (p *preflight) verdict(name string, err error, detail, remedy string) bool {
	if err != nil {
		p.add(name, Wrong, err.Error(), remedy)
		return false
	}
	p.add(name, Right, detail, "")
	return true
}

func (p *preflight) checkPlan() {
	if p.config.PlanFile == "" {
		p.add("plan", Warning, "no plan_file is configured, so nothing that a plan decides is checked",
			"choir serve needs none: name the plan.choir of a folder that it serves with --plan-file")
		return
	}
	signed, err := terms.ReadPlan(p.config.PlanFile)
	if !p.verdict("plan", err, fmt.Sprintf("%s is whole", p.config.PlanFile),
		"get the plan's file again, byte for byte: plan_file is what plan merge or join has written") {
		return
	}
	p.signed, p.session = signed, protocol.Bind(signed.Plan)
	p.Plan = p.session.ID.String()
	err = signed.Complete(p.now)
	remedy := "have the named members sign it, and merge the copies"
	if errors.Is(err, protocol.ErrExpired) {
		remedy = "look at this machine's clock; if it is right, make a new plan"
	}
	left := time.Unix(signed.Plan.NotAfter, 0).Sub(p.now).Round(time.Minute)
	detail := fmt.Sprintf("all %d members have signed; valid for %s", len(signed.Plan.Members), left)
	made := time.Unix(signed.Plan.Created, 0)
	if p.verdict("signatures", err, detail, remedy) && made.After(p.now.Add(time.Minute)) {
		p.add("clock", Wrong, "the plan was made after this machine's time "+p.now.UTC().Format(time.RFC3339),
			"set the clock, by NTP")
	}
	p.verdict("terms", terms.CheckPlan(signed.Plan), "the plan keeps what it claims",
		"don't run it: tell whoever proposed the plan")
}

const cardRemedy = "make a new key and card, for a new plan, or configure the card that belongs to the key"

func (p *preflight) checkKey() {
	key, err := terms.ReadKey(p.config.KeyFile, p.config.PassphraseFile)
	if !p.verdict("key", err, p.config.KeyFile+" opens",
		"key_file and passphrase_file are those of keygen, of mode 0600") {
		return
	}
	if p.signed == nil {
		if path := p.config.card(); path != "" {
			p.verdict("card", p.config.checkCard(key.Public(), p.now), path+" is the key's", cardRemedy)
		}
		return
	}
	index, ok := p.signed.Plan.Index(key.Public())
	if !ok {
		p.add("member", Wrong, "the key "+key.Public().Fingerprint()+" is not on the plan's roster",
			"configure the key whose card is in the plan")
		return
	}
	p.role = p.signed.Plan.Members[index].Role
	p.Member, p.Role = p.session.Name(index), p.role.String()
	p.member = &Member{Config: p.config, Signed: p.signed, Session: p.session, Index: index, Key: key,
		Log: slog.New(slog.DiscardHandler)}
	enrolled := fmt.Sprintf("%s is enrolled as %s", p.Member, p.Role)
	if p.config.card() == "" && p.member.checkCard(p.now) == nil {
		p.add("card", Warning, enrolled+"; no card_file says whether this is the member meant",
			"name this member's card in card_file: the key of another member is then noticed")
		return
	}
	p.verdict("card", p.member.checkCard(p.now), enrolled, cardRemedy)
}

func (p *preflight) checkConfig() {
	if p.member == nil {
		p.add("configuration", Skipped, "there is no plan or no key to check it with", "")
		return
	}
	err := p.config.Validate(p.role)
	if err == nil {
		err = p.member.bus().Validate()
	}
	p.verdict("configuration", err, "every setting fits the role", "correct the setting that is named")
}

// checkData tries the folder of the results, and reads a party's file or the aggregator's test_file as the
// session would.
func (p *preflight) checkData() {
	if p.member == nil || p.role == protocol.RoleCompute {
		return
	}
	if p.config.OutDir != "" {
		p.verdict("out_dir", p.member.tryOutDir(p.role), p.config.OutDir+" can be written to",
			"choose a folder that this user may write to")
	}
	name, file := "data", p.config.DataFile
	if p.role == protocol.RoleAggregator {
		name, file = "test_file", p.config.TestFile
	}
	err := p.member.load(p.role)
	if file == "" && err == nil {
		return
	} else if file == "" {
		name = "plan"
	}
	if !p.verdict(name, err, file+" fits the plan",
		"compare the file with the plan's schema, which plan show prints") {
		return
	}
	if p.member.few != "" {
		p.add("data", Warning, p.member.few, "look whether the file is whole")
	}
	if p.member.tooFew != "" {
		p.add("data", Warning, p.member.tooFew,
			"look whether the file is whole, and whether the others have as few")
	}
	for _, a := range p.member.altered {
		verdict := Right
		if a.share() >= notable {
			verdict = Warning
		}
		p.add("data", verdict, a.String(),
			"compare units and spellings with the schema; max_altered refuses more")
	}
}

// checkStore opens the store, if there is one.
func (p *preflight) checkStore() {
	if p.member == nil || p.config.StoreFile == "" {
		return
	}
	if _, err := os.Stat(p.config.StoreFile); errors.Is(err, os.ErrNotExist) {
		if err := writable(filepath.Dir(p.config.StoreFile)); err != nil {
			p.add("store", Wrong, err.Error(), "choose a folder that this user may write to")
		} else if p.role == protocol.RoleParty {
			p.add("store", Warning, "there is none yet at "+p.config.StoreFile+
				": the first run makes it, with an empty ledger",
				"if this data took part before, name its store: its ledger has what was spent")
		} else {
			p.add("store", Right, "there is none yet: the first run makes it", "")
		}
		return
	}
	if reason, ok := p.member.toLeave(); ok {
		p.add("store", Wrong, "this member has left the session: "+reason, "make a new plan")
	}
	store, err := p.member.openStore()
	if errors.Is(err, host.ErrLocked) {
		p.add("store", Warning, "a process of this member has it open", "stop that first, if it is not to run")
		return
	}
	if !p.verdict("store", err, p.config.StoreFile+" is this member's",
		"every member has a store of its own; never restore one while its plan runs") {
		return
	}
	defer store.Close() // nothing was written
	if p.role == protocol.RoleParty {
		if err := p.member.sameRecords(store); err != nil {
			p.add("data", Wrong, err.Error(), "the records of a party stay the same for a whole plan, in their order")
		}
		p.verdict("budget", p.member.affordable(store), "the ledger covers the whole plan",
			"raise the site's [budget], if you may; or sign a plan that costs less")
	}
}

// Free disk space that is too little for a session, or little.
const (
	tooLittleDisk = 64 << 20
	littleDisk    = 1 << 30
)

func (p *preflight) checkDisk() {
	dir := filepath.Dir(p.config.StoreFile)
	for dir != "." && dir != "/" {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := disk.Free(dir)
	switch text := fmt.Sprintf("%d MiB are free for the store, in %s", free>>20, dir); {
	case err != nil:
		p.add("disk", Warning, "the free space is not known: "+err.Error(), "look at it yourself")
	case free < tooLittleDisk:
		p.add("disk", Wrong, text, "make space")
	case free < littleDisk:
		p.add("disk", Warning, text, "a store holds some rounds' vectors: make space for a large model")
	default:
		p.add("disk", Right, text, "")
	}
}

func (p *preflight) checkStation() {
	listen := p.config.Station.Listen
	if listen == "" {
		return
	}
	l, err := net.Listen("tcp", listen)
	if err == nil {
		err = l.Close()
	}
	p.verdict("station", err, listen+" is free", "choose another port, or stop what listens there")
	host, _, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		p.add("station", Warning, "the page at "+listen+" has no password",
			"listen on a loopback address, or put a proxy with access control before it")
	}
}

// maxClockError is how far a clock may be from the broker's.
const maxClockError = time.Minute

// noPlan replaces a plan's identifier in a connection that uses no stream.
const noPlan = "00000000"

// checkBroker connects and tries what the member needs, without storing anything.
func (p *preflight) checkBroker(ctx context.Context) {
	if p.config.Bus.URL == "" || p.member == nil && p.config.PlanFile != "" {
		p.add("broker", Skipped, "plan, key or bus.url are wrong", "")
		return
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	wait := min(p.config.connectLimit(), p.limit)
	defer time.AfterFunc(wait, cancel).Stop()
	m, config := p.member, p.config.busOf(noPlan, memberName(p.config))
	if m == nil {
		m = &Member{Config: p.config}
	} else {
		config = m.bus()
	}
	bus, err := natsbus.Open(limited, config)
	if err != nil {
		p.verdict("broker", m.busError(ctx, limited, wait, err, false), "", BrokerRemedy(err))
		return
	}
	defer bus.Close()
	p.add("broker", Right, p.config.Bus.URL+" accepts this member", "")
	if !strings.HasPrefix(p.config.Bus.URL, "tls:") && !strings.HasPrefix(p.config.Bus.URL, "wss:") &&
		p.config.Bus.TLSCA == "" && p.config.Bus.TLSCert == "" {
		p.add("TLS", Warning, "the connection is not encrypted",
			"use tls:// unless the broker is on this machine; vectors are sealed in any case")
	}
	if p.member != nil {
		if text := m.expiring(config); text != "" {
			p.add("credentials", Warning, text, "replace the file before then: it is read at every connection")
		}
		p.checkStream(ctx, bus)
	}
}

func (p *preflight) checkStream(ctx context.Context, bus *natsbus.Bus) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	stream, err := bus.Inspect(ctx)
	if err != nil {
		p.verdict("stream", err, "", "with one account: give the server JetStream; with accounts: import "+
			"$JS.API.STREAM.INFO.* and set bus.api_prefix; with permissions: allow it. Else another program has "+
			"made a stream of this name: delete that")
		return
	}
	if off := time.Since(stream.BrokerTime).Abs(); off > maxClockError && !stream.BrokerTime.IsZero() {
		p.add("clock", Warning, fmt.Sprintf("this machine's clock is %s from the broker's", off.Round(time.Second)),
			"set both by NTP: hours decide about expiry and deadlines")
	} else if !stream.BrokerTime.IsZero() {
		off = max(off.Round(time.Second), time.Second)
		p.add("clock", Right, fmt.Sprintf("within %s of the broker's", off), "")
	}
	if !stream.Exists {
		p.add("stream", Warning, "the plan's stream is not there yet", "the first member that may makes it; the "+
			"publications can be tried after that")
		return
	}
	left := time.Unix(p.signed.Plan.NotAfter, 0).Sub(p.now)
	if stream.MaxAge > 0 && stream.MaxAge < left {
		p.add("stream", Warning, fmt.Sprintf("the broker removes messages after %s, and the plan runs for %s more",
			stream.MaxAge, left.Round(time.Minute)), "keep messages for as long as the plan: a member that is away "+
			"longer cannot catch up")
	} else {
		p.add("stream", Right, fmt.Sprintf("%d copies, %s storage", stream.Replicas, stream.Storage), "")
	}
	sub, err := bus.Subscribe(ctx, p.session.Filters(p.member.Index), 0)
	if err == nil {
		err = sub.Close()
	}
	p.verdict("subscribe", err, "this member may read the stream",
		"allow or import $JS.API.CONSUMER.CREATE.> and $JS.API.CONSUMER.MSG.NEXT.>, and its inbox")
	p.verdict("publish", p.mayPublish(ctx, bus), "this member may publish all its subjects",
		"allow or import choir.<plan>.> for publishing (docs/wire.md lists the subjects)")
}

// mayPublish tries the subjects that the role publishes.
func (p *preflight) mayPublish(ctx context.Context, bus *natsbus.Bus) error {
	s, i := p.session, p.member.Index
	subjects := map[protocol.Role][]string{
		protocol.RoleParty: {s.SubjectOpen(i, s.Plan.Compute(0)), s.SubjectContribution(i, 0, 0),
			s.SubjectShare(&protocol.Chunk{Context: protocol.Context{From: i, To: s.Plan.Compute(0)}})},
		protocol.RoleCompute: {s.SubjectKey(i), s.SubjectOpen(i, s.Plan.Aggregator()), s.SubjectHold(i, 0, 0),
			s.SubjectAgree(i, 0, 0), s.SubjectPartial(i, 0, 0, "head"), s.SubjectConfirm(i, 0, 0),
			s.SubjectReceipt(i, 0, 0, 0)},
		protocol.RoleAggregator: {s.SubjectKey(i), s.SubjectControl(), s.SubjectGroup(0),
			s.SubjectResult(0, 0, "head")},
	}
	for _, subject := range subjects[p.role] {
		if err := bus.Try(ctx, subject); err != nil {
			return err
		}
	}
	return nil
}
