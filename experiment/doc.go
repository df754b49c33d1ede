// Package experiment runs whole studies: the demonstration, and later the
// papers' tables and figures, each beside the references that it is to be
// judged by. It assembles sessions; it knows nothing of how they work inside.
package experiment
