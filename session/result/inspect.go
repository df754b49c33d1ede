package result

import (
	"bytes"
	"os"
	"path/filepath"

	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
)

// Names of the files of a transcript.
const (
	PlanFile       = "plan.choir"
	TranscriptFile = "transcript.bin"
)

// VerifyFolder checks the transcript of a session offline. The folder has the two
// files, or a folder "transcript" with them and the model.json, model.npz and model.csv
// of an aggregator, if any: every number in those must follow from the transcript. A successor
// plan's transcript may have a folder "before" with its predecessor's two files, which are checked
// too. The error for altered files is of protocol.ClassIntegrity.
func VerifyFolder(dir string) (*verify.Report, error) {
	all, err := ReadRecords(dir)
	if err != nil {
		return nil, err
	}
	signed, r, err := VerifyRecords(all)
	if err != nil {
		return nil, err
	}
	return r, checkModelFiles(dir, signed.Plan, r)
}

// filesOf returns the folder of a session's plan and transcript.
func filesOf(dir string) string {
	if info, err := os.Stat(filepath.Join(dir, "transcript")); err == nil && info.IsDir() {
		return filepath.Join(dir, "transcript")
	}
	return dir
}

// IsFolder reports whether a folder has a session's transcript.
func IsFolder(dir string) bool {
	info, err := os.Stat(filepath.Join(filesOf(dir), TranscriptFile))
	return err == nil && info.Mode().IsRegular()
}

// PlanPath returns the path of the signed plan in a session's folder.
func PlanPath(dir string) string { return filepath.Join(filesOf(dir), PlanFile) }

func verifyBytes(text, record []byte) (*protocol.SignedPlan, *verify.Report, error) {
	signed, err := protocol.UnmarshalSignedPlan(text)
	if err != nil {
		return nil, nil, protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	// A plan has one text, the canonical one. A file with any other was altered, even
	// if it can be read.
	if again, err := signed.MarshalText(); err != nil || !bytes.Equal(again, text) {
		return nil, nil, protocol.Fail(protocol.ClassIntegrity, "plan file: %w: not in canonical form",
			protocol.ErrMalformed)
	}
	entries, err := protocol.UnmarshalTranscript(record)
	if err != nil {
		return nil, nil, protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	model, err := app.NewModel(signed.Plan)
	if err != nil {
		return nil, nil, protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	r, err := verify.Transcript(signed, entries, model)
	return signed, r, err
}
