package member

import (
	"errors"

	"choir/crypto/identity"
	"choir/protocol"
	"choir/session/terms"
)

// errStoreNeeded is for a member of a predecessor that signs without its store.
var errStoreNeeded = errors.New("this member was in the plan that this one goes on from: give its store " +
	"with --store, so that it signs no other successor; if the store is lost, --lost-store")

// CheckSuccessor is to be called before a member signs a plan. For a successor plan it compares the
// plan with the member's store and enters there that the member goes on with this plan. An empty path
// is for a member that was in no predecessor; lost is for a compute node or an aggregator whose store
// is lost.
func CheckSuccessor(planFile string, own identity.PublicKey, store string, lost, replace bool) error {
	sp, err := terms.ReadPlan(planFile)
	if err != nil || sp.Plan.After == nil {
		return err
	}
	i, ok := sp.Plan.Index(own)
	if !ok {
		return nil // signing reports it
	}
	h := &heir{plan: sp.Plan, key: own, role: sp.Plan.Members[i].Role}
	switch {
	case store == "" && h.link() != nil && lost:
		return protocol.Fail(protocol.ClassInput,
			"--lost-store: a party can't go on without its store, which has its "+
				"factor and its ledger")
	case store == "" && h.known() && !lost:
		return protocol.Fail(protocol.ClassInput, "%w", errStoreNeeded)
	case store == "":
		return nil
	}
	f, err := openExisting(store)
	if err != nil {
		return err
	}
	h.file = f
	return errors.Join(h.sign(replace), f.Close())
}

// known reports whether the member was in a predecessor.
func (h *heir) known() bool {
	for a := h.plan.After; a != nil; a = a.Plan.After {
		if _, ok := a.Plan.Index(h.key); ok {
			return true
		}
	}
	return false
}

// sign checks the plan and makes the marks.
func (h *heir) sign(replace bool) error {
	records, err := h.marks(replace)
	if err != nil {
		return err
	}
	if err := h.check(); err != nil {
		return err
	}
	return h.file.Apply(records)
}
