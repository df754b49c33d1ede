package member_test

import (
	"strings"
	"testing"

	"choir/session/app"
	"choir/session/internal/rig"
	"choir/session/member"
)

// TestCheckData: before a plan is signed its party learns that its file has a value that the schema
// refuses, with line and column.
func TestCheckData(t *testing.T) {
	clipped := rig.LearningCases()["logistic"]
	clipped.Config.Clip = 0.5
	l, _ := rig.LearningPlanAt(t, clipped, 1)
	p := l.Session.Plan
	a, err := app.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := a.Encoding()
	if err != nil {
		t.Fatal(err)
	}
	names, values := []string{}, []string{}
	for _, c := range schema.Columns {
		names = append(names, c.Name)
		values = append(values, "0")
	}
	row := strings.Join(values, ",") + ",0\n"
	head := strings.Join(names, ",") + "," + schema.Target.Name + "\n"
	for _, tc := range []struct{ name, text, want string }{
		{"whole", head + row + row, ""},
		{"missing value", head + row + strings.TrimPrefix(row, "0"), "line 3"},
		{"other columns", "a,b\n1,2\n", "data: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := rig.WriteFile(t, t.TempDir(), "data.csv", tc.text)
			err := member.CheckData(p, &member.Config{DataFile: file})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
