package status_test

import (
	"regexp"
	"strings"
	"testing"

	"choir/protocol"
)

// nodeFigures are the figures at the end of TestNode.
var nodeFigures = []string{
	`choir_plan_rounds{role="compute"} 3`,
	`choir_round{role="compute"} 1`,
	`choir_attempt{role="compute"} 2`,
	`choir_settled_round{role="compute"} 1`,
	`choir_counted_parties{role="compute"} 2`,
	`choir_channels{role="compute"} 1`,
	`choir_returned_members{role="compute"} 2`,
	`choir_contributions_total{role="compute"} 4`,
	`choir_disagreements_total{role="compute"} 0`,
	`choir_refused_messages_total{role="compute"} 1`,
	`choir_results_total{result="accepted",role="compute"} 1`,
	`choir_results_total{result="void",role="compute"} 1`,
	`choir_last_event_timestamp_seconds{role="compute"} 1.700000008e+09`,
	`choir_phase_seconds_sum{phase="agree",role="compute"} 5`,
	`choir_phase_seconds_sum{phase="reveal",role="compute"} 7`,
	`choir_phase_seconds_sum{phase="result",role="compute"} 8`,
	`choir_phase_seconds_count{phase="result",role="compute"} 2`,
	`choir_phase_seconds_bucket{phase="result",role="compute",le="0.01"} 1`,
	`choir_phase_seconds_bucket{phase="result",role="compute",le="2.56"} 1`,
	`choir_phase_seconds_bucket{phase="result",role="compute",le="10.24"} 2`,
	`choir_phase_seconds_bucket{phase="result",role="compute",le="+Inf"} 2`,
}

// TestTextFormat checks that Prometheus can read every line of the figures, and that each
// figure of the member comes after its help and its type, in the order of the names.
func TestTextFormat(t *testing.T) {
	w := watch(t, 0)
	w.Notify(protocol.Notice{Code: protocol.NoteRound, Round: 1, Attempt: 1})
	w.Notify(protocol.Notice{Code: protocol.NoteContributed, Round: 1, Attempt: 1})
	w.Notify(protocol.Notice{Code: protocol.NoteResult, Round: 1, Attempt: 1, Detail: "accepted"})
	line := regexp.MustCompile(`^([a-z_]+)(\{\w+="[^"\\]*"(, ?\w+="[^"\\]*")*\})? (\d\S*|\+Inf)$`)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	var family, kind, last string
	families := 0
	for text := range strings.Lines(w.figures()) {
		text = strings.TrimSuffix(text, "\n")
		if name, ok := strings.CutPrefix(text, "# HELP choir_"); ok {
			name, help, _ := strings.Cut("choir_"+name, " ")
			if family = name; help == "" || family <= last {
				t.Errorf("%q comes after %q", text, last)
			}
			families++
			last = family
			continue
		}
		if rest, ok := strings.CutPrefix(text, "# TYPE "+family+" "); ok {
			kind = rest
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			t.Errorf("not a line of the text format: %q", text)
			continue
		}
		name := m[1]
		if kind == "histogram" {
			name = suffix.ReplaceAllString(name, "")
		}
		if strings.HasPrefix(name, "choir_") && name != family {
			t.Errorf("%q is among the lines of %s, a %s", text, family, kind)
		}
	}
	if families != 19 {
		t.Errorf("%d figures, want 19", families)
	}
	if body := w.figures(); !strings.Contains(body, "go_goroutines ") {
		t.Error("no figures of the process")
	}
}
