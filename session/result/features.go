package result

import (
	"fmt"

	"choir/learn/dataset"
	"choir/protocol"
	"choir/session/app"
)

// manyEncoded is the number of encoded features from which a warning names it.
const manyEncoded = 50

// fewerHelp completes the remedy for noise by the number of features of a plan's schema, if they are many.
func fewerHelp(p *protocol.Plan) string {
	if a, err := app.Of(p); err == nil {
		if schema, err := a.Encoding(); err == nil {
			return manyFeatures(schema)
		}
	}
	return ""
}

// manyFeatures tells how many features a schema has, and which column has most of them; "" if they are few.
func manyFeatures(schema *dataset.Schema) string {
	if schema.Dim()-1 < manyEncoded {
		return ""
	}
	text := fmt.Sprintf("the schema has %d", schema.Dim()-1)
	most, column := 1, ""
	for _, c := range schema.Columns {
		if len(c.Categories) > most {
			most, column = len(c.Categories), c.Name
		}
	}
	if column != "" {
		text += fmt.Sprintf(", %d of them levels of column %s", most, column)
	}
	return text
}
