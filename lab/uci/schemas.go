package uci

import (
	"fmt"
	"slices"

	"choir/learn/dataset"
)

// Sources of the schemas below.
const (
	sourceAdult   = "public: code book of the census extract and round figures"
	sourceWine    = "public: round figures for wine"
	sourceAbalone = "public: round figures for the species"
	sourcePaper   = "standardised on all rows as in the DP-PVI paper: not private"
)

// adultNumeric are Adult's numbers with public bounds: what the census codes allow
// (age is top-coded at 90, hours and capital gain at 99 and 99,999), and round centres
// and scales like those in published summaries of the data set.
func adultNumeric() []dataset.Column {
	return []dataset.Column{
		dataset.Standardised("age", 17, 90, 40, 14),
		dataset.Standardised("fnlwgt", 10_000, 1_500_000, 190_000, 100_000),
		dataset.Standardised("education-num", 1, 16, 10, 2.5),
		dataset.Standardised("capital-gain", 0, 99_999, 1_000, 7_500),
		dataset.Standardised("capital-loss", 0, 5_000, 100, 400),
		dataset.Standardised("hours-per-week", 1, 99, 40, 12),
	}
}

// adultCategorical are the categories of adult.names, in byte order, with "?" where
// the files have it: 9 + 16 + 7 + 15 + 6 + 5 + 2 + 42 = 102.
func adultCategorical() []dataset.Column {
	return []dataset.Column{
		dataset.Categorical("workclass", "?", "Federal-gov", "Local-gov", "Never-worked", "Private",
			"Self-emp-inc", "Self-emp-not-inc", "State-gov", "Without-pay"),
		dataset.Categorical("education", "10th", "11th", "12th", "1st-4th", "5th-6th", "7th-8th", "9th",
			"Assoc-acdm", "Assoc-voc", "Bachelors", "Doctorate", "HS-grad", "Masters",
			"Preschool", "Prof-school", "Some-college"),
		dataset.Categorical("marital-status", "Divorced", "Married-AF-spouse", "Married-civ-spouse",
			"Married-spouse-absent", "Never-married", "Separated", "Widowed"),
		dataset.Categorical("occupation", "?", "Adm-clerical", "Armed-Forces", "Craft-repair",
			"Exec-managerial", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct",
			"Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales",
			"Tech-support", "Transport-moving"),
		dataset.Categorical("relationship", "Husband", "Not-in-family", "Other-relative", "Own-child",
			"Unmarried", "Wife"),
		dataset.Categorical("race", "Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
		dataset.Categorical("sex", "Female", "Male"),
		dataset.Categorical("native-country", "?", "Cambodia", "Canada", "China", "Columbia", "Cuba",
			"Dominican-Republic", "Ecuador", "El-Salvador", "England", "France", "Germany",
			"Greece", "Guatemala", "Haiti", "Holand-Netherlands", "Honduras", "Hong", "Hungary",
			"India", "Iran", "Ireland", "Italy", "Jamaica", "Japan", "Laos", "Mexico",
			"Nicaragua", "Outlying-US(Guam-USVI-etc)", "Peru", "Philippines", "Poland",
			"Portugal", "Puerto-Rico", "Scotland", "South", "Taiwan", "Thailand",
			"Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia"),
	}
}

// adultSchema encodes UCI Adult by public bounds only: 6 numbers, 102 one-hot columns
// and the bias, 109 in all; positive is ">50K".
func adultSchema() *dataset.Schema {
	return &dataset.Schema{
		Version: dataset.SchemaVersion, Source: sourceAdult, Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Target:  dataset.Binary("income", "<=50K", ">50K"),
		Columns: append(adultNumeric(), adultCategorical()...),
	}
}

// AdultPaperSchema is the encoding of the figures in [DP-PVI]: as adultSchema, but the
// numbers are standardised with mean and population standard deviation of the given
// records (in the paper all 48,842 rows, test rows included). It is not private, and its
// Source names that.
func AdultPaperSchema(rec *dataset.Records) (*dataset.Schema, error) {
	if !slices.Equal(rec.Header, adultColumns) {
		return nil, fmt.Errorf("%w: %s: not the columns of Adult", dataset.ErrBadData, rec.Name)
	}
	s := adultSchema()
	s.Source = sourcePaper
	for j, c := range s.Columns {
		if c.Numeric == nil {
			break
		}
		col, err := rec.StandardisedOn(c.Name)
		if err != nil {
			return nil, err
		}
		s.Columns[j] = col
	}
	return s, s.Validate()
}

// WineSchema encodes either wine quality file by public bounds: 11 numbers and the
// bias; the target is the grade 0..10, standardised to (grade - 6) / 1.
func WineSchema() *dataset.Schema {
	return &dataset.Schema{
		Version: dataset.SchemaVersion, Source: sourceWine, Missing: dataset.Refuse, Unseen: dataset.Refuse,
		Target: dataset.Standardised("quality", 0, 10, 6, 1),
		Columns: []dataset.Column{
			dataset.Standardised("fixed acidity", 3, 17, 7, 1.5),
			dataset.Standardised("volatile acidity", 0, 2, 0.3, 0.2),
			dataset.Standardised("citric acid", 0, 2, 0.3, 0.2),
			dataset.Standardised("residual sugar", 0, 70, 5, 5),
			dataset.Standardised("chlorides", 0, 0.7, 0.05, 0.04),
			dataset.Standardised("free sulfur dioxide", 0, 300, 30, 20),
			dataset.Standardised("total sulfur dioxide", 0, 450, 120, 60),
			dataset.Standardised("density", 0.98, 1.04, 0.995, 0.003),
			dataset.Standardised("pH", 2.5, 4.5, 3.2, 0.15),
			dataset.Standardised("sulphates", 0, 2, 0.5, 0.15),
			dataset.Standardised("alcohol", 8, 15, 10.5, 1.2),
		},
	}
}

// AbaloneSchema encodes abalone by public bounds: 3 one-hot columns, 7 numbers and
// the bias; lengths are in units of 200 mm and weights of 200 g, as in the file. The
// target is the ring count 1..30, standardised to (rings - 10) / 3.
func AbaloneSchema() *dataset.Schema {
	return &dataset.Schema{
		Version: dataset.SchemaVersion, Source: sourceAbalone, Missing: dataset.Refuse,
		Unseen: dataset.Refuse,
		Target: dataset.Standardised("Rings", 1, 30, 10, 3),
		Columns: []dataset.Column{
			dataset.Categorical("Sex", "F", "I", "M"),
			dataset.Standardised("Length", 0, 1, 0.5, 0.12),
			dataset.Standardised("Diameter", 0, 1, 0.4, 0.1),
			dataset.Standardised("Height", 0, 1.2, 0.14, 0.04),
			dataset.Standardised("Whole weight", 0, 3, 0.8, 0.5),
			dataset.Standardised("Shucked weight", 0, 2, 0.35, 0.2),
			dataset.Standardised("Viscera weight", 0, 1, 0.18, 0.1),
			dataset.Standardised("Shell weight", 0, 1.2, 0.24, 0.14),
		},
	}
}
