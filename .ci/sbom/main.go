// Command sbom writes the bill of materials of a Go binary: a CycloneDX document in JSON with
// the module, the Go release and every module that the linker recorded in the binary.
//
//	sbom BINARY > BINARY.cdx.json
//
// The document names no time and no random serial number, so that equal binaries have equal
// documents.
package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(w io.Writer, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	program := component(cdx.ComponentTypeApplication, info.Main.Path, info.Main.Version)
	program.Name = filepath.Base(binary)
	libraries := []cdx.Component{component(cdx.ComponentTypeLibrary, "std", info.GoVersion)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		libraries = append(libraries, component(cdx.ComponentTypeLibrary, m.Path, m.Version))
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &program}
	bom.Components = &libraries
	encoder := cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON)
	return encoder.SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_5)
}

// component is a module by its package URL.
func component(kind cdx.ComponentType, path, version string) cdx.Component {
	url := "pkg:golang/" + path
	if version != "" && version != "(devel)" {
		url += "@" + version
	}
	return cdx.Component{Type: kind, BOMRef: url, Name: path, Version: version, PackageURL: url}
}
