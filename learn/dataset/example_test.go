package dataset_test

import (
	"fmt"
	"strings"

	"choir/learn/dataset"
)

// A file becomes a table by a public schema, which decides the columns before anybody has
// seen a row.
func ExampleRecords_Encode() {
	const file = "age,ward,ill\n30,A,no\n70,B,yes\n"
	schema := &dataset.Schema{
		Version: dataset.SchemaVersion, Source: "public: the hospital's code book",
		Target:  dataset.Binary("ill", "no", "yes"),
		Columns: []dataset.Column{dataset.Numeric("age", 0, 100), dataset.Categorical("ward", "A", "B")},
		Missing: dataset.Refuse, Unseen: dataset.Refuse,
	}
	records, err := dataset.ReadRecords(strings.NewReader(file), dataset.CSVOptions{Name: "ward.csv"})
	if err != nil {
		panic(err)
	}
	table, err := records.Encode(schema)
	if err != nil {
		panic(err)
	}
	fmt.Println(table.Columns)
	for i, y := range table.Y {
		fmt.Println(table.Row(i), y)
	}
	// Output:
	// [age ward=A ward=B bias]
	// [-0.4 1 0 1] 0
	// [0.4 0 1 1] 1
}

// A value that the schema does not allow is rejected with its line and column, and without
// its content.
func ExampleLineError() {
	const file = "age,ill\n30,no\nunknown,yes\n"
	schema := &dataset.Schema{
		Version: dataset.SchemaVersion, Source: "public: the hospital's code book",
		Target:  dataset.Binary("ill", "no", "yes"),
		Columns: []dataset.Column{dataset.Numeric("age", 0, 100)},
		Missing: dataset.Refuse, Unseen: dataset.Refuse,
	}
	records, err := dataset.ReadRecords(strings.NewReader(file), dataset.CSVOptions{Name: "ward.csv"})
	if err != nil {
		panic(err)
	}
	_, err = records.Encode(schema)
	cause, remedy, _ := strings.Cut(err.Error(), "; ")
	fmt.Println(cause)
	fmt.Println(remedy)
	// Output:
	// ward.csv, line 3, column "age": not a finite decimal number
	// leave the cell empty if the value is missing
}
