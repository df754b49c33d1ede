// Package uci has the three public data sets of the UCI Machine Learning Repository that
// the papers' experiments use: Adult, Wine Quality and Abalone.
//
// The original files are in the folder files, compressed, and are part of the program
// that imports this package; files/README.md has their sources, licence and checksums. A
// caller may name another folder that has them, such as $CHOIR_DATA. No member of a
// session links this package.
package uci
