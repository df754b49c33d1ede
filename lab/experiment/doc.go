// Package experiment runs the demonstration, rehearsals, advice and the experiment with noisy
// factors, and the references that they are judged by. The papers' tables and figures are in
// lab/internal. It assembles sessions and knows nothing of how they work inside.
package experiment
