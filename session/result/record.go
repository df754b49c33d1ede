package result

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"choir/internal/atomicfile"
	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
)

// beforeDir is the folder, in that of a transcript, of the predecessor's.
const beforeDir = "before"

// Record is a session's signed plan and transcript, as in their files.
type Record struct{ Plan, Transcript []byte }

// ReadRecords reads the records of a folder, which VerifyFolder describes: the last plan's first,
// then its predecessors'.
func ReadRecords(dir string) (all []Record, err error) {
	for dir = filesOf(dir); ; dir = filepath.Join(dir, beforeDir) {
		plan, err := readFile(filepath.Join(dir, PlanFile))
		if errors.Is(err, fs.ErrNotExist) && len(all) > 0 {
			return all, nil
		}
		if err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "%w", err)
		}
		if slices.ContainsFunc(all, func(r Record) bool { return bytes.Equal(r.Plan, plan) }) {
			return nil, protocol.Fail(protocol.ClassIntegrity,
				"%s: %w: a plan goes on from itself: the folder is a link to one around it", dir, protocol.ErrMismatch)
		}
		record, err := readFile(filepath.Join(dir, TranscriptFile))
		if err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "%w", err)
		}
		all = append(all, Record{plan, record})
	}
}

// readFile reads a file that somebody else may have made. A device or a pipe in its place never ends.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("it is no regular file")}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// WriteRecords writes records for ReadRecords.
func WriteRecords(dir string, all []Record) error {
	for _, r := range all {
		if err := atomicfile.WriteFile(filepath.Join(dir, PlanFile), r.Plan); err != nil {
			return err
		}
		if err := atomicfile.WriteFile(filepath.Join(dir, TranscriptFile), r.Transcript); err != nil {
			return err
		}
		dir = filepath.Join(dir, beforeDir)
	}
	return nil
}

// VerifyRecords checks the transcript of a session and those of its predecessors, as far as they are
// there, and that each goes on from the one before.
func VerifyRecords(all []Record) (*protocol.SignedPlan, *verify.Report, error) {
	signed, r, err := verifyBytes(all[0].Plan, all[0].Transcript)
	if err != nil || len(all) == 1 {
		return signed, r, err
	}
	_, before, err := VerifyRecords(all[1:])
	if err != nil {
		return nil, nil, err
	}
	return signed, r, r.Follow(before)
}

// ChainTrace is Trace of a session and of its predecessors, whose records begin with the last one's;
// nil if a predecessor's is missing.
func ChainTrace(s protocol.BoundPlan, entries [][]byte, before []Record) ([]app.Revealed, error) {
	own, err := Trace(s, entries)
	if err != nil || s.Plan.After == nil {
		return own, err
	}
	if len(before) == 0 {
		return nil, nil
	}
	entries, err = protocol.UnmarshalTranscript(before[0].Transcript)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "predecessor: %w", err)
	}
	q := s.Plan.After.Plan
	earlier, err := ChainTrace(protocol.Bind(q), entries, before[1:])
	if err != nil || earlier == nil {
		return nil, err
	}
	return append(Under(q, earlier), own...), nil
}
