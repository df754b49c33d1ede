package report

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"choir/protocol"
)

// Of makes the report of a folder or of a plan file. A folder's kind follows from its
// files: a session's transcript or result, the JSON documents of studies or of benchmarks.
func Of(path string) (*Page, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	if !info.IsDir() {
		return ofPlan(path)
	}
	for _, name := range []string{"result.json", "transcript", "transcript.bin", "model.json"} {
		if exists(filepath.Join(path, name)) {
			return ofSession(path)
		}
	}
	if exists(filepath.Join(path, attackFile)) {
		return OfAttack(path)
	}
	documents, err := documentsIn(path)
	if err != nil {
		return nil, err
	}
	for _, make := range []func(string, []document) (*Page, error){ofStudies, ofBenchmarks} {
		if page, err := make(path, documents); page != nil || err != nil {
			return page, err
		}
	}
	if plan := filepath.Join(path, "plan.choir"); exists(plan) {
		return ofPlan(plan)
	}
	return nil, protocol.Fail(protocol.ClassInput,
		"%s has no session, plan, study, benchmark or attack to report on", filepath.Base(path))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// document is a JSON file of a folder.
type document struct {
	name string // without .json
	raw  []byte
	keys map[string]json.RawMessage
}

// documentsIn reads the folder's JSON objects, by name. Other files are left alone.
func documentsIn(dir string) (all []document, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, protocol.Fail(protocol.ClassInput, "%w", err)
		}
		d := document{name: filepath.Base(path[:len(path)-len(".json")]), raw: raw}
		if json.Unmarshal(raw, &d.keys) == nil {
			all = append(all, d)
		}
	}
	return all, nil
}

// has reports whether the object has all of the keys.
func (d document) has(keys ...string) bool {
	for _, k := range keys {
		if _, ok := d.keys[k]; !ok {
			return false
		}
	}
	return true
}

// readJSON reads a document into v; ok is false where there is none.
func readJSON(path string, v any) (ok bool, err error) {
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, protocol.Fail(protocol.ClassInput, "%w", err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return false, protocol.Fail(protocol.ClassInput, "%s: %w", path, err)
	}
	return true, nil
}
