package terms

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// fileError is an error about a plan's file: it names the file, and the section
// of the key at fault.
type fileError struct {
	path string
	c    *PlanConfig
	err  error
}

func (e *fileError) Unwrap() error { return e.err }

var (
	// inside are the prefixes of the packages that check a plan.
	inside = regexp.MustCompile(`^(config|plan|parameters|bad (?:[a-z ]+ )?configuration(?: of [a-z ]+)?): `)
	// keyList are what an error is about: "steps is 0", "privacy.epsilon, privacy.delta: ...".
	keyList = regexp.MustCompile(`^[a-z0-9_]+(?:\.[a-z0-9_]+)?(?:, [a-z0-9_]+(?:\.[a-z0-9_]+)?)*`)
)

// Error is like "plan.toml: [learning] steps is 0".
func (e *fileError) Error() string {
	text := e.err.Error()
	if strings.Contains(text, e.path) {
		return text
	}
	return e.path + ": " + strings.Join(e.causes(strings.Split(strings.TrimSuffix(text, "\n"), "\n")), "; ")
}

// causes locates the errors and leaves out those that follow from others: about keys that the file does
// not name, and further ones about the same key.
func (e *fileError) causes(lines []string) []string {
	var all, named, keys []string
	for _, line := range lines {
		key, text := e.located(line)
		all = append(all, text)
		if key != "" && slices.Contains(keys, key) || key != "" && !e.c.names(key) {
			continue
		}
		keys = append(keys, key)
		named = append(named, text)
	}
	if len(named) == 0 {
		return all
	}
	return named
}

// names reports whether the file names a key, such as "learning.clip".
func (c *PlanConfig) names(key string) bool {
	section, key, ok := strings.Cut(key, ".")
	of := reflect.ValueOf(*c)
	if !ok {
		section, key = "", section
	} else if i := slices.Index(tags(of.Type()), section); i >= 0 {
		if of = reflect.Indirect(of.Field(i)); !of.IsValid() {
			return false // the file lacks the section
		}
	}
	i := slices.Index(tags(of.Type()), key)
	return i >= 0 && !of.Field(i).IsZero()
}

// located puts the section of the keys at the beginning of an error before them, and returns the first key.
func (e *fileError) located(text string) (key, located string) {
	for inside.MatchString(text) {
		text = inside.ReplaceAllString(text, "")
	}
	list := keyList.FindString(text)
	names := strings.Split(list, ", ")
	section := e.c.section(names[0])
	if section == "" {
		return "", text
	}
	for i, n := range names {
		names[i] = strings.TrimPrefix(n, section+".")
	}
	return section + "." + names[0], "[" + section + "] " + strings.Join(names, ", ") + text[len(list):]
}

// section is the section of the file that has a key, "" for one at the top.
func (c *PlanConfig) section(key string) string {
	if name, _, ok := strings.Cut(key, "."); ok {
		return name
	}
	if slices.Contains(tags(reflect.TypeOf(*c)), key) {
		return ""
	}
	of := reflect.ValueOf(*c)
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Kind() == reflect.Pointer {
			if field.IsNil() {
				continue
			}
			field = field.Elem()
		}
		if field.Kind() == reflect.Struct && slices.Contains(tags(field.Type()), key) {
			return of.Type().Field(i).Tag.Get("toml")
		}
	}
	return ""
}

// tags are the keyList of a section.
func tags(of reflect.Type) (all []string) {
	for i := range of.NumField() {
		all = append(all, of.Field(i).Tag.Get("toml"))
	}
	return all
}
