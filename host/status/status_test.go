package status_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"choir/host/status"
	"choir/protocol"
	"choir/transport/transporttest"
)

func TestMain(m *testing.M) { os.Exit(transporttest.Main(m)) }

// watched is a Monitor that serves, its address, and a clock that the test moves.
type watched struct {
	*status.Monitor
	t    *testing.T
	url  string
	stop func()
	now  time.Time
}

func watch(t *testing.T, member uint32) *watched {
	t.Helper()
	p := &protocol.Plan{Name: "hearts", Rounds: 3}
	for _, m := range []struct {
		name string
		role protocol.Role
	}{
		{"ada", protocol.RoleParty},
		{"bob", protocol.RoleParty},
		{"<b>eve", protocol.RoleParty},
		{"n1", protocol.RoleCompute},
		{"n2", protocol.RoleCompute},
		{"sum", protocol.RoleAggregator},
	} {
		p.Members = append(p.Members, protocol.Member{Name: m.name, Role: m.role})
	}
	w := &watched{t: t, now: time.Unix(1_700_000_000, 0)}
	w.Monitor = status.New(status.Config{
		Session: protocol.Bind(p),
		Member:  member,
		Now:     func() time.Time { return w.now },
	})
	address, stop, err := w.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	w.url = "http://" + address
	w.stop = stop
	return w
}

// get fetches a page over a new connection.
func (w *watched) get(method, path string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Close = true
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func (w *watched) status() (v status.Status) {
	w.t.Helper()
	if _, body := w.get("GET", "/status"); json.Unmarshal([]byte(body), &v) != nil {
		w.t.Fatalf("not JSON: %s", body)
	}
	return v
}

// figures returns the page of figures.
func (w *watched) figures() string {
	w.t.Helper()
	code, body := w.get("GET", "/metrics")
	if code != http.StatusOK {
		w.t.Fatalf("figures: %d", code)
	}
	return body
}

// wants checks that the figures have the lines.
func (w *watched) wants(lines ...string) {
	w.t.Helper()
	body := w.figures()
	for _, line := range lines {
		if !strings.Contains(body, "\n"+line+"\n") {
			w.t.Errorf("no %q in\n%s", line, choirLines(body))
		}
	}
}

func choirLines(body string) (only string) {
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "choir_") {
			only += line
		}
	}
	return only
}

// TestNode follows a compute node through two attempts: a void one, and one that counts
// two parties of three.
func TestNode(t *testing.T) {
	w := watch(t, 3)
	v := w.status()
	if v.SchemaVersion != 1 || v.State != "joining" || v.Member != "n1" || v.Role != "compute" {
		t.Errorf("at first %+v", v)
	}
	if v.Rounds != 3 || v.Expected != 3 || len(v.Returned) != 0 {
		t.Errorf("at first %+v", v)
	}
	at := func(attempt uint32, code protocol.Code, peer string) protocol.Notice {
		return protocol.Notice{Code: code, Round: 1, Attempt: attempt, Peer: peer}
	}
	w.Notify(protocol.Notice{Code: protocol.NoteJoined, Peer: "ada"})
	w.Notify(at(1, protocol.NoteRound, ""))
	w.Notify(at(1, protocol.NoteHeld, "bob"))
	w.Notify(protocol.Notice{Code: protocol.NoteResult, Round: 1, Attempt: 1, Detail: "void"})
	w.Notify(at(2, protocol.NoteRound, ""))
	w.Notify(at(2, protocol.NoteHeld, "bob"))
	w.Notify(at(2, protocol.NoteHeld, "bob")) // a duplicate
	w.Notify(at(2, protocol.NoteHeld, "<b>eve"))
	w.Notify(protocol.Notice{Code: protocol.NoteRefused, Peer: "ada", Err: errors.New("a wrong signature")})
	w.now = w.now.Add(5 * time.Second)
	w.Notify(at(2, protocol.NoteAgreed, ""))
	w.now = w.now.Add(2 * time.Second)
	w.Notify(at(2, protocol.NoteRevealed, ""))
	v = w.status()
	if v.State != "working" || v.Round != 1 || v.Attempt != 2 || fmt.Sprint(v.Returned) != "[<b>eve bob]" {
		t.Errorf("before the result %+v", v)
	}
	if v.Settled != 0 || v.Refused != 1 || v.Channels != 1 {
		t.Errorf("before the result %+v", v)
	}
	w.now = w.now.Add(time.Second)
	w.Notify(protocol.Notice{
		Code: protocol.NoteResult, Round: 1, Attempt: 2, Count: 2, Total: 3, Detail: "accepted",
	})
	w.wants(nodeFigures...)
	_, page := w.get("GET", "/")
	for _, want := range []string{
		"n1", "1 of 3 settled", "2 of 3: &lt;b&gt;eve, bob", "a wrong signature", "round 1.2",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page:\n%s", want, page)
		}
	}
	if figures := w.figures(); strings.Contains(figures, "bob") || strings.Contains(figures, "<b>") {
		t.Error("names among the figures")
	}
}

// TestParty checks that receipts are what returns, and that a result without the party is
// counted apart.
func TestParty(t *testing.T) {
	w := watch(t, 0)
	w.Notify(protocol.Notice{Code: protocol.NoteRound, Round: 1, Attempt: 1})
	w.now = w.now.Add(time.Second)
	w.Notify(protocol.Notice{Code: protocol.NoteContributed, Round: 1, Attempt: 1})
	w.Notify(protocol.Notice{Code: protocol.NoteReceipt, Round: 1, Attempt: 1, Peer: "n2"})
	if v := w.status(); v.Expected != 2 || fmt.Sprint(v.Returned) != "[n2]" {
		t.Errorf("%+v", v)
	}
	w.Notify(protocol.Notice{Code: protocol.NoteUncounted, Round: 1, Attempt: 1, Count: 2, Detail: "accepted"})
	// The monitor did not see this attempt open.
	w.Notify(protocol.Notice{Code: protocol.NoteResult, Round: 2, Attempt: 1, Count: 3, Detail: "accepted"})
	w.wants(
		`choir_results_total{result="uncounted",role="party"} 1`,
		`choir_results_total{result="accepted",role="party"} 1`,
		`choir_settled_round{role="party"} 2`,
		`choir_phase_seconds_sum{phase="contribute",role="party"} 1`,
		`choir_phase_seconds_count{phase="result",role="party"} 1`,
	)
}

// TestHealth checks that a member is healthy until it stops before the session's end.
func TestHealth(t *testing.T) {
	done, failed := watch(t, 5), watch(t, 5)
	done.Notify(protocol.Notice{Code: protocol.NoteCompleted, Round: 3})
	done.Stopped(nil)
	failed.Stopped(errors.New("the broker is gone"))
	if code, body := done.get("GET", "/healthz"); code != http.StatusOK || body != "completed\n" {
		t.Errorf("completed: %d %q", code, body)
	}
	code, body := failed.get("GET", "/healthz")
	if code != http.StatusServiceUnavailable || body != "stopped\n" {
		t.Errorf("failed: %d %q", code, body)
	}
	if v := failed.status(); v.Problem != "the broker is gone" {
		t.Errorf("%+v", v)
	}
}

func TestNothingElseIsServed(t *testing.T) {
	w := watch(t, 0)
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"GET", "/debug/pprof/", 404},
		{"GET", "/x", 404},
		{"POST", "/status", 405},
		{"DELETE", "/metrics", 405},
	} {
		t.Run(c.method+c.path, func(t *testing.T) {
			if code, _ := w.get(c.method, c.path); code != c.code {
				t.Errorf("status code %d, want %d", code, c.code)
			}
		})
	}
}

func TestEventsAreBounded(t *testing.T) {
	w := watch(t, 3)
	for i := range uint32(100) {
		w.Notify(protocol.Notice{Code: protocol.NoteRound, Round: i + 1, Attempt: 1})
	}
	if v := w.status(); len(v.Events) != 20 || v.Events[0].Round != 100 {
		t.Errorf("%d events, the first %+v", len(v.Events), v.Events[0])
	}
}

func TestListenRefuses(t *testing.T) {
	w := watch(t, 0)
	inUse := strings.TrimPrefix(w.url, "http://")
	for _, address := range []string{inUse, "nonsense", "127.0.0.1:99999"} {
		t.Run(address, func(t *testing.T) {
			_, _, err := w.Listen(t.Context(), address)
			if err == nil || !strings.HasPrefix(err.Error(), "status page: ") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestEnds checks that serving ends with the context and by the returned function.
func TestEnds(t *testing.T) {
	w := watch(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	address, stop, err := w.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	stop() // waits
	w.stop()
	for _, url := range []string{"http://" + address, w.url} {
		if _, err := http.Get(url); err == nil {
			t.Errorf("%s still answers", url)
		}
	}
}

// TestMissingMembersAreNamed moves the clock past three announcements of others.
func TestMissingMembersAreNamed(t *testing.T) {
	w := watch(t, 3)
	w.Connected(true)
	hear := func(names ...string) {
		for _, name := range append(names, "n1") {
			w.Heard(status.Peer{Name: name, State: "working", Round: 1})
		}
	}
	step := func(d time.Duration) (news []string) {
		w.now = w.now.Add(d)
		for _, c := range w.Look() {
			news = append(news, c.Event+" "+c.Peer)
		}
		return news
	}
	if news := step(time.Hour); news != nil {
		t.Errorf("announcements do not arrive at all: %q", news)
	}
	w.Notify(protocol.Notice{Code: protocol.NoteRound, Round: 1, Attempt: 1})
	hear("ada", "bob", "n2", "sum")
	if news := step(25 * time.Second); news != nil {
		t.Errorf("too early: %q", news)
	}
	hear("ada", "n2", "sum")
	if news := fmt.Sprint(step(6 * time.Second)); news != "[missing bob missing <b>eve waiting ]" {
		t.Errorf("news %s", news)
	}
	v := w.status()
	if fmt.Sprint(v.Missing) != "[bob <b>eve]" || fmt.Sprint(v.Waiting) != "[ada bob <b>eve]" ||
		v.WaitingSince == nil {
		t.Errorf("missing %v, waiting for %v since %v", v.Missing, v.Waiting, v.WaitingSince)
	}
	w.wants(`choir_missing_members{role="compute"} 2`)
	_, page := w.get("GET", "/")
	for _, want := range []string{"Missing: bob, &lt;b&gt;eve", "for ada, bob"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q on the page:\n%s", want, page)
		}
	}
	if code, _ := w.get("GET", "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("ready with members missing: %d", code)
	}
	if code, body := w.get("GET", "/healthz"); code != http.StatusServiceUnavailable ||
		!strings.Contains(body, "Missing: bob") {
		t.Errorf("health past the deadline: %d %q", code, body)
	}
	w.Notify(protocol.Notice{Code: protocol.NoteHeld, Round: 1, Attempt: 1, Peer: "bob"})
	hear("ada", "bob", "<b>eve", "n2", "sum")
	if news := fmt.Sprint(step(time.Second)); news != "[back bob back <b>eve]" {
		t.Errorf("news %s", news)
	}
	for path, want := range map[string]int{"/readyz": http.StatusOK, "/healthz": http.StatusOK} {
		if code, body := w.get("GET", path); code != want {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
}

// TestConnectionIsShown checks that members are not missing while this one is not connected.
func TestConnectionIsShown(t *testing.T) {
	w := watch(t, 0)
	w.Connected(true)
	w.Heard(status.Peer{Name: "ada"})
	w.Connected(false)
	w.now = w.now.Add(time.Hour)
	if news := w.Look(); len(news) > 0 {
		t.Errorf("news %+v", news)
	}
	v := w.status()
	if v.Connected || !strings.Contains(strings.Join(v.Needs, " "), "broker is not reached since") {
		t.Errorf("%+v", v.Needs)
	}
	w.wants(`choir_connected{role="party"} 0`, `choir_disconnections_total{role="party"} 1`)
	w.Connected(true)
	w.now = w.now.Add(20 * time.Second)
	if news := w.Look(); len(news) > 0 {
		t.Errorf("just connected: %+v", news)
	}
	w.wants(`choir_connected{role="party"} 1`)
}

// TestLearningCurve: evaluations are in /status and drawn on the page, higher scores higher up, and
// an evaluation that comes again replaces itself.
func TestLearningCurve(t *testing.T) {
	w := watch(t, 0)
	if _, page := w.get("GET", "/"); strings.Contains(page, "<svg") {
		t.Error("a curve without evaluations")
	}
	for round, score := range []float64{0.6, 0.7, 0.8} {
		for range 2 {
			w.Evaluated(status.Evaluation{Round: uint32(round + 1), Parties: 3, Measure: "accuracy",
				Score:         [3]float64{score, score - 0.1, score + 0.1},
				LogLikelihood: [3]float64{-0.5, -0.6, -0.4}})
		}
	}
	_, page := w.get("GET", "/")
	points := regexp.MustCompile(`<circle cx="([0-9.]+)" cy="([0-9.]+)"`).FindAllStringSubmatch(page, -1)
	if len(points) != 3 || !strings.Contains(page, "0.800 (0.700 to 0.900)") {
		t.Fatalf("%q", page)
	}
	var x, y [3]float64
	for i, p := range points {
		if _, err := fmt.Sscan(p[1]+" "+p[2], &x[i], &y[i]); err != nil {
			t.Fatal(err)
		}
	}
	if x[0] >= x[2] || y[0] <= y[2] {
		t.Errorf("points %v", points)
	}
	_, text := w.get("GET", "/status")
	var v status.Status
	if err := json.Unmarshal([]byte(text), &v); err != nil || len(v.Evaluations) != 3 ||
		v.Evaluations[2].Score[0] != 0.8 {
		t.Errorf("%+v, %v", v.Evaluations, err)
	}
}

// TestExpiryIsShown: the page tells when the plan expires, and afterwards that it has expired.
func TestExpiryIsShown(t *testing.T) {
	p := &protocol.Plan{Rounds: 1, NotAfter: 1_700_000_000, Members: []protocol.Member{{Name: "ada"}}}
	for late, want := range map[int64]string{-1: "The plan expires at 2023", 1: "The plan expired at 2023"} {
		now := time.Unix(p.NotAfter+late, 0)
		m := status.New(status.Config{Session: protocol.Bind(p), Now: func() time.Time { return now }})
		if needs := strings.Join(m.Status().Needs, " "); !strings.Contains(needs, want) {
			t.Errorf("%q", needs)
		}
	}
}

// TestNodeNamesItsWorkers: a node with workers that waits for a party that is there names the worker through
// which its contribution comes, and later the workers, whose sums it waits for.
func TestNodeNamesItsWorkers(t *testing.T) {
	p := &protocol.Plan{Rounds: 3, Members: []protocol.Member{{Name: "ada", Role: protocol.RoleParty},
		{Name: "bob", Role: protocol.RoleParty}, {Name: "n1", Role: protocol.RoleCompute}}}
	now := time.Unix(1_700_000_000, 0)
	w := status.New(status.Config{Session: protocol.Bind(p), Member: 2, Workers: 4,
		Now: func() time.Time { return now }})
	w.Connected(true)
	w.Heard(status.Peer{Name: "n1"})
	for _, step := range []struct {
		notice protocol.Notice
		want   string // of the report that nothing moves; "": there is none
	}{
		{protocol.Notice{Code: protocol.NoteRound, Round: 1, Attempt: 1}, fmt.Sprintf(
			"waiting for ada through this node's worker %d/4, bob through this node's worker %d/4 since",
			protocol.WorkerOf(0, 4), protocol.WorkerOf(1, 4))},
		{protocol.Notice{Code: protocol.NoteHeld, Peer: "ada"}, fmt.Sprintf(
			"waiting for bob through this node's worker %d/4 since", protocol.WorkerOf(1, 4))},
		{protocol.Notice{Code: protocol.NoteAgreed, Count: 2},
			"waiting for the sums of this node's 4 workers, or another node since"},
		{protocol.Notice{Code: protocol.NoteRevealed}, ""},
	} {
		w.Notify(step.notice)
		now = now.Add(31 * time.Second)
		for _, name := range []string{"ada", "bob"} {
			w.Heard(status.Peer{Name: name})
		}
		got := ""
		for _, c := range w.Look() {
			got += c.Message
		}
		if !strings.HasPrefix(got, step.want) || (got == "") != (step.want == "") {
			t.Errorf("after %s: %q, want %q", step.notice.Code, got, step.want)
		}
	}
}
