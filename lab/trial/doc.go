// Package trial lays out a consortium in a folder: keys, cards, a signed plan, a folder for
// each member's site with its own secrets, and scripts that run the session.
//
// One process makes all keys, so the folder is for trials: in a deployment every member
// makes its key at its site.
package trial
