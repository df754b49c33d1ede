package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"choir/protocol"
	"choir/session/member"
)

// logger logs the events of a member to stderr: as text for people on a
// terminal, else one JSON object a line.
func (a *App) logger(c *member.Config) (*slog.Logger, error) {
	level, err := c.Log.Threshold()
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "config: log.level: %w", err)
	}
	return slog.New(a.LogHandler(level)), nil
}

// LogHandler logs to stderr, of a process that works on when what reads its log has ended: SIGPIPE no
// longer kills it, and the log is lost.
func (a *App) LogHandler(level slog.Level) slog.Handler {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // programs that it starts don't inherit this
	if a.Console.tty != nil {
		return &textHandler{w: a.Err, level: level}
	}
	return slog.NewJSONHandler(a.Err, &slog.HandlerOptions{Level: level})
}

// textHandler writes records for people: the time, the message and the record's
// own attributes. The attributes that a member's records have in common (role,
// member, plan) and the event's code are left out.
type textHandler struct {
	w     io.Writer
	level slog.Level
}

func (h *textHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }
func (h *textHandler) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h *textHandler) WithGroup(string) slog.Handler                { return h }

// printable quotes a value that may be another member's text.
func printable(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}

func (h *textHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Time.Format(time.TimeOnly))
	if r.Level >= slog.LevelWarn {
		fmt.Fprintf(&b, "  %s", strings.ToLower(r.Level.String()))
	}
	fmt.Fprintf(&b, "  %s", r.Message)
	r.Attrs(func(attr slog.Attr) bool {
		if !slices.Contains([]string{"event", "sent_bytes", "broker", "since"}, attr.Key) {
			fmt.Fprintf(&b, "  %s=%s", attr.Key, printable(attr.Value.String()))
		}
		return true
	})
	b.WriteByte('\n')
	_, err := io.WriteString(h.w, b.String())
	return err
}
