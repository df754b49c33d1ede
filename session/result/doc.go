// Package result has what a session leaves: the model files, predictions from
// them, and the offline verification of transcript and model files.
package result
