package dataset

import (
	"slices"
	"strings"
)

// usualRange is a public range of a measurement: adults' values as textbooks have them,
// wide enough for the ill. Center and scale are about the mean and the standard deviation
// in a hospital's population.
type usualRange struct {
	names         string // lower case, separated by spaces; "_" is any separator
	lo, hi        float64
	center, scale float64
	unit          string
}

var usualRanges = []usualRange{
	{names: "age age_years", lo: 0, hi: 110, center: 50, scale: 20, unit: "years"},
	{names: "bmi body_mass_index", lo: 10, hi: 70, center: 27, scale: 6, unit: "kg/m2"},
	{names: "height height_cm", lo: 100, hi: 220, center: 170, scale: 10, unit: "cm"},
	{names: "weight weight_kg", lo: 25, hi: 250, center: 78, scale: 18, unit: "kg"},
	{names: "sbp systolic systolic_bp", lo: 50, hi: 260, center: 130, scale: 20, unit: "mmHg"},
	{names: "dbp diastolic diastolic_bp", lo: 20, hi: 160, center: 78, scale: 12, unit: "mmHg"},
	{names: "hr heart_rate pulse", lo: 20, hi: 220, center: 80, scale: 17, unit: "1/min"},
	{names: "rr resp_rate respiratory_rate", lo: 4, hi: 70, center: 18, scale: 5, unit: "1/min"},
	{names: "spo2 oxygen_saturation", lo: 50, hi: 100, center: 96, scale: 4, unit: "%"},
	{names: "temp temperature", lo: 30, hi: 43, center: 37, scale: 0.8, unit: "degrees Celsius"},
	{names: "crp", lo: 0, hi: 500, center: 40, scale: 60, unit: "mg/l"},
	{names: "lactate", lo: 0, hi: 20, center: 1.8, scale: 1.5, unit: "mmol/l"},
	{names: "creatinine", lo: 0.2, hi: 15, center: 1.1, scale: 0.8, unit: "mg/dl"},
	{names: "hb hgb hemoglobin haemoglobin", lo: 3, hi: 22, center: 13, scale: 2, unit: "g/dl"},
	{names: "wbc leukocytes leucocytes", lo: 0, hi: 60, center: 9, scale: 4, unit: "10^9/l"},
	{names: "platelets plt", lo: 5, hi: 1000, center: 250, scale: 90, unit: "10^9/l"},
	{names: "sodium", lo: 105, hi: 175, center: 139, scale: 4.5, unit: "mmol/l"},
	{names: "potassium", lo: 1.5, hi: 9, center: 4.2, scale: 0.6, unit: "mmol/l"},
	{names: "albumin", lo: 0.8, hi: 6, center: 3.7, scale: 0.7, unit: "g/dl"},
	{names: "bilirubin", lo: 0, hi: 40, center: 0.9, scale: 1.5, unit: "mg/dl"},
	{names: "hba1c", lo: 3, hi: 18, center: 6, scale: 1.3, unit: "%"},
	{names: "cholesterol chol", lo: 80, hi: 500, center: 195, scale: 45, unit: "mg/dl"},
	{names: "glucose", lo: 20, hi: 800, center: 120, scale: 50, unit: "mg/dl"},
	{names: "los length_of_stay", lo: 0, hi: 365, center: 6, scale: 7, unit: "days"},
}

// pairs are two-valued codes that are in common use, negative first.
var pairs = [][]string{{"0", "1"}, {"no", "yes"}, {"No", "Yes"}, {"NO", "YES"}, {"n", "y"}, {"N", "Y"},
	{"false", "true"}, {"False", "True"}, {"FALSE", "TRUE"}, {"F", "M"}, {"f", "m"}, {"female", "male"},
	{"Female", "Male"}, {"negative", "positive"}, {"neg", "pos"}, {"alive", "dead"}, {"benign", "malignant"},
	{"B", "M"}, {"control", "case"}, {"nein", "ja"}, {"Nein", "Ja"}, {"NEIN", "JA"}, {"nee", "ja"},
	{"Nee", "Ja"}, {"nej", "ja"}, {"Nej", "Ja"}, {"non", "oui"}, {"Non", "Oui"}, {"NON", "OUI"},
	{"survived", "died"}, {"unexposed", "exposed"}, {"untreated", "treated"}}

// identifiers are names of columns that identify a person or a date, and teach nothing.
var identifiers = strings.Fields("id patient patient_id pid mrn nhs_number ssn name surname firstname " +
	"lastname address email phone postcode zip dob date_of_birth birth_date admission_date date")

// normalName is a column's name as the dictionary has it.
func normalName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" .-/()[]", r) {
			return '_'
		}
		return r
	}, strings.ToLower(name)), "_")
}

// usual finds a measurement by the name of its column.
func usual(name string) (usualRange, bool) {
	for _, u := range usualRanges {
		if slices.Contains(strings.Fields(u.names), normalName(name)) {
			return u, true
		}
	}
	return usualRange{}, false
}

// identifies reports whether a column's name is that of an identifier.
func identifies(name string) bool { return slices.Contains(identifiers, normalName(name)) }

// pairOf returns the two-valued code in common use that all values belong to, nil if there
// is none.
func pairOf(values []string) []string {
	for _, pair := range pairs {
		if len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool {
			return !slices.Contains(pair,
				v)
		}) {
			return pair
		}
	}
	return nil
}
