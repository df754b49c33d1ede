package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"choir/internal/supervise"
	"choir/learn/bayes"
	"choir/protocol"
	"choir/session/run"
)

// supervised runs the processes of a session that is laid out, and concludes.
func (r *demoRun) supervised(ctx context.Context, executable, address string) (*Result, error) {
	began := time.Now()
	w := &watch{
		run:     r,
		agg:     r.s.Name(r.plan.Aggregator()),
		seconds: map[uint32]float64{},
		scores:  map[uint32]*Scores{},
		errors:  map[string]string{},
	}
	err := supervise.Run(ctx, supervise.Config{
		Executable: executable,
		Processes:  r.processes(address),
		Table:      filepath.Join(r.Out, "processes.json"),
		Line:       w.line,
		Fatal: func(code int) bool {
			return code >= int(protocol.ClassInput) && code <= int(protocol.ClassIntegrity)
		},
	})
	if err != nil {
		return nil, w.explain(err)
	}
	took := time.Since(began).Seconds()
	rep, err := r.collect(w.seconds)
	if err != nil {
		return nil, err
	}
	rep.Seconds = took
	return r.conclude(ctx, rep)
}

// again is how often a member that is done repeats itself while others aren't:
// a broker that was killed may have lost its last words.
const again = 5 * time.Second

func (r *demoRun) processes(address string) []supervise.Process {
	list := []supervise.Process{{
		Name:    "broker",
		Role:    "broker",
		Service: true,
		Log:     r.broker("broker.log"),
		Args: []string{"broker", "--follow-stdin", "--listen", address,
			"--store", r.broker("store"), "--token-file", r.broker("token")},
	}}
	for i, m := range r.plan.Members {
		p := supervise.Process{Name: m.Name, Role: m.Role.String(), Log: r.member(uint32(i), "role.log"),
			Args: []string{m.Role.String(), "--follow-stdin", "--config", r.member(uint32(i), "role.toml")}}
		if m.Role != protocol.RoleParty {
			p.Again = again
		} else if n := r.leaves(uint32(i)); n > 0 {
			p.Args = append(p.Args, "--leave-after", fmt.Sprint(n))
		}
		list = append(list, p)
	}
	return list
}

// event is what this process reads of a child's log line.
type event struct {
	Event  string `json:"event"`
	Round  uint32 `json:"round"`
	Count  int    `json:"count"`
	Detail string `json:"detail"`
	Sent   int64  `json:"sent_bytes"`

	// of the aggregator's event "scores"
	Accuracy      float64 `json:"accuracy"`
	RMSE          float64 `json:"rmse"`
	LogLikelihood float64 `json:"log_likelihood"`
}

// watch follows what the children log.
type watch struct {
	run     *demoRun
	agg     string
	mu      sync.Mutex
	seconds map[uint32]float64 // by round: when this process heard of its end
	scores  map[uint32]*Scores // by round
	errors  map[string]string  // by process: the last error that it told
}

const errorPrefix = "choir: error: "

func (w *watch) line(name string, line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text, ok := bytes.CutPrefix(line, []byte(errorPrefix)); ok {
		w.errors[name] = string(text)
		return
	}
	if name != w.agg {
		return
	}
	var e event
	if json.Unmarshal(line, &e) != nil {
		return
	}
	if e.Event == "scores" && e.LogLikelihood != 0 {
		s := bayes.Scores{Accuracy: e.Accuracy, RMSE: e.RMSE, LogLikelihood: e.LogLikelihood}
		of := w.run.data.scores(s, w.run.Model == bayes.Linear)
		w.scores[e.Round] = &of
	}
	if e.Event != string(protocol.NoteResult) {
		return
	}
	if e.Detail == protocol.OutcomeVoid.String() || w.seconds[e.Round] > 0 {
		return
	}
	p := w.run.progress(e.Round, e.Count)
	p.Scores = w.scores[e.Round]
	w.seconds[e.Round] = p.Seconds
	w.run.tell(p)
}

// explain turns a child's end into this command's.
func (w *watch) explain(err error) error {
	var f *supervise.Failure
	if !errors.As(err, &f) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	why := w.errors[f.Name]
	if why == "" {
		why = f.Last
	}
	class := protocol.Class(f.Code)
	if class < protocol.ClassFailed || class > protocol.ClassIntegrity {
		class = protocol.ClassFailed
	}
	return protocol.Fail(class, "%s %s: %s", f.Name, f.Why, why)
}

// uploads adds up, by party, what its processes logged that they had sent. What
// a killed process sent after its last line isn't in it.
func (r *demoRun) uploads() ([]int64, error) {
	total := make([]int64, r.Parties)
	for i := range total {
		b, err := os.ReadFile(r.member(uint32(i), "role.log"))
		if err != nil {
			return nil, err
		}
		life := int64(0)
		for line := range strings.SplitSeq(string(b), "\n") {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				continue
			}
			if e.Event == "connected" {
				total[i] += life
				life = 0
			}
			life = max(life, e.Sent)
		}
		total[i] += life
	}
	return total, nil
}

// collect reads the files of the aggregator.
func (r *demoRun) collect(seconds map[uint32]float64) (*run.Report, error) {
	b, err := os.ReadFile(filepath.Join(r.Out, "transcript", "transcript.bin"))
	if err != nil {
		return nil, err
	}
	rep := &run.Report{}
	if rep.Transcript, err = protocol.UnmarshalTranscript(b); err != nil {
		return nil, err
	}
	if rep.UploadBytes, err = r.uploads(); err != nil {
		return nil, err
	}
	rep.Model, err = r.replay(rep.Transcript, seconds)
	return rep, err
}
