package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"choir/internal/broker"
	"choir/internal/config"
	"choir/protocol"
	"choir/session/member"
)

// section is the part of a page from a heading to the next one of its depth or above.
func section(t *testing.T, page, head string) string {
	t.Helper()
	_, text, ok := strings.Cut(page, "\n"+head+"\n")
	if !ok {
		t.Fatalf("no section %q", head)
	}
	depth := strings.IndexByte(head, ' ')
	next := regexp.MustCompile(fmt.Sprintf(`(?m)^#{1,%d} `, depth))
	if at := next.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	return text
}

// first is the names in the first cells of a section's tables, in order.
func first(text string) (names []string) {
	for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]*`|[0-9]) \\|").FindAllStringSubmatch(text, -1) {
		for _, name := range strings.Split(m[1], ", ") {
			names = append(names, strings.Trim(name, "`"))
		}
	}
	return names
}

// tags are a section's own keys in the file, and the sections in it.
func tags(of reflect.Type) (keys []string, sections map[string]reflect.Type) {
	sections = map[string]reflect.Type{}
	for i := range of.NumField() {
		f := of.Field(i)
		key := f.Tag.Get("toml")
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[config.Duration]() {
			sections[key] = f.Type
			continue
		}
		keys = append(keys, key)
	}
	return keys, sections
}

// TestSettings: docs/operating.md has a row for every setting of a member and of the broker,
// and for nothing else; and says rightly which have no flag.
func TestSettings(t *testing.T) {
	page := read(t, "operating.md")
	want, sections := tags(reflect.TypeFor[member.Config]())
	if got := first(section(t, page, "### The member")); !slices.Equal(got, want) {
		t.Errorf("the member: the page has %q, the file takes %q", got, want)
	}
	if len(sections) < 5 {
		t.Errorf("%d sections", len(sections))
	}
	var inFile []string
	for name, of := range sections {
		want, deeper := tags(of)
		if got := first(section(t, page, "### `["+name+"]`")); !slices.Equal(got, want) || len(deeper) > 0 {
			t.Errorf("[%s]: the page has %q, the file takes %q", name, got, want)
		}
		for _, key := range want {
			if name != "budget" {
				inFile = append(inFile, name+"."+key)
			}
		}
	}
	inFile = append(inFile, want...)
	var flags []string
	for _, s := range member.Settings() {
		flags = append(flags, s.Key())
	}
	slices.Sort(inFile)
	slices.Sort(flags)
	if !slices.Equal(flags, inFile) {
		t.Errorf("flags %q, settings but those of [budget] %q", flags, inFile)
	}
	broker, _ := tags(reflect.TypeFor[broker.Config]())
	if got := first(section(t, page, "## 3 The broker")); !slices.Equal(got, broker) {
		t.Errorf("the broker: the page has %q, the file takes %q", got, broker)
	}
}

// TestOperatorsTables: the exit codes, every event that is logged and every figure for
// Prometheus have their rows.
func TestOperatorsTables(t *testing.T) {
	page := read(t, "operating.md")
	codes := first(section(t, page, "## 5 Running it"))
	want := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
	if !slices.Equal(codes, want) || protocol.ClassIntegrity != 7 {
		t.Errorf("exit codes %q", codes)
	}
	for what, in := range map[string]struct{ folder, pattern, prefix string }{
		"event of the roles":   {"protocol", `Note\w+ +Code = "([a-z]+)"`, ""},
		"event of the process": {"session/member", `"event", "([a-z]+)"`, ""},
		"figure":               {"host/status", `(?:gauge|counter|histogram)\("([a-z_]+)"`, "choir_"},
	} {
		found, rows := 0, first(section(t, page, "## 6 Watching it"))
		files, err := filepath.Glob(filepath.Join("..", in.folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "broker.go" {
				continue
			}
			for _, m := range regexp.MustCompile(in.pattern).FindAllStringSubmatch(string(code), -1) {
				found++
				if !slices.Contains(rows, in.prefix+m[1]) {
					t.Errorf("%s: the page lacks the %s %q", file, what, in.prefix+m[1])
				}
			}
		}
		if found < 5 {
			t.Errorf("only %d found: %s", found, what)
		}
	}
}
