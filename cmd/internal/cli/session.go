package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/protocol"
	"choir/session/member"
	"choir/session/terms"
)

// Times of an observer.
const (
	answerTime  = 3 * time.Second // for members to answer who is there
	askEvery    = 5 * time.Second
	missingTime = 30 * time.Second
	silence     = 2 * time.Second // until a verb tells that it waits for the broker
)

func (a *App) session() *cobra.Command {
	return Group("session", "Look at a running session, wait for its end, or leave it",
		a.sessionStatus(), a.sessionWait(), a.sessionAbort())
}

// observed adds the flags of a verb that observes a session, and returns its configuration.
func observed(cmd *cobra.Command) func() (*member.Config, error) {
	var config string
	cmd.Flags().StringVar(&config, "config", "", "TOML file of the member from whose place to look")
	FilesOf(cmd, "toml", "config")
	given := settingFlags(cmd, "")
	return func() (*member.Config, error) { return member.LoadConfig(config, os.LookupEnv, given()) }
}

// observe calls f with the progress every interval until it reports the end.
func (a *App) observe(ctx context.Context, c *member.Config, every, patience time.Duration,
	f func(*member.Progress) (done bool, err error)) error {
	wait := time.AfterFunc(silence, func() {
		fmt.Fprintf(a.Err, "waiting for the broker at %s\n", c.Bus.URL)
	})
	o, err := member.Observe(ctx, c)
	wait.Stop()
	if err != nil {
		return err
	}
	defer o.Close() // nothing was written
	var asked time.Time
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if time.Since(asked) >= askEvery {
			asked = time.Now()
			_ = o.Ask() // without a connection there is no answer
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		p, err := o.Progress(patience)
		if err != nil {
			return err
		}
		if done, err := f(p); done || err != nil {
			return err
		}
	}
}

const sessionStatusLong = `Print which round is open, what came of the last one, and who is there, as seen
from a member's place at the broker. Rounds are read from the plan's stream and
checked against the aggregator's signature; members are asked and have three
seconds to answer. No key is needed, and the member need not be running.

With the configuration of "choir serve", which names no plan, it prints the
proposed plans that wait for a person here.`

func (a *App) sessionStatus() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "status --config FILE", Short: "Print the round, the last result and who is there",
		Long: sessionStatusLong, Args: cobra.NoArgs,
		Example: "  choir session status --config hospital-a.toml",
	}
	config := observed(cmd)
	FormatFlag(cmd, &format)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := CheckFormat(format); err != nil {
			return err
		}
		c, err := config()
		if err != nil {
			return err
		}
		if c.PlanFile == "" && c.StoreFile != "" {
			return a.proposed(c, format)
		}
		return a.observe(cmd.Context(), c, answerTime, answerTime, func(p *member.Progress) (bool, error) {
			return true, a.Print(format, p, func() { printProgress(a.Out, p) })
		})
	}
	return cmd
}

// proposed prints the plans that wait for a person where choir serve runs.
func (a *App) proposed(c *member.Config, format string) error {
	f, err := member.ReadProposals(c)
	if err != nil {
		return err
	}
	return a.Print(format, f, func() {
		if len(f.Proposals) == 0 {
			fmt.Fprintln(a.Out, "no proposed plan waits for a person here")
		}
		for _, p := range f.Proposals {
			a.printProposed(p, c)
		}
	})
}

func (a *App) sessionWait() *cobra.Command {
	var limit time.Duration
	cmd := &cobra.Command{
		Use: "wait --config FILE", Short: "Wait for the end of the session",
		Long: `Wait until the session is over: exit code 0 if it has completed, 5 if it ended
early, 7 if the plan expired before, 3 after --timeout.`,
		Args: cobra.NoArgs, Example: "  choir session wait --config hospital-a.toml --timeout 2h",
	}
	config := observed(cmd)
	cmd.Flags().DurationVar(&limit, "timeout", 0, "limit (default none)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := config()
		if err != nil {
			return err
		}
		begun := time.Now()
		every := time.Second
		if limit > 0 {
			every = min(every, limit)
			if set := c.Timing.Connect.Duration; set == 0 || limit < set {
				c.Timing.Connect.Duration = min(limit, time.Minute)
			}
		}
		connected := false
		err = a.observe(cmd.Context(), c, every, missingTime, func(p *member.Progress) (bool, error) {
			connected = true
			if err, over := p.Over(time.Now()); over {
				printProgress(a.Out, p)
				return true, err
			}
			if limit > 0 && time.Since(begun) >= limit {
				return true, protocol.Fail(protocol.ClassTimeout, "the session is not over after %s: %s", limit, line(p))
			}
			a.Console.Set(line(p))
			return false, nil
		})
		if !connected && limit > 0 && time.Since(begun) >= limit && cmd.Context().Err() == nil {
			return protocol.Fail(protocol.ClassTimeout, "the session is not known to be over after %s: %w", limit, err)
		}
		return err
	}
	return cmd
}

const sessionAbortLong = `Make this member leave its session for good, whether it is running or not. It
ends with exit code 5 and does not start again under this plan. The aggregator
ends the session for all members, which keep the last verified model. Others
name the member that has left, with the reason.`

func (a *App) sessionAbort() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "abort --config FILE --reason TEXT", Short: "Leave the session for good",
		Long: sessionAbortLong, Args: cobra.NoArgs,
		Example: "  choir session abort --config hospital-a.toml --reason 'study withdrawn'",
	}
	config := observed(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "reason, which the others see")
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := config()
		if err != nil {
			return err
		}
		if c.PlanFile == "" {
			return protocol.Fail(protocol.ClassInput, "config: plan_file is missing")
		}
		signed, err := terms.ReadPlan(c.PlanFile)
		if err != nil {
			return err
		}
		return c.Abort(protocol.Bind(signed.Plan), reason)
	}
	return cmd
}

const watchLong = `Follow a session from a member's place at the broker until it is over: the
round, who is there, who is missing and since when, and for whom each waits. On
a terminal the page is redrawn; elsewhere, and with --format json, there is a
record at each change.`

func (a *App) watch() *cobra.Command {
	format := "text"
	cmd := &cobra.Command{
		Use: "watch --config FILE", Short: "Follow a session: who is here, which round, what is missing",
		Long: watchLong, Args: cobra.NoArgs, Example: "  choir watch --config hospital-a.toml",
	}
	config := observed(cmd)
	FormatFlag(cmd, &format)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := CheckFormat(format); err != nil {
			return err
		}
		c, err := config()
		if err != nil {
			return err
		}
		last, begun := "", time.Now()
		return a.observe(cmd.Context(), c, time.Second, missingTime, func(p *member.Progress) (bool, error) {
			end, over := p.Over(time.Now())
			if now := state(p); now != last && (over || time.Since(begun) >= answerTime) {
				last = now
				if err := a.show(p, format); err != nil {
					return true, err
				}
			}
			return over, end
		})
	}
	return cmd
}

// show prints a change of a session.
func (a *App) show(p *member.Progress, format string) error {
	if format == "json" {
		return a.Print(format, p, nil)
	}
	if a.Console.tty != nil && !a.Console.plain {
		fmt.Fprint(a.Err, "\x1b[H\x1b[2J")
	} else {
		fmt.Fprintf(a.Out, "%s\n", time.Now().UTC().Format(time.RFC3339))
	}
	printProgress(a.Out, p)
	return nil
}

// state is what makes a difference to a person who watches.
func state(p *member.Progress) string {
	q := *p
	q.Members = nil
	text := fmt.Sprint(q)
	for _, m := range p.Members {
		text += fmt.Sprint(m.Name, m.State, m.Missing, m.Waiting, m.Note)
	}
	return text
}

// line is a session in one line.
func line(p *member.Progress) string {
	text := fmt.Sprintf("%d of %d rounds settled", p.Settled, p.Rounds)
	if p.Round > p.Settled {
		text += fmt.Sprintf(", round %d attempt %d is open", p.Round, p.Attempt)
	}
	if p.BrokerLost != nil {
		text += ", the broker is not reached since " + p.BrokerLost.Format(time.RFC3339) +
			": look at the network and at the broker"
	}
	if len(p.Missing) > 0 {
		text += ", missing: " + strings.Join(p.Missing[:min(len(p.Missing), 10)], ", ")
	}
	return text
}

func printProgress(w io.Writer, p *member.Progress) {
	fmt.Fprintf(w, "plan %.16s (%s), valid until %s\n", p.Plan, p.Name, p.Expires.Format(time.RFC3339))
	switch {
	case p.Completed:
		fmt.Fprintf(w, "completed, %d rounds\n", p.Settled)
	case p.Ended != "":
		fmt.Fprintf(w, "ended after %d of %d rounds: %s\n", p.Settled, p.Rounds, p.Ended)
	default:
		fmt.Fprintln(w, line(p))
	}
	if p.Outcome != "" {
		fmt.Fprintf(w, "last attempt: %s, %d parties: %s\n", p.Outcome, len(p.Counted),
			strings.Join(p.Counted[:min(len(p.Counted), 20)], " "))
	}
	for _, m := range p.Members[:min(len(p.Members), 100)] {
		text := "not heard yet, listening since " + p.Listening.Format(time.TimeOnly)
		if m.Heard != nil {
			text = m.State + ", heard at " + m.Heard.Format(time.TimeOnly)
		}
		if m.Missing && !p.Completed && p.Ended == "" {
			text = "MISSING, " + text
		}
		if len(m.Waiting) > 0 {
			text += ", waits for " + strings.Join(m.Waiting, ", ")
		}
		if m.Note != "" {
			text += ": " + printable(m.Note)
		}
		fmt.Fprintf(w, "  %-20s %-10s %s\n", m.Name, m.Role, text)
	}
}
