package result

import (
	"bytes"
	"os"
	"path/filepath"

	"choir/protocol"
	"choir/protocol/verify"
	"choir/session/app"
)

// Names of a transcript's two files, in a folder of their own.
const (
	PlanFile       = "plan.choir"
	TranscriptFile = "transcript.bin"
)

// VerifyFolder checks a session's transcript offline: the folder holds the two
// files, or has a folder "transcript" with them and perhaps the model.json, model.npz
// and model.csv that an aggregator leaves, every number of which must then be what the
// transcript leads to. Anything altered is of protocol.ClassIntegrity.
func VerifyFolder(dir string) (*verify.Report, error) {
	files := dir
	if info, err := os.Stat(filepath.Join(dir, "transcript")); err == nil && info.IsDir() {
		files = filepath.Join(dir, "transcript")
	}
	text, err := os.ReadFile(filepath.Join(files, PlanFile))
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	record, err := os.ReadFile(filepath.Join(files, TranscriptFile))
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	r, err := verifyBytes(text, record)
	if err != nil {
		return nil, err
	}
	signed, err := protocol.UnmarshalSignedPlan(text)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	return r, checkModelFiles(dir, signed.Plan, r)
}

func verifyBytes(text, record []byte) (*verify.Report, error) {
	signed, err := protocol.UnmarshalSignedPlan(text)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	// The one text of a plan is the one that its writer emits: a file with
	// anything else in it was altered, whatever a lenient reader makes of it.
	if again, err := signed.MarshalText(); err != nil || !bytes.Equal(again, text) {
		return nil, protocol.Fail(protocol.ClassIntegrity, "plan file: %w: not in canonical form", protocol.ErrMalformed)
	}
	entries, err := protocol.UnmarshalTranscript(record)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	model, err := app.NewModel(signed.Plan)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassIntegrity, "%w", err)
	}
	return verify.Transcript(signed, entries, model)
}
