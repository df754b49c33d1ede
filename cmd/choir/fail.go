package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"choir/crypto/identity"
	"choir/host"
	"choir/lab/uci"
	"choir/learn/dataset"
	"choir/protocol"
	"choir/transport"
)

// fail prints what went wrong and what may help, and returns the exit code.
func (a *app) fail(ctx context.Context, err error) int {
	var shown reported
	if errors.As(err, &shown) {
		return int(shown.class)
	}
	class := classOf(err)
	if a.started() == nil {
		class = protocol.ClassInput
	}
	message := named(err.Error(), a.hasFlag)
	if interrupted(ctx, err) {
		class, message = protocol.ClassFailed, "interrupted"
	}
	fmt.Fprintf(a.err, "choir: error: %s\n", message)
	if hint := hintOf(err, class, a.started() != nil); hint != "" {
		fmt.Fprintf(a.err, "choir: hint: %s\n", hint)
	}
	return int(class)
}

// stopped reports that a command was interrupted, and how to go on.
func (a *app) stopped(err error, hint string) error {
	fmt.Fprintf(a.err, "choir: error: interrupted\nchoir: hint: %s\n", hint)
	return reported{protocol.ClassFailed, err}
}

// reported is a failure that was told already, in full.
type reported struct {
	class protocol.Class
	err   error
}

func (r reported) Error() string { return r.err.Error() }

// errInterrupted ends a verb that a signal has ended.
var errInterrupted = protocol.Fail(protocol.ClassFailed, "interrupted")

func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// classOf adds to the protocol's classes what the packages below it report.
func classOf(err error) protocol.Class {
	var known *protocol.Error
	switch {
	case errors.As(err, &known):
		return known.Class
	case errors.Is(err, transport.ErrAuth):
		return protocol.ClassAuth
	case errors.Is(err, context.DeadlineExceeded):
		return protocol.ClassTimeout
	case errors.Is(err, identity.ErrTampered), errors.Is(err, identity.ErrExpired), errors.Is(err, identity.ErrBadSignature),
		errors.Is(err, uci.ErrChecksum):
		return protocol.ClassIntegrity
	case errors.Is(err, dataset.ErrBadData), errors.Is(err, dataset.ErrSchema), errors.Is(err, uci.ErrUnknownSet),
		errors.Is(err, identity.ErrPassphrase), errors.Is(err, identity.ErrKeyFile), errors.Is(err, identity.ErrCard),
		errors.Is(err, identity.ErrName), errors.Is(err, identity.ErrPermissions),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist):
		return protocol.ClassInput
	}
	return protocol.ClassFailed
}

// fields are what the packages below call the things that flags set; an error
// about one of them names the flag.
var fields = map[string]string{
	"parties": "--parties", "computes": "--computes", "rounds": "--rounds", "colluders": "--colluders", "dropouts": "--dropouts",
	"epsilon": "--epsilon", "delta": "--delta", "clip": "--clip", "model": "--model", "method": "--method", "strategy": "--strategy", "shards": "--shards",
	"data": "--data", "target": "--target", "schema": "--schema", "column": "--column", "seed": "--seed", "train": "--train", "rho": "--rho", "kappa": "--kappa", "out": "--out",
	"sigma": "--sigma", "frac_bits": "--frac-bits", "input": "--input", "transport": "--transport", "resume": "--resume",
	"dim": "--dim", "compute_nodes": "--compute-nodes", "suite": "--suite", "driver": "--driver", "noise": "--noise", "pairs": "--pairs", "workers": "--workers", "worker": "--worker", "node": "--node",
	"repeats": "--repeats", "threshold": "--threshold", "baseline": "--baseline", "dir": "--dir", "add": "--add",
	"processes": "--processes", "format": "--format", "listen": "--listen", "token_file": "--token-file", "store": "--store",
}

var fieldList = regexp.MustCompile(`^([a-z_]+(?:, [a-z_]+)*): `)

// named puts the flag in front of an error about what it sets: "plan: epsilon:
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
			flag, ok := fields[f]
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
func (a *app) hasFlag(flag string) bool {
	verb := a.started()
	return verb != nil && verb.Flags().Lookup(strings.TrimPrefix(flag, "--")) != nil
}

// hintOf is a next step, where there is a likely one.
func hintOf(err error, class protocol.Class, started bool) string {
	switch {
	case !started:
		return "choir help shows what there is"
	case errors.Is(err, uci.ErrUnknownSet):
		return "choir data list shows the sets that are in the program; any other is a file of yours for --data"
	case errors.Is(err, errDataFolder):
		return "without CHOIR_DATA in the environment the files come from the program itself"
	case errors.Is(err, identity.ErrPermissions):
		return "chmod 600 the file"
	case errors.Is(err, identity.ErrPassphrase):
		return "the passphrase file must hold the passphrase that the key was made with, on one line"
	case errors.Is(err, errStopped):
		return "start it again with the same configuration and it goes on where it stopped"
	case errors.Is(err, host.ErrLocked):
		return "another process of this member is still running"
	case errors.Is(err, protocol.ErrExpired):
		return "make a new plan, and have every member sign it"
	case errors.Is(err, identity.ErrExpired):
		return "make a new key with choir keygen"
	case class == protocol.ClassAuth:
		return "check the broker's address and the credentials in the configuration"
	}
	return ""
}
