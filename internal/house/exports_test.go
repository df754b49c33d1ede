package house

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// standard are the methods that only the standard library or a library of the module calls
// by an interface.
var standard = strings.Fields(`Error String Format Unwrap Is As GoString Read Write Close Len Less Swap
	Set Type MarshalJSON UnmarshalJSON MarshalText UnmarshalText MarshalBinary UnmarshalBinary
	Push Pop ReadByte LogValue
	Enabled Handle WithAttrs WithGroup ServeHTTP RoundTrip Temporary Timeout Ticks Plot DataRange
	Thumbnail GlyphBoxes At Dims T Sync Reset Size BlockSize Sum`)

// templated are methods that only a template calls.
var templated = map[string]string{"lab/trial": "Encoding Lifetime Show Total"}

// TestExportsAreUsed: what only its own package uses isn't exported. A name counts as used when
// another package, or a test outside of the package, selects it, when another exported
// declaration of the package names it, or when it is an error or a constant of an exported
// type, by which a caller tells cases apart. Methods are compared by name alone.
func TestExportsAreUsed(t *testing.T) {
	all := files(t)
	u := usesIn(all)
	checked := 0
	for _, f := range all {
		if f.test || f.syntax.Name.Name == "main" {
			continue
		}
		for _, d := range f.syntax.Decls {
			for _, name := range exportedBy(d) {
				checked++
				if !u.used(f.pkg, name) {
					t.Errorf("%s: no other package uses %s", f.path, name)
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d names checked", checked)
	}
}

// uses has what selects and names what: by package and name, by name alone, and within the
// exported declarations of a package.
type uses struct {
	names, signatures map[string]bool
	methods           map[string]bool
}

func (u uses) used(pkg, name string) bool {
	if pkg == "lab/bench" || pkg == "crypto/xof" { // the module lab/bench/peers uses them
		return true
	}
	if method, ok := strings.CutPrefix(name, "."); ok {
		return u.methods[method] || strings.Contains(" "+templated[pkg]+" ", " "+method+" ")
	}
	isError := strings.HasPrefix(name, "Err") || strings.HasSuffix(name, "Error")
	return isError || u.names[pkg+"."+name] || u.signatures[pkg+"."+name]
}

func usesIn(all []file) uses {
	u := uses{names: map[string]bool{}, signatures: map[string]bool{}, methods: map[string]bool{}}
	for _, m := range standard {
		u.methods[m] = true
	}
	selected := map[string]map[string]bool{} // a method's name, the packages that select it
	declared := map[string]map[string]bool{} // a method's name, the packages that declare it
	for _, f := range all {
		from := f.pkg
		if strings.HasSuffix(f.syntax.Name.Name, "_test") {
			from += "_test"
		}
		u.selectors(f, from, selected)
		for _, d := range f.syntax.Decls {
			u.signature(f.pkg, d, declared)
		}
	}
	for name, by := range declared {
		for pkg := range selected[name] {
			u.methods[name] = u.methods[name] || len(by) > 1 || !by[pkg]
		}
	}
	return u
}

// selectors records the selectors of a file, and the methods of its interfaces.
func (u uses) selectors(f file, from string, selected map[string]map[string]bool) {
	imported := map[string]string{}
	for _, s := range f.syntax.Imports {
		if inner, ours := strings.CutPrefix(strings.Trim(s.Path.Value, `"`), "choir/"); ours {
			name := path.Base(inner)
			if s.Name != nil {
				name = s.Name.Name
			}
			imported[name] = inner
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && imported[x.Name] != "" {
				u.names[imported[x.Name]+"."+n.Sel.Name] = true
			}
			add(selected, n.Sel.Name, from)
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				for _, name := range m.Names {
					u.methods[name.Name] = true
				}
			}
		}
		return true
	})
}

// signature records the names in what an exported declaration shows to other packages.
func (u uses) signature(pkg string, d ast.Decl, declared map[string]map[string]bool) {
	show := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				u.signatures[pkg+"."+id.Name] = true
			}
			return true
		})
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() {
			show(d.Type)
			if d.Recv != nil {
				add(declared, d.Name.Name, pkg)
			}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					show(s.Type)
				}
			case *ast.ValueSpec:
				if s.Type != nil && s.Names[0].IsExported() {
					show(s.Type)
				}
			}
		}
	}
}

// exportedBy lists the exported names of a declaration, a method's with a leading point. The
// constants of an exported type aren't among them.
func exportedBy(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Recv == nil {
			names = append(names, d.Name.Name)
		} else if d.Name.IsExported() && ast.IsExported(receiver(d)) {
			names = append(names, "."+d.Name.Name)
		}
	case *ast.GenDecl:
		typed := false
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				if s.Type != nil || len(s.Values) > 0 {
					id, ok := s.Type.(*ast.Ident)
					typed = d.Tok == token.CONST && ok && id.IsExported()
				}
				for _, n := range s.Names {
					if n.IsExported() && !typed {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if x, ok := t.(*ast.IndexExpr); ok {
		t = x.X
	}
	id, ok := t.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name
}

func add(to map[string]map[string]bool, name, by string) {
	if to[name] == nil {
		to[name] = map[string]bool{}
	}
	to[name][by] = true
}
