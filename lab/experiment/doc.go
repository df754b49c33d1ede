// Package experiment runs the demonstration and the references that it is to be
// judged by, and the experiment with noisy factors; the rooms below it have the papers'
// tables and figures. It assembles sessions; it knows nothing of how they work inside.
package experiment
