package member_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"choir/internal/config"
	"choir/protocol"
	"choir/session/internal/rig"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/transport/natsbus"
	"choir/transport/natsbus/embedded"
)

// TestPreflight checks a party in order, and then each mistake by itself: it is named, with a
// remedy, and nothing else becomes wrong.
func TestPreflight(t *testing.T) {
	dir := t.TempDir()
	rig.WriteFile(t, dir, "schema.json", schema)
	learns := site.DeployPlan(t, dir, time.Now(), learning, rig.WriteFile(t, dir, "a.csv", records()))
	dir, sums := site.Deploy(t, time.Now())
	bus := brokerOf(t, dir)
	bad := rig.WriteFile(t, dir, "bad.csv", "years,died\n30,no\n")
	one := rig.WriteFile(t, dir, "one.csv", "age,died\n30,no\n")
	months := rig.WriteFile(t, dir, "months.csv", strings.ReplaceAll(records(), "70", "840"))
	for name, row := range map[string]struct {
		change  func(*member.Config)
		wrong   string // the checks that are wrong
		warning string // and a warning's detail
	}{
		"in order":  {func(*member.Config) {}, "", "stream is not there yet"},
		"new store": {func(*member.Config) {}, "", "with an empty ledger"},
		"plan":      {func(c *member.Config) { c.PlanFile = bad }, "plan", ""},
		"key":       {func(c *member.Config) { c.PassphraseFile = bus.TokenFile }, "key", ""},
		"card":      {func(c *member.Config) { c.CardFile = filepath.Join(dir, "party-b.card") }, "card", ""},
		"setting": {func(c *member.Config) { c.Timing.GiveUp = config.Duration{Duration: 1} },
			"configuration", ""},
		"data":      {func(c *member.Config) { c.DataFile = bad }, "data", ""},
		"out_dir":   {func(c *member.Config) { c.OutDir = filepath.Join(bad, "out") }, "out_dir", ""},
		"few data":  {func(c *member.Config) { c.DataFile = one }, "", "1 record is few"},
		"odd data":  {func(c *member.Config) { c.DataFile = months }, "", "of 40 values 20 outside"},
		"wide data": {func(c *member.Config) { c.DataFile, c.MaxAltered = months, 0.1 }, "data", ""},
		"token":     {func(c *member.Config) { c.Bus.TokenFile = c.PassphraseFile }, "broker", ""},
		"no broker": {func(c *member.Config) { c.Bus.URL = "nats://127.0.0.1:1" }, "broker", ""},
		"open page": {func(c *member.Config) { c.Station.Listen = "0.0.0.0:0" }, "", "has no password"},
		"taken port": {func(c *member.Config) { c.Station.Listen = strings.TrimPrefix(bus.URL, "nats://") },
			"station", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := sums("party-a")
			if strings.Contains(name, "data") {
				c = learns("party-a")
			}
			c.Bus = bus
			c.Timing.Connect = config.Duration{Duration: 300 * time.Millisecond}
			row.change(c)
			p := member.RunPreflight(t.Context(), c, time.Now())
			wrong, warnings := []string{}, ""
			for _, check := range p.Checks {
				if check.Verdict == member.Wrong {
					wrong = append(wrong, check.Name)
				}
				if check.Verdict == member.Warning {
					warnings += check.Detail + "\n"
				}
				if check.Verdict != member.Right && check.Verdict != member.Skipped && check.Remedy == "" {
					t.Errorf("no remedy for %+v", check)
				}
			}
			if strings.Join(wrong, " ") != row.wrong || p.Right != (row.wrong == "") ||
				!strings.Contains(warnings, row.warning) {
				t.Errorf("wrong %q, warnings %q", wrong, warnings)
			}
		})
	}
	c := sums("party-a")
	c.Bus = bus
	serving := *c
	serving.PlanFile = ""
	page := member.RunPreflight(t.Context(), &serving, time.Now())
	for _, check := range page.Checks {
		if check.Verdict == member.Wrong || check.Name == "broker" && check.Verdict != member.Right ||
			strings.Contains(check.Detail, "plan file: ") {
			t.Errorf("for choir serve: %+v", check)
		}
	}
	late := member.RunPreflight(t.Context(), c, time.Now().Add(25*time.Hour))
	if late.Right || !strings.Contains(late.Checks[1].Remedy, "clock") {
		t.Errorf("after the plan's end: %+v", late.Checks[1])
	}
}

// TestPreflightCountsRecords: a party with far fewer records than the plan counts on learns of it before the
// session, and in its log.
func TestPreflightCountsRecords(t *testing.T) {
	for text, warns := range map[string]bool{
		learning:                        false,
		learning + "records = 100\n":    false,
		learning + "records = 900000\n": true,
	} {
		dir := t.TempDir()
		rig.WriteFile(t, dir, "schema.json", schema)
		c := site.DeployPlan(t, dir, time.Now(), text, rig.WriteFile(t, dir, "a.csv", records()))("party-a")
		c.Bus = member.BusConfig{URL: "nats://127.0.0.1:1"}
		c.Timing.Connect = config.Duration{Duration: time.Millisecond}
		found := false
		for _, check := range member.RunPreflight(t.Context(), c, time.Now()).Checks {
			if check.Name == "data" && strings.Contains(check.Detail, "450000 records of this party, which has 40") {
				found = check.Verdict == member.Warning && check.Remedy != ""
			}
		}
		if found != warns {
			t.Errorf("%s: warned: %t, want %t", text, found, warns)
		}
		var log strings.Builder
		_, err := member.Open(c, protocol.RoleParty, slog.New(slog.NewTextHandler(&log, nil)), time.Now())
		if err != nil || strings.Contains(log.String(), "the plan counts on") != warns {
			t.Errorf("%s: %v, log %s", text, err, log.String())
		}
	}
}

// TestPreflightTriesPermissions lets a broker allow a party too little.
func TestPreflightTriesPermissions(t *testing.T) {
	dir, configOf := site.Deploy(t, time.Now())
	password := rig.WriteFile(t, dir, "password", "s3cret\n")
	users := []embedded.User{
		{Name: "all", PasswordFile: password},
		{Name: "few", PasswordFile: password, Subscribe: []string{"_INBOX_party-a.>"},
			Publish: []string{"$JS.API.>", "choir.*.open.>", "choir.*.commit.>"}},
	}
	broker, err := embedded.Start(embedded.Config{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Users: users})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Shutdown)
	c := configOf("party-a")
	c.Bus = member.BusConfig{URL: broker.ClientURL(), User: "all", PasswordFile: password}
	plan := member.RunPreflight(t.Context(), c, time.Now()).Plan
	all, err := natsbus.Open(t.Context(), natsbus.Config{URL: broker.ClientURL(), Plan: plan[:16], User: "all",
		PasswordFile: password})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	if err := all.EnsureStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]string{"all": "", "few": "publish"} {
		c.Bus.User = user
		p := member.RunPreflight(t.Context(), c, time.Now())
		wrong := ""
		for _, check := range p.Checks {
			if check.Verdict == member.Wrong {
				wrong += check.Name
				if !strings.Contains(check.Detail, ".share.") {
					t.Errorf("%+v", check)
				}
			}
		}
		if wrong != want {
			t.Errorf("%s: wrong %q: %+v", user, wrong, p.Checks)
		}
	}
}

// TestPreflightOfOrdinaryServers: an ordinary nats-server that lacks what a session needs is told from one
// that is not there, and one without the plan's stream gives no clock to be compared with.
func TestPreflightOfOrdinaryServers(t *testing.T) {
	_, configOf := site.Deploy(t, time.Now())
	for _, c := range []struct {
		name          string
		options       server.Options
		check, remedy string // of what is wrong; "": nothing
	}{
		{"whole", server.Options{JetStream: true}, "", ""},
		{"small messages", server.Options{JetStream: true, MaxPayload: 64 << 10}, "broker", "max_payload: 1MB"},
		{"no JetStream", server.Options{}, "stream", "JetStream"},
		{"few subscriptions", server.Options{JetStream: true, MaxSubs: 2}, "broker", "raise max_subscriptions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startServer(t, c.options)
			config := configOf("party-a")
			config.Bus = member.BusConfig{URL: s.ClientURL()}
			wrong := ""
			for _, check := range member.RunPreflight(t.Context(), config, time.Now()).Checks {
				if check.Verdict == member.Wrong {
					wrong += check.Name
					if !strings.Contains(check.Remedy, c.remedy) {
						t.Errorf("%+v", check)
					}
				}
				if check.Name == "clock" && check.Verdict != member.Right {
					t.Errorf("%+v", check)
				}
			}
			if wrong != c.check {
				t.Errorf("wrong %q, want %q", wrong, c.check)
			}
		})
	}
}
