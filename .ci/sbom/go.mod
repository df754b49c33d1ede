module choir/ci/sbom

go 1.26

require github.com/CycloneDX/cyclonedx-go v0.9.3
