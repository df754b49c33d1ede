package experiment

import (
	"fmt"

	"choir/lab/uci"
)

// Adult returns all rows of Adult, encoded as in [DP-PVI] (uci.AdultPaperSchema), as a
// source that does not yet share them out. dir is a folder of data sets, or empty for the
// copy in the program.
func Adult(dir string) (Source, error) {
	records, err := uci.Adult(dir)
	if err != nil {
		return Source{}, fmt.Errorf("adult: %w", err)
	}
	schema, err := uci.AdultPaperSchema(records)
	if err != nil {
		return Source{}, fmt.Errorf("adult: %w", err)
	}
	return Source{Records: records, Schema: schema}, nil
}
