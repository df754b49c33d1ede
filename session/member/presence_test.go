package member_test

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"choir/host/status"
	"choir/protocol"
	"choir/session/internal/site"
	"choir/session/member"
	"choir/session/terms"
)

// TestMembersHearEachOther starts all members but one node: a party's page has the state of those
// that are there and not of that one. Then a party leaves for good, and the aggregator ends the
// session for all.
func TestMembersHearEachOther(t *testing.T) {
	dir, configOf := site.Deploy(t, time.Now())
	bus := brokerOf(t, dir)
	out, in := io.Pipe()
	ended := map[string]chan error{}
	configs := map[string]*member.Config{}
	for name, role := range roles {
		if name == "node-b" {
			continue
		}
		c := configOf(name)
		c.Bus = bus
		log := io.Discard
		switch name {
		case "agg":
			c.OutDir = filepath.Join(dir, "out")
		case "party-a":
			c.Station.Listen = "127.0.0.1:0"
			log = in
		}
		configs[name] = c
		m, err := member.Open(c, role, slog.New(slog.NewJSONHandler(log, nil)), time.Now())
		if err != nil {
			t.Fatal(name, err)
		}
		done := make(chan error, 1)
		ended[name] = done
		go func() { done <- m.Run(t.Context()) }()
	}
	url := "http://" + address(t, out)
	heard := func(want string, ok func(status.Peer) bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for ctx.Err() == nil {
			for _, p := range statusOf(t, url).Peers {
				if p.Name == want && ok(p) {
					return
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("%s: %+v", want, statusOf(t, url).Peers)
	}
	for _, name := range []string{"party-b", "node-a", "agg"} {
		heard(name, func(p status.Peer) bool { return p.Heard != nil && p.State == "joining" })
	}
	heard("node-b", func(p status.Peer) bool { return p.Heard == nil && p.State == "unheard" })

	o, err := member.Observe(t.Context(), configs["party-a"])
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	observed := func(what string, ok func(*member.Progress) bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for ctx.Err() == nil {
			_ = o.Ask()
			p, err := o.Progress(0)
			if err == nil && ok(p) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		p, err := o.Progress(0)
		t.Errorf("%s: %+v, %v", what, p, err)
	}
	begun := time.Now()
	observed("all but one answer", func(p *member.Progress) bool {
		if p.Listening.IsZero() || p.Listening.After(begun) {
			t.Errorf("listening since %s", p.Listening)
		}
		heard := 0
		for _, m := range p.Members {
			if m.State == "joining" {
				heard++
			}
		}
		return heard == 4 && slices.Contains(p.Missing, "node-b")
	})

	signed, err := terms.ReadPlan(configs["agg"].PlanFile)
	if err != nil {
		t.Fatal(err)
	}
	plan := protocol.Bind(signed.Plan)
	if err := configs["party-b"].Abort(plan, "two\nlines"); protocol.ClassOf(err) != protocol.ClassInput {
		t.Errorf("a reason of two lines: %v", err)
	}
	if err := configs["party-b"].Abort(plan, "the study was withdrawn"); err != nil {
		t.Fatal(err)
	}
	wantLeft(t, "party-b", <-ended["party-b"], "the study was withdrawn")
	heard("party-b", func(p status.Peer) bool { return strings.Contains(p.Note, "the study was withdrawn") })
	m, err := member.Open(configs["party-b"], protocol.RoleParty, slog.New(slog.DiscardHandler), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wantLeft(t, "party-b again", m.Run(t.Context()), "the study was withdrawn")
	if err := configs["agg"].Abort(plan, "node-b never came"); err != nil {
		t.Fatal(err)
	}
	observed("the aggregator has ended it", func(p *member.Progress) bool {
		err, over := p.Over(time.Now())
		return over && protocol.ClassOf(err) == protocol.ClassQuorum && len(p.Missing) == 0
	})
	wantLeft(t, "agg", <-ended["agg"], "node-b never came")
	wantLeft(t, "node-a", <-ended["node-a"], "the aggregator ended the session: node-b never came")
	wantLeft(t, "party-a", <-ended["party-a"], "the aggregator ended the session: node-b never came")
}

func wantLeft(t *testing.T, who string, err error, why string) {
	t.Helper()
	if protocol.ClassOf(err) != protocol.ClassQuorum || !strings.Contains(err.Error(), why) {
		t.Errorf("%s: %v, want %q", who, err, why)
	}
}
