package quota

// Peers share accounts between processes. Package fleet has the implementation: set
// Accounts.Peers to a fleet.Fleet. What the processes tell each other is in package
// exchange.
type Peers interface {
	// Due says that s has a Turn to take now, or sooner than it said. It is called with
	// locks held and by several goroutines at once: it must return at once, and not call
	// s.
	Due(s *Shared)
}
