package collude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"choir/protocol"
)

// Adversary is one of your own, against the sums of a session: it answers a view with a score for
// each coordinate, the higher the likelier that the record is in the victim's data there.
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
	p, out, err := r.prepare(ctx, c, thinned{}, control)
	if err != nil {
		return out, err
	}
	scores, err := s.a.Score(ctx, p.view)
	if err != nil {
		return out, err
	}
	if len(scores) != len(p.bits) {
		return out, protocol.Fail(protocol.ClassInput, "%s: %d scores, want one for each of %d coordinates",
			s.a.Name(), len(scores), len(p.bits))
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
	dir, err := os.MkdirTemp("", "choir-view-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := v.Write(dir); err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c[0], append(c[1:], dir)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "exec: %s: %w: %s", c[0], err, lastLine(stderr.String()))
	}
	var answer struct {
		Scores []float64 `json:"scores"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "exec: %s must print {\"scores\": [...]}: %w", c[0], err)
	}
	return answer.Scores, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return fmt.Sprintf("%.200s", lines[len(lines)-1])
}
