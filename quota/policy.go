package quota

import "time"

// None stands for a number that is not known.
const None = -1

// Quota units of the draft, Section 2.1.2. An account in any other unit is
// kept but never refuses anything.
const (
	UnitRequests           = "requests"            // what a server has processed; the default
	UnitContentBytes       = "content-bytes"       // bytes of content that a server has processed
	UnitConcurrentRequests = "concurrent-requests" // what a server is processing at a time
)

// A Policy is a quota policy as a server advertises it: so many quota units
// within a time window (the draft, Section 2.1).
type Policy struct {
	Name   string        `json:"name"`             // "" for the unnamed policy of an older dialect
	Quota  int64         `json:"quota"`            // units allocated; negative: not known
	Unit   string        `json:"unit,omitempty"`   // one of the Unit constants or a server's own; "" means UnitRequests
	Window time.Duration `json:"window,omitempty"` // the window of the quota; 0 or less: not known
	Keyed  bool          `json:"keyed,omitempty"`  // the server names a partition key with it
}

// unit is a quota unit in a byte.
type unit uint8

const (
	countsRequests unit = iota
	countsBytes
	countsConcurrent
	countsUnknown
)

func unitOf(name string) unit {
	switch name {
	case "", UnitRequests:
		return countsRequests
	case UnitContentBytes:
		return countsBytes
	case UnitConcurrentRequests:
		return countsConcurrent
	}
	return countsUnknown
}

// windowed reports whether the account holds requests back until a window is over.
func (a *account) windowed() bool {
	return a.unit == countsRequests || a.unit == countsBytes
}
