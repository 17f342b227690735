package fleet

import (
	"context"

	"github.com/headway-go/headway/quota/exchange"
)

// A Store has what the processes of a fleet share. It carries out turns one after
// another, by the rules of Hub, and is safe for concurrent use.
type Store interface {
	// Exchange carries out a turn about an origin. It should return an error soon after
	// the context ends; the turn may have been carried out nevertheless.
	Exchange(ctx context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error)

	// Subscribe calls hear with all words about an origin, one after another, until the
	// context ends. It returns when no more will come, and why. Words may be lost:
	// nothing relies on them but how soon something is noticed.
	Subscribe(ctx context.Context, origin exchange.ID, hear func(*exchange.Word)) error
}
