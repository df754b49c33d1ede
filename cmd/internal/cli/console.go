package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Times of the status line. No verb is silent on a terminal for longer than
// statusDelay and one tick.
const (
	statusDelay = time.Second
	statusTick  = 250 * time.Millisecond
)

// Console writes what a verb prints. If stderr is a terminal, it keeps a status
// line below the output while the verb runs: what the verb reports by set, or,
// after a second without output, the verb's name; and how long it has run.
//
// A verb may print on stdout and stderr from any goroutine.
type Console struct {
	tty   *os.File // nil: stderr is no terminal
	plain bool     // the terminal knows no escape sequences
	tint  bool     // colours are wanted

	mu     sync.Mutex
	verb   string
	status string
	begun  time.Time
	last   time.Time // of the last output
	shown  string    // the status line on the terminal
	partly bool      // the last output didn't end its line
	stop   chan struct{}
}

func newConsole(stderr io.Writer) *Console {
	c := &Console{}
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.tty = f
		c.plain = os.Getenv("TERM") == "dumb"
		c.tint = !c.plain && os.Getenv("NO_COLOR") == ""
	}
	return c
}

// Terminal reports whether the status line is shown.
func (c *Console) Terminal() bool { return c.tty != nil }

// writer makes a writer whose output doesn't mix with the status line.
func (c *Console) writer(w io.Writer) io.Writer {
	if c.tty == nil {
		return w
	}
	return &consoleWriter{c, w}
}

type consoleWriter struct {
	c *Console
	w io.Writer
}

func (w *consoleWriter) Write(b []byte) (int, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.c.clear()
	n, err := w.w.Write(b)
	w.c.last = time.Now()
	if len(b) > 0 {
		w.c.partly = b[len(b)-1] != '\n'
	}
	return n, err
}

// start begins to show the status of a verb.
func (c *Console) start(verb string) {
	if c.tty == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		return
	}
	c.verb = verb
	c.begun = time.Now()
	c.last = c.begun
	c.stop = make(chan struct{})
	go c.run(c.stop)
}

func (c *Console) run(stop <-chan struct{}) {
	tick := time.NewTicker(statusTick)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			c.mu.Lock()
			if c.stop != nil && (c.status != "" || time.Since(c.last) >= statusDelay) {
				c.draw()
			}
			c.mu.Unlock()
		}
	}
}

// End removes the status line for good.
func (c *Console) End() {
	if c.tty == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if c.stop != nil {
		close(c.stop)
		c.stop = nil
	}
}

// Set changes the status; "" is the verb's name.
func (c *Console) Set(status string) {
	if c.tty == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
	if c.stop != nil {
		c.draw()
	}
}

// draw shows the status line. The caller has locked c.mu.
func (c *Console) draw() {
	if c.partly {
		return
	}
	status := c.status
	if status == "" {
		status = c.verb
	}
	line := c.fit(fmt.Sprintf("%s  %s", status, Elapsed(time.Since(c.begun))))
	if line == c.shown {
		return
	}
	c.clear()
	c.shown = line
	if from, to := strings.Index(line, barFull), strings.LastIndex(line, barFull); c.tint && from >= 0 {
		to += len(barFull)
		line = line[:from] + "\x1b[32m" + line[from:to] + "\x1b[0m" + line[to:]
	}
	fmt.Fprint(c.tty, line)
}

// fit cuts a line to the terminal's width, so that it can be cleared.
func (c *Console) fit(line string) string {
	width, _, err := term.GetSize(int(c.tty.Fd()))
	if err != nil || width < 2 {
		width = 80
	}
	if r := []rune(line); len(r) >= width {
		return string(r[:width-1])
	}
	return line
}

// clear removes the status line. The caller has locked c.mu.
func (c *Console) clear() {
	switch {
	case c.shown == "":
	case c.plain:
		fmt.Fprintf(c.tty, "\r%s\r", strings.Repeat(" ", len([]rune(c.shown))))
	default:
		fmt.Fprint(c.tty, "\r\x1b[K")
	}
	c.shown = ""
}

// Elapsed is a duration for people, in whole seconds.
func Elapsed(d time.Duration) string { return d.Truncate(time.Second).String() }

const (
	barWidth = 30
	barFull  = "█"
	barEmpty = "░"
)

// Bar draws done of total.
func Bar(done, total int) string {
	full := barWidth * min(done, total) / max(1, total)
	return strings.Repeat(barFull, full) + strings.Repeat(barEmpty, barWidth-full)
}
