package privacy

import (
	"encoding/json"
	"os"
	"testing"
)

// reference is one entry of testdata/accounting.json; whose meta field names the implementations.
type reference struct {
	Mechanism   string          `json:"mechanism"`
	Sigma       float64         `json:"sigma"`
	RawSens     json.RawMessage `json:"sensitivity"`
	Q           float64         `json:"q"`
	Sampling    string          `json:"sampling"`
	Relation    string          `json:"relation"`
	Steps       int             `json:"steps"`
	Delta       float64         `json:"delta"`
	Epsilon     float64         `json:"epsilon"`
	Lower       float64         `json:"epsilon_lower"`
	Optimistic  float64         `json:"epsilon_optimistic"`
	CrossCheck  float64         `json:"cross_check"`
	Continuous  float64         `json:"continuous_gaussian"`
	Impl        string          `json:"impl"`
	CrossImpl   string          `json:"cross_impl"`
	Accuracy    string          `json:"accuracy"`
	Variance    float64         `json:"variance"`
	LocalSigma  float64         `json:"local_sigma"`
	Shares      int             `json:"n_shares"`
	Gamma       float64         `json:"gamma"`
	LocalStddev float64         `json:"local_stddev"`
	Scale       float64         `json:"scale"`
	Beta        float64         `json:"beta"`
	Dim         int             `json:"dim"`
	Lambda      int             `json:"optimal_lambda"`
}

// sensitivity is the number, or 0 for the entries that describe it in words.
func (r reference) sensitivity() float64 {
	var x float64
	if json.Unmarshal(r.RawSens, &x) != nil {
		return 0
	}
	return x
}

// references reads all entries of the given mechanisms.
func references(t *testing.T, mechanisms ...string) []reference {
	t.Helper()
	raw, err := os.ReadFile("testdata/accounting.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Entries []reference }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	var out []reference
	for _, e := range file.Entries {
		for _, m := range mechanisms {
			if e.Mechanism == m {
				out = append(out, e)
			}
		}
	}
	return out
}

func relativeError(got, want float64) float64 {
	d := got - want
	if d < 0 {
		d = -d
	}
	return d / want
}
