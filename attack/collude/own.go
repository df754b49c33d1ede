package collude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"choir/protocol"
)

// Adversary is one of your own, against the sums of a session: it answers a view with a score for
// each coordinate, the higher the likelier that the record is in the victim's data there. Against a plan of
// shuffled reports it scores each repetition of their counts, the higher the likelier that the victim has the
// first of its two values there.
type Adversary interface {
	Name() string // of lower-case letters, digits and hyphens
	Score(ctx context.Context, v *View) ([]float64, error)
}

// Scored returns the attack that measures an adversary's epsilon.
func Scored(a Adversary) Attack { return scored{a} }

type scored struct{ a Adversary }

// Info implements Attack.
func (s scored) Info() Info {
	return Info{ID: s.a.Name(), Kind: "leak",
		What:  "the epsilon of all rounds' sums, by an adversary of your own",
		Needs: "what the adversary needs", Promise: promiseRecords, Expected: Held,
		Control: "a session without noise"}
}

// Run implements Attack.
func (s scored) Run(ctx context.Context, r *Run, c Coalition, control bool) (Outcome, error) {
	if r.Target.Reports != nil {
		return judgeReports(r, c, control, func(d drawn) (Measurement, error) {
			return r.measureScored(ctx, s.a, c, d)
		})
	}
	p, out, err := r.prepare(ctx, c, thinned{}, control)
	if err != nil {
		return out, err
	}
	scores, err := scoresOf(ctx, s.a, p.view, len(p.bits))
	if err != nil {
		return out, err
	}
	return p.judge(out, r, scores, ofGaussian, control)
}

// Command is an adversary that is a program. It is called with the folder in which view.json and
// view.npz are, and prints {"scores": [...]}.
type Command []string

// Name implements Adversary.
func (Command) Name() string { return "exec" }

// Score implements Adversary.
func (c Command) Score(ctx context.Context, v *View) ([]float64, error) {
	if len(c) == 0 {
		return nil, protocol.Fail(protocol.ClassInput, "no program is named")
	}
	dir, err := os.MkdirTemp("", "choir-view-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := v.Write(dir); err != nil {
		return nil, err
	}
	answer, complaint := printed{most: mostPrinted}, printed{most: mostPrinted}
	cmd := exec.CommandContext(ctx, c[0], append(c[1:], dir)...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &answer, &complaint, time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case answer.beyond || complaint.beyond:
		return nil, protocol.Fail(protocol.ClassInput, "%s printed more than %d MiB", c[0], mostPrinted>>20)
	case err != nil:
		return nil, protocol.Fail(protocol.ClassInput, "%s: %w: %s", c[0], err, lastLine(complaint.text.String()))
	}
	return readScores(c[0], answer.text.Bytes())
}

func readScores(program string, text []byte) ([]float64, error) {
	var answer struct {
		Scores []*float64 `json:"scores"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, protocol.Fail(protocol.ClassInput,
			"%s must print {\"scores\": [...]}, finite numbers, and nothing else: %w", program, err)
	}
	scores := make([]float64, len(answer.Scores))
	for j, x := range answer.Scores {
		if x == nil {
			return nil, protocol.Fail(protocol.ClassInput, "%s: score %d is null", program, j+1)
		}
		scores[j] = *x
	}
	return scores, nil
}

// mostPrinted is the most bytes that a program may print: scores for all coordinates are far fewer.
const mostPrinted = 64 << 20

// printed is what a program prints.
type printed struct {
	text   bytes.Buffer
	most   int
	beyond bool
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	if p.beyond = p.beyond || p.text.Len()+len(b) > p.most; p.beyond {
		return 0, io.ErrShortWrite
	}
	return p.text.Write(b)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return fmt.Sprintf("%.200s", lines[len(lines)-1])
}
