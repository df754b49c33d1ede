package experiment

import (
	"fmt"
	"path/filepath"

	"choir/learn/dataset"
)

// Adult is the data set of that name in a folder of data sets, all its rows, encoded as
// the papers' code has it (dataset.AdultPaperSchema). Who has what is left to say.
func Adult(dir string) (Source, error) {
	records, err := dataset.LoadAdult(filepath.Join(dir, "adult"))
	if err != nil {
		return Source{}, fmt.Errorf("adult: %w", err)
	}
	schema, err := dataset.AdultPaperSchema(records)
	if err != nil {
		return Source{}, fmt.Errorf("adult: %w", err)
	}
	return Source{Records: records, Schema: schema}, nil
}
