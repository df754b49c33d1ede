// Package atomicfile writes result files so that a reader sees the old file or
// the new one, never a part of either, also after a crash. It encodes the JSON
// documents and CSV tables of results.
package atomicfile
