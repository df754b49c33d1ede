// Package identity holds the long-lived Ed25519 identities of Choir's members:
// keys, signatures, batch verification, encrypted key files, and the cards by
// which a member introduces itself to whoever writes the plan.
//
// Signing is plain RFC 8032 and interoperates with crypto/ed25519. Verifying
// follows one definition, the same for one signature and for a batch, so that
// two honest nodes never disagree on a crafted signature:
//
//   - the encodings of the key A, of R and of S are canonical (stricter than
//     RFC 8032 implementations commonly are, and than ZIP 215);
//   - A is not of small order;
//   - [8](S·B - R - k·A) = 0 with k = SHA-512(R ‖ A ‖ message) mod ℓ, the
//     cofactored equation of RFC 8032, section 5.1.7.
//
// The cofactored equation is what makes the two agree: a batch that multiplies
// by random coefficients cannot decide the cofactorless one when points carry
// components of small order. crypto/ed25519 is cofactorless, so it may reject
// crafted signatures that this package accepts; nobody but the holder of the
// key can make one.
//
// Messages of different kinds must not be confused: Sign adds no context, so
// whoever signs puts a domain in front. Cards do ("choir identity card v1").
//
// Private keys redact themselves when printed or logged and refuse to be
// marshalled. Signing is constant time (crypto/ed25519); verification is not,
// its inputs are public.
package identity
