// Package randhie holds rows of the RAND Health Insurance Experiment, which ships with
// the source: 20,190 person-years with randomly assigned insurance, with the visits to
// a doctor, by plan and health.
//
// Source: the RAND Corporation's Health Insurance Experiment
// (http://www.rand.org/health/projects/hie.html), the extract that A. C. Cameron and P. K.
// Trivedi used in [CT05], as the Python package statsmodels distributes it in its file
// randhie.csv, with the notice "This is in the public domain".
//
// A row is a year of a person, and a person has up to five rows, which the extract
// does not mark as one person's. The privacy of a row is more than that of a person, whose
// rows change together.
package randhie

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"

	"choir/learn/dataset"
)

//go:embed randhie.csv.gz
var packed []byte

// name of the data set.
const name = "randhie"

// rows is how many there are.
const rows = 20190

// Records are the rows as text, with a first column "visit" that is "yes" when the
// person saw a doctor in the year, in the place of the number of visits.
func Records() (*dataset.Records, error) {
	unpack, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("randhie: %w", err)
	}
	records, err := dataset.ReadRecords(unpack, dataset.CSVOptions{Name: name})
	if err != nil {
		return nil, fmt.Errorf("randhie: %w", err)
	}
	if len(records.Cells) != rows || records.Header[0] != "mdvis" {
		return nil, fmt.Errorf("randhie: %d rows of %q, want %d of mdvis", len(records.Cells),
			records.Header, rows)
	}
	records.Header[0] = "visit"
	for _, row := range records.Cells {
		if row[0] == "0" {
			row[0] = "no"
		} else {
			row[0] = "yes"
		}
	}
	return records, nil
}

// Schema encodes the rows by public bounds: what the experiment's plans and the health
// questionnaire allow, in round figures, and not what the rows hold.
//
//   - lncoins: log(1 + coinsurance), a percentage from 0 to 100
//   - idp: individual deductible plan
//   - lpi: log of the yearly participation incentive in dollars, 0 for none
//   - fmde: log of the maximum expenditure over the coinsurance rate, 0 for a deductible plan
//   - physlm: physical limitation, 0 to 1
//   - disea: index of chronic diseases
//   - hlthg, hlthf, hlthp: health self-rated good, fair or poor; none of them is excellent
func Schema() *dataset.Schema {
	return &dataset.Schema{
		Version: dataset.SchemaVersion, Source: "public: the experiment's plans and questionnaire, round " +
			"figures", Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Target: dataset.Binary("visit", "no", "yes"),
		Columns: []dataset.Column{
			dataset.Standardised("lncoins", 0, 4.7, 2, 2),
			dataset.Standardised("idp", 0, 1, 0, 1),
			dataset.Standardised("lpi", 0, 7.5, 4, 3),
			dataset.Standardised("fmde", 0, 8.5, 4, 3),
			dataset.Standardised("physlm", 0, 1, 0, 1),
			dataset.Standardised("disea", 0, 60, 10, 7),
			dataset.Standardised("hlthg", 0, 1, 0, 1),
			dataset.Standardised("hlthf", 0, 1, 0, 1),
			dataset.Standardised("hlthp", 0, 1, 0, 1),
		},
	}
}
