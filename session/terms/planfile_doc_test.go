package terms

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"choir/internal/config"
)

// TestPlanFileDocument: docs/plan-file.md has a row for every key of a plan's file, section
// by section, and none that the file doesn't take.
func TestPlanFileDocument(t *testing.T) {
	b, err := os.ReadFile("../../docs/plan-file.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|")
	documented := map[string][]string{}
	for _, part := range strings.Split(string(b), "\n## ")[1:] {
		name := ""
		if strings.HasPrefix(part, "`[") {
			name = part[2:strings.Index(part, "]")]
		}
		for _, m := range row.FindAllStringSubmatch(part, -1) {
			documented[name] = append(documented[name], m[1])
		}
	}
	taken := map[string][]string{}
	keys(reflect.TypeFor[PlanConfig](), "", taken)
	if len(taken) < 6 {
		t.Fatalf("%d sections", len(taken))
	}
	for name, want := range taken {
		if !slices.Equal(documented[name], want) {
			t.Errorf("section %q: the document has %q, the file takes %q", name, documented[name], want)
		}
		delete(documented, name)
	}
	if len(documented) > 0 {
		t.Errorf("sections that the file doesn't take: %v", documented)
	}
}

// keys collects a section's keys, and those of the sections in it.
func keys(section reflect.Type, name string, into map[string][]string) {
	for i := range section.NumField() {
		f := section.Field(i)
		typ, key := f.Type, f.Tag.Get("toml")
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Struct && typ != reflect.TypeFor[config.Duration]() {
			keys(typ, key, into)
			continue
		}
		into[name] = append(into[name], key)
	}
}
