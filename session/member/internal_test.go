package member

import "choir/host"

// OpenStore opens the member's store, for the external tests.
func (m *Member) OpenStore() (host.Store, error) { return m.openStore() }
