package member

import (
	"fmt"
	"path/filepath"

	"choir/host"
	"choir/internal/atomicfile"
	"choir/protocol"
	"choir/session/result"
	"choir/session/run"
)

// writeOutputs writes the signed plan, the transcript and the model in OutDir.
func (m *Member) writeOutputs(store host.Store) error {
	text, err := m.Signed.MarshalText()
	if err != nil {
		return err
	}
	dir := filepath.Join(m.Config.OutDir, "transcript")
	if err := atomicfile.WriteFile(filepath.Join(dir, result.PlanFile), text); err != nil {
		return err
	}
	record := protocol.MarshalTranscript(run.Transcript(store))
	if err := atomicfile.WriteFile(filepath.Join(dir, result.TranscriptFile), record); err != nil {
		return err
	}
	state, ok := protocol.UnpackInts(store.Get("model"))
	if !ok || len(state) == 0 {
		return fmt.Errorf("the store has no model")
	}
	warnings, err := result.Warnings(m.Session.Plan, state)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		m.Log.Warn(w, "event", "warning")
	}
	final, err := result.NewModelFile(m.Session, state)
	if err != nil {
		return err
	}
	return final.Write(m.Config.OutDir)
}
