// Package config reads configuration files in TOML, strictly.
package config
