package simulate

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
)

// A script describes a session: a line "setup" with the numbers of the plan, then
// a line for each fault, in any order. Empty lines and lines that start with # are
// comments. After a line "----" comes the recorded outcome, which tests compare.

// formatScript writes a script.
func formatScript(setup Setup, faults []Fault) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "setup %s\n", setup)
	for _, f := range faults {
		fmt.Fprintln(&b, f)
	}
	return b.Bytes()
}

// ParseScript reads a script up to its end or to "----".
func ParseScript(text []byte) (setup Setup, faults []Fault, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	ready := false
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#':
			continue
		case line == "----":
			return setup, faults, wantSetup(ready)
		case strings.HasPrefix(line, "setup "):
			if ready {
				return setup, nil, fmt.Errorf("line %d: a second setup", n)
			}
			setup, err = parseSetup(strings.Fields(line)[1:])
			ready = true
		default:
			var f Fault
			f, err = parseFault(line)
			faults = append(faults, f)
		}
		if err != nil {
			return setup, nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return setup, nil, err
	}
	return setup, faults, wantSetup(ready)
}

func wantSetup(ready bool) error {
	if !ready {
		return fmt.Errorf("the script has no setup")
	}
	return nil
}

// Tell replays a script and describes the session step by step: the time, the
// member, the event, and below it the step's notices (!), messages (>) and
// requests (?). Steps without visible effects are left out.
func Tell(setup Setup, faults []Fault) (Result, string) {
	story := new(strings.Builder)
	r := simulate(setup, Profile{Name: "script"}, newChaos(setup.Seed, faults, true), seams{}, story)
	for _, v := range r.Violations {
		fmt.Fprintf(story, "VIOLATION %s\n", v)
	}
	fmt.Fprintf(story, "%d rounds, %d void attempts, %d steps\n", r.Rounds, r.Voids, r.Steps)
	return r, story.String()
}

// Shrink reduces the faults of a seed's session that violates an invariant to a
// minimal list: the session still violates the same invariant, and no fault can be
// left out. It fails for a session that violates none.
func Shrink(seed uint64, profile Profile) (Setup, []Fault, error) {
	return shrink(runSeams(seed, profile, seams{}), seams{})
}

func shrink(r Result, s seams) (Setup, []Fault, error) {
	if len(r.Violations) == 0 {
		return r.Setup, nil, fmt.Errorf("seed %d: every invariant holds, there is nothing to shrink", r.Seed)
	}
	rule := r.Violations[0].Rule
	still := func(faults []Fault) bool {
		again := replaySeams(r.Setup, faults, s)
		return len(again.Violations) > 0 && again.Violations[0].Rule == rule
	}
	if !still(r.Script) {
		return r.Setup, nil, fmt.Errorf("seed %d: its own script doesn't violate %q", r.Seed, rule)
	}
	return r.Setup, minimal(r.Script, still), nil
}

// minimal drops ever smaller runs of faults while the others still suffice: delta
// debugging [ZH02], the complements only.
func minimal(faults []Fault, still func([]Fault) bool) []Fault {
	for size := (len(faults) + 1) / 2; size > 0; {
		dropped := false
		for lo := 0; lo < len(faults); {
			rest := append(append([]Fault(nil), faults[:lo]...), faults[min(lo+size, len(faults)):]...)
			if still(rest) {
				faults, dropped = rest, true
			} else {
				lo += size
			}
		}
		if size > 1 {
			size = (size + 1) / 2
		} else if !dropped {
			return faults
		}
	}
	return faults
}
