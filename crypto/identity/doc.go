// Package identity implements the long-term Ed25519 identities of members: keys, signatures, batch
// verification, encrypted key files, and the cards by which a member introduces itself to the
// author of a plan.
//
// Signing is that of RFC 8032 and interoperates with crypto/ed25519. Verification
// has one definition, the same for a single signature and for a batch, so that
// two honest nodes never disagree on a crafted signature (decision 0004):
//
//   - the encodings of the key A, of R and of S are canonical (stricter than
//     most implementations of RFC 8032, and than ZIP 215);
//   - A is not of small order;
//   - [8](S·B - R - k·A) = 0 with k = SHA-512(R ‖ A ‖ message) mod ℓ, the
//     cofactored equation of RFC 8032, section 5.1.7.
//
// Only the cofactored equation has this property: with random coefficients a batch cannot decide
// the cofactorless equation for points with components of small order. crypto/ed25519 uses the
// cofactorless equation, so that it may reject crafted signatures that this package accepts; only
// the owner of the private key can create one.
//
// Sign adds no context. Callers must prefix messages with a domain, so that messages of
// different kinds cannot be confused. Cards do ("choir identity card v1").
//
// Private keys print and log as a placeholder, and cannot be marshalled. Signing is constant time
// (crypto/ed25519). Verification is not; its inputs are public.
package identity
