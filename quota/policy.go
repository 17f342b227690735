package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// None stands for a number that is not known.
const None = -1

// Quota units beside "requests", which is the default (the draft, Section 2.1.2). Any other
// unit, such as tokens, holds as requests do: work departs when as much is there as it claims.
const (
	UnitContentBytes       = "content-bytes"       // bytes of content that a server has processed
	UnitConcurrentRequests = "concurrent-requests" // what a server is processing at a time
)

// A Policy is a quota policy as a server advertises it: so many quota units
// within a time window (the draft, Section 2.1).
type Policy struct {
	Name   string        `json:"name"`             // "" for the unnamed policy of an older dialect
	Quota  int64         `json:"quota"`            // units allocated; negative: not known
	Unit   string        `json:"unit,omitempty"`   // "requests", one of the Unit constants or a server's own; "" means "requests"
	Window time.Duration `json:"window,omitempty"` // the window of the quota; 0 or less: not known
	Keyed  bool          `json:"keyed,omitempty"`  // the server names a partition key with it

	// Key has the bytes of the partition key, where Keyed, in a Report. Elsewhere it is
	// "": see AccountSnapshot.
	Key string `json:"key,omitempty"`
}

func unitOf(name string) window.Unit {
	switch name {
	case "", "requests":
		return window.Requests
	case UnitContentBytes:
		return window.Bytes
	case UnitConcurrentRequests:
		return window.Concurrent
	}
	return window.Other
}
