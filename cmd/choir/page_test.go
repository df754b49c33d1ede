//go:build linux && nightly

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browser is a headless Chromium behind a WebDriver.
type browser struct {
	t   *testing.T
	url string // of the WebDriver's session
}

// call sends a command and decodes its value.
func (b *browser) call(method, path string, body, value any) {
	b.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	req, err := http.NewRequest(method, b.url+path, bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close() // it was only read
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: %s, %v", path, answer, err)
	}
	if err := json.Unmarshal(answer, &struct {
		Value any `json:"value"`
	}{value}); err != nil {
		b.t.Fatal(path, err)
	}
}

// eval returns what a JavaScript expression is on the page.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var value any
	b.call("POST", "/execute/sync", map[string]any{"script": "return " + expression, "args": []any{}}, &value)
	return fmt.Sprint(value)
}

// await waits until the page says something. It reloads by itself.
func (b *browser) await(text string, limit time.Duration) time.Duration {
	b.t.Helper()
	begun := time.Now()
	for time.Since(begun) < limit {
		if strings.Contains(b.eval("document.body.innerText"), text) {
			return time.Since(begun)
		}
		time.Sleep(200 * time.Millisecond)
	}
	b.t.Fatalf("%q is not on the page after %s:\n%s", text, limit, b.eval("document.body.innerText"))
	return 0
}

// open starts a browser with a page that is so wide.
func open(t *testing.T, c *cluster, name, page string, width int) *browser {
	t.Helper()
	address := strings.TrimPrefix(freeAddress(t), "http://")
	c.start("driver-"+name, 0, "chromedriver", "--port="+address[strings.LastIndex(address, ":")+1:])
	b := &browser{t, "http://" + address}
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(b.url + "/status")
		if err == nil {
			resp.Body.Close()
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal(err)
		}
	}
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir=" + t.TempDir()}
	options := map[string]any{"args": args, "mobileEmulation": map[string]any{"deviceMetrics": map[string]any{
		"width": width, "height": 1000, "pixelRatio": 1, "touch": width < 600}}}
	var session struct {
		SessionID string `json:"sessionId"`
	}
	b.call("POST", "/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"goog:chromeOptions": options}}}, &session)
	b.url += "/session/" + session.SessionID
	t.Cleanup(func() { b.call("DELETE", "", struct{}{}, new(any)) })
	b.call("POST", "/url", map[string]any{"url": page}, new(any))
	return b
}

// brokenWords counts headings of one word that take more than a line.
const brokenWords = `[...document.querySelectorAll('th')].filter(e => {
	const r = document.createRange(); r.selectNodeContents(e);
	return !e.textContent.trim().includes(' ') && r.getClientRects().length > 1 }).length`

// elsewhere counts what was loaded from other hosts.
const elsewhere = `performance.getEntriesByType('resource').
	filter(e => !e.name.startsWith(location.origin)).length`

// TestNightlyPage: a browser shows the page of a member, on a telephone and on a screen. It follows the
// session by itself, names a member that was killed within a minute, fits its window, and has no script and
// nothing from elsewhere. The pictures are left in $CHOIR_PICTURES.
func TestNightlyPage(t *testing.T) {
	if _, err := exec.LookPath("chromedriver"); err != nil {
		fmt.Println("NOT RUN: the page in a browser:", err)
		return
	}
	c := &cluster{t: t, dir: t.TempDir(), procs: map[string]*process{}}
	t.Cleanup(c.stop)
	c.choir("init", c.path("trial"), "--parties", "3", "--nodes", "2", "--rounds", "4000", "--epsilon", "4")
	bus := freeAddress(t)
	c.start("broker", 0, binary(t), "broker", "--listen", strings.TrimPrefix(bus, "http://"), "--store",
		c.path("trial", "broker", "streams"), "--token-file", c.path("trial", "broker", "token"))
	page := freeAddress(t)
	for _, name := range []string{"party-01", "party-02", "party-03", "compute-01", "compute-02",
		"aggregator"} {
		role, _, _ := strings.Cut(name, "-")
		args := []string{role, "--config", c.path("trial", "sites", name, "site.toml"), "--bus-url",
			"nats" + strings.TrimPrefix(bus, "http")}
		if name == "party-01" {
			args = append(args, "--station-listen", strings.TrimPrefix(page, "http://"))
		}
		c.start(name, 0, binary(t), args...)
	}
	awaitPage(t, page)
	phone, screen := open(t, c, "phone", page, 390), open(t, c, "screen", page, 1280)
	phone.await("working", time.Minute)
	first := phone.eval("document.querySelector('progress').value")
	for begun := time.Now(); phone.eval("document.querySelector('progress').value") == first; {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("the page does not follow the session")
		}
		time.Sleep(200 * time.Millisecond)
	}
	if err := c.procs["party-03"].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	named := phone.await("Missing: party-03", time.Minute)
	screen.await("Missing: party-03", 10*time.Second)
	fmt.Printf("page: the missing member was named after %.0f s\n", named.Seconds())
	for name, b := range map[string]*browser{"phone": phone, "screen": screen} {
		for what, want := range map[string]string{
			"document.documentElement.scrollWidth <= window.innerWidth": "true",
			"document.scripts.length":                                   "0", brokenWords: "0",
			elsewhere: "0",
		} {
			if got := b.eval(what); got != want {
				t.Errorf("%s: %s is %s", name, what, got)
			}
		}
		b.picture(name)
	}
}

// picture takes a picture of the page.
func (b *browser) picture(name string) {
	dir := os.Getenv("CHOIR_PICTURES")
	if dir == "" {
		return
	}
	var text string
	b.call("GET", "/screenshot", struct{}{}, &text)
	png, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "station-"+name+".png"), png, 0o600)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// awaitPage waits until a page is there.
func awaitPage(t *testing.T, url string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
			return
		}
	}
	t.Fatal("no page at", url)
}

// freeAddress is an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}
