package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"choir/internal/supervise"
	"choir/protocol"
	"choir/session/member"
)

const computeWorkerLong = `Run one worker of a compute node until the session ends: it opens, verifies and
adds the contributions of its part of the parties. A node that runs with
--workers N starts its workers itself. With --remote-workers N it leaves that to
you: start N workers, --worker 0/N to N-1/N, on any machines that have the plan
and this worker's key file (worker_key_file with "-" and its number added).

The configuration may be the node's own; a worker needs plan_file, store_file,
worker_key_file and [bus] of it, and reads no identity key. Its state is in
store_file with its number appended. Restart a worker that ended with the same
store, or anywhere without one: it then reads its parties' messages from the
broker again.`

func (a *App) computeWorker() *cobra.Command {
	var config, node, worker string
	var followStdin bool
	cmd := &cobra.Command{
		Use:   "compute-worker --config FILE --node NAME --worker I/N",
		Short: "Run a worker process of a compute node",
		Long:  computeWorkerLong, Args: cobra.NoArgs, Annotations: EndsByClosing(), Hidden: true,
		Example: "  choir compute-worker --config node-1.toml --node node-1 --worker 0/4",
	}
	s := cmd.Flags()
	s.StringVar(&config, "config", "", "TOML file; its relative paths are relative to its folder")
	FilesOf(cmd, "toml", "config")
	s.StringVar(&node, "node", "", "name of the compute node in the plan")
	s.StringVar(&worker, "worker", "", "number of this worker, from 0, and of all, such as 0/4")
	given := settingFlags(cmd, protocol.RoleCompute.String())
	s.BoolVar(&followStdin, "follow-stdin", false, "stop when standard input closes")
	Hide(cmd, "follow-stdin", "key-file", "passphrase-file", "card-file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		k, of, err := parseWorker(worker)
		if err != nil {
			return err
		}
		c, err := member.LoadConfig(config, os.LookupEnv, given())
		if err != nil {
			return err
		}
		log, err := a.logger(c)
		if err != nil {
			return err
		}
		w, err := member.OpenWorker(c, node, k, of, log, time.Now())
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		if followStdin {
			ctx = a.WhileStdin(ctx)
		}
		return resumable(ctx, w.Run(ctx))
	}
	return cmd
}

// parseWorker reads "1/4".
func parseWorker(text string) (k, of int, err error) {
	left, right, ok := strings.Cut(text, "/")
	k, errK := strconv.Atoi(left)
	of, errOf := strconv.Atoi(right)
	if !ok || errK != nil || errOf != nil || of < 1 || of > protocol.Slots || k < 0 || k >= of {
		return 0, 0, protocol.Fail(protocol.ClassInput,
			"worker: %q isn't a number below another, such as 0/4, of at most %d", text, protocol.Slots)
	}
	return k, of, nil
}

// workerFlags are a compute node's flags for its workers.
type workerFlags struct{ local, remote int }

func (f *workerFlags) add(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.local, "workers", 0, "number of worker processes to start and to keep running")
	cmd.Flags().IntVar(&f.remote, "remote-workers", 0, "number of workers that you start elsewhere")
}

func (f *workerFlags) count() (int, error) {
	switch {
	case f.local < 0 || f.local > protocol.Slots:
		return 0, protocol.Fail(protocol.ClassInput, "workers: %d isn't in 0..%d", f.local, protocol.Slots)
	case f.remote < 0 || f.remote > protocol.Slots:
		return 0, protocol.Fail(protocol.ClassInput, "--remote-workers: %d isn't in 0..%d", f.remote,
			protocol.Slots)
	case f.local > 0 && f.remote > 0:
		return 0, protocol.Fail(protocol.ClassInput, "workers: and --remote-workers exclude each other")
	}
	return f.local + f.remote, nil
}

// workersEnd bounds the time in which workers end after their node.
const workersEnd = 15 * time.Second

// withWorkers runs a compute node and keeps its workers running.
func (a *App) withWorkers(ctx context.Context, m *member.Member, config string,
	given map[string]string) error {
	if err := m.Config.EnsureWorkerKeys(m.Workers); err != nil {
		return err
	}
	cfg, err := a.workerProcesses(m, config, given)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	workers, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		err := supervise.Run(workers, cfg)
		if err != nil && workers.Err() == nil {
			fail(fmt.Errorf("a worker: %w", err))
		}
		ended <- err
	}()
	err = m.Run(ctx)
	if err == nil {
		defer time.AfterFunc(workersEnd, stop).Stop()
	} else {
		stop()
	}
	workersErr := <-ended
	var lost *supervise.Failure
	if err != nil && errors.As(workersErr, &lost) {
		return protocol.Fail(protocol.Class(max(lost.Code, 1)), "a worker: %w", lost)
	}
	return err
}

func (a *App) workerProcesses(m *member.Member, config string, given map[string]string) (supervise.Config,
	error) {
	executable, err := os.Executable()
	if err != nil {
		return supervise.Config{}, err
	}
	c := supervise.Config{
		Executable: executable,
		Table:      m.Config.StoreFile + ".workers.json",
		Line:       func(_ string, line []byte) { fmt.Fprintf(a.Err, "%s\n", line) },
		Restart: func(name, how string) {
			m.Log.Warn(name+", a worker of this node, "+how+" and is started again", "event", "worker")
		},
		Fatal: func(code int) bool {
			return code >= int(protocol.ClassInput) && code <= int(protocol.ClassIntegrity)
		},
	}
	node := m.Session.Name(m.Index)
	for k := range m.Workers {
		p := supervise.Process{Name: fmt.Sprintf("%s-worker-%d", node, k), Role: "compute-worker",
			Args: []string{"compute-worker", "--node", node, "--worker", fmt.Sprintf("%d/%d", k, m.Workers),
				"--follow-stdin"}}
		if config != "" {
			p.Args = append(p.Args, "--config", config)
		}
		for _, s := range member.Settings() {
			if v, ok := given[s.Key()]; ok {
				p.Args = append(p.Args, "--"+s.Flag(), v)
			}
		}
		c.Processes = append(c.Processes, p)
	}
	return c, nil
}
