package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"choir/crypto/identity"
	"choir/host"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/member"
	"choir/transport"
)

// failure is how a failed command ends; its JSON form is printed with --format
// json (docs/operating.md).
type failure struct {
	Code    int    `json:"code"`  // the exit code
	Class   string `json:"class"` // its name
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Flag    string `json:"flag,omitempty"` // the flags at fault, as in the message
}

// fail prints what went wrong and what may help, and returns the exit code.
func (a *App) fail(ctx context.Context, err error) int {
	f := a.failure(ctx, err)
	if a.wantsJSON() {
		line, err := json.Marshal(struct {
			SchemaVersion int     `json:"schema_version"`
			Error         failure `json:"error"`
		}{1, f})
		if err == nil {
			fmt.Fprintf(a.Err, "%s\n", line)
		}
		return f.Code
	}
	fmt.Fprintf(a.Err, "%s: error: %s\n", a.name, f.Message)
	if f.Hint != "" {
		fmt.Fprintf(a.Err, "%s: hint: %s\n", a.name, f.Hint)
	}
	return f.Code
}

func (a *App) failure(ctx context.Context, err error) failure {
	class, verb := a.classOf(err), a.started()
	if verb == nil && !errors.Is(err, errLost) {
		class = protocol.ClassInput
	}
	f := failure{Message: named(err.Error(), a.hasFlag)}
	if Interrupted(ctx, err) {
		class = protocol.ClassFailed
		f.Message = "interrupted"
	}
	f.Code = int(class)
	f.Class = className(class)
	f.Hint = a.hintOf(err, class, verb)
	f.Flag = flagsOf(f.Message)
	return f
}

// wantsJSON reports whether the command line has --format json.
func (a *App) wantsJSON() bool {
	if verb := a.started(); verb != nil {
		f := verb.Flags().Lookup("format")
		return f != nil && f.Value.String() == "json"
	}
	for i, arg := range a.args {
		if arg == "--format=json" || arg == "json" && i > 0 && a.args[i-1] == "--format" {
			return true
		}
	}
	return false
}

// className is the class of a failure in JSON.
func className(c protocol.Class) string {
	names := map[protocol.Class]string{protocol.ClassAuth: "connection", protocol.ClassTimeout: "timeout",
		protocol.ClassInput: "input", protocol.ClassQuorum: "quorum", protocol.ClassBudget: "budget",
		protocol.ClassIntegrity: "integrity"}
	if name, ok := names[c]; ok {
		return name
	}
	return "failed"
}

var (
	leadingFlags = regexp.MustCompile(`^--[a-z0-9-]+(?:, --[a-z0-9-]+)*`)
	parsedFlag   = regexp.MustCompile(
		`^(?:unknown flag: |flag needs an argument: |invalid argument .* for ")(--[a-z0-9-]+)`)
)

// flagsOf is the flags that a message is about.
func flagsOf(message string) string {
	if m := parsedFlag.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return leadingFlags.FindString(message)
}

// hinted is an error with its own hint.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// WithHint adds a hint to an error.
func WithHint(err error, hint string) error { return hinted{err, hint} }

// ErrInterrupted ends a verb that a signal has ended.
var ErrInterrupted = protocol.Fail(protocol.ClassFailed, "interrupted")

func Interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// classOf adds to the protocol's classes what the packages below it report.
func (a *App) classOf(err error) protocol.Class {
	var known *protocol.Error
	if a.Classify != nil {
		if class, ok := a.Classify(err); ok && !errors.As(err, &known) {
			return class
		}
	}
	switch {
	case errors.As(err, &known):
		return known.Class
	case errors.Is(err, transport.ErrAuth):
		return protocol.ClassAuth
	case errors.Is(err, context.DeadlineExceeded):
		return protocol.ClassTimeout
	case errors.Is(err, identity.ErrTampered), errors.Is(err, identity.ErrExpired),
		errors.Is(err, identity.ErrBadSignature):
		return protocol.ClassIntegrity
	case errors.Is(err, dataset.ErrBadData), errors.Is(err, dataset.ErrSchema),
		errors.Is(err, identity.ErrPassphrase), errors.Is(err, identity.ErrKeyFile),
		errors.Is(err, identity.ErrCard),
		errors.Is(err, identity.ErrName), errors.Is(err, identity.ErrPermissions),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist):
		return protocol.ClassInput
	}
	return protocol.ClassFailed
}

// fields are what the packages below call the things that flags set; an error
// about one of them names the flag.
var fields = strings.Fields(`
	parties computes rounds colluders dropouts epsilon delta clip model method strategy shards data
	target schema column seed train rho kappa out sigma frac_bits input transport resume dim
	compute_nodes suite driver noise pairs workers worker node repeats threshold baseline dir add reason
	processes format listen token_file store level max_parties max_dim max_compute_nodes
	rtt mbit
`)

var fieldList = regexp.MustCompile(`^([a-z_]+(?:, [a-z_]+)*): `)

// named begins an error about the value of a flag with that flag: "plan: epsilon:
// ..." becomes "--epsilon: ...". The innermost of several fields counts.
// Only flags that the verb has are named.
func named(message string, has func(flag string) bool) string {
	rest, prefix := message, ""
	for {
		m := fieldList.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		var flags []string
		for _, f := range strings.Split(m[1], ", ") {
			flag, ok := "--"+strings.ReplaceAll(f, "_", "-"), slices.Contains(fields, f)
			switch {
			case ok && has(flag):
				flags = append(flags, flag)
			case ok && has(flag+"-file"): // a role's --data-file
				flags = append(flags, flag+"-file")
			}
		}
		if len(flags) == 0 && m[1] != "plan" && m[1] != "parameters" {
			break
		}
		if len(flags) > 0 {
			prefix = strings.Join(flags, ", ") + ": "
		}
		rest = rest[len(m[0]):]
	}
	if prefix == "" {
		return message
	}
	return prefix + rest
}

// hasFlag reports whether the verb that runs has a flag, such as --out.
func (a *App) hasFlag(flag string) bool {
	verb := a.started()
	return verb != nil && verb.Flags().Lookup(strings.TrimPrefix(flag, "--")) != nil
}

// hintOf is a next step, where there is a likely one.
func (a *App) hintOf(err error, class protocol.Class, verb *cobra.Command) string {
	var own hinted
	if verb != nil && a.Hint != nil && !errors.As(err, &own) {
		if h := a.Hint(err, verb); h != "" {
			return h
		}
	}
	switch {
	case errors.As(err, &own):
		return own.hint
	case errors.Is(err, errLost):
		return "make room, or send the output to another place, and run it again"
	case verb == nil:
		return helpHint(a.name)
	case errors.Is(err, identity.ErrPermissions):
		return "chmod 600 the file"
	case errors.Is(err, identity.ErrPassphrase):
		return "the passphrase file must hold the passphrase that the key was made with, on one line"
	case errors.Is(err, errStopped):
		return "start it again with the same configuration and it goes on where it stopped"
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program listens on that port: ss -ltnp, or lsof -i, names it; stop it, or take another port"
	case errors.Is(err, host.ErrLocked):
		return "another process of this member is still running: end it, or wait for it; one member or one " +
			"choir serve works with a store at a time"
	case errors.Is(err, protocol.ErrExpired):
		return "look at this machine's clock; if the plan is over, make a new one, and " + a.name +
			" model export writes what a store has of it"
	case errors.Is(err, fs.ErrPermission) && strings.Contains(err.Error(), "exec: "):
		return "chmod +x the program, or name its interpreter first, as in --exec 'python3 program.py'"
	case errors.Is(err, syscall.ENOTDIR):
		return "name a folder: a part of the path is a file"
	case errors.Is(err, identity.ErrExpired):
		return "make a new key with " + a.name + " keygen"
	case errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "look at the path"):
		return "look at the path: one in a file counts from that file's folder"
	case class == protocol.ClassAuth:
		return member.BrokerRemedy(err)
	case class == protocol.ClassIntegrity && strings.Contains(err.Error(), protocol.UnopenedSum):
		return "use no result of this round, and keep the aggregator's record; the sum can't tell who it was: " +
			"run another plan with other compute nodes, then with other parties (docs/operating.md, section 7)"
	}
	return ""
}
