package partition

import "context"

// identity holds both ids, so that one lookup in a context finds both.
type identity struct{ user, client string }

// identityKey is the context key of the identity.
type identityKey struct{}

// WithUserID returns a context for requests on behalf of a user. id is the user's id at
// the server, and the value of the dimension user_id. The client id of ctx is kept. An
// empty id removes the user id of ctx.
func WithUserID(ctx context.Context, id string) context.Context {
	ids := identityOf(ctx)
	ids.user = id
	return context.WithValue(ctx, identityKey{}, ids)
}

// WithClientID returns a context for requests of a client application. id is the
// application's id at the server, and the value of the dimension client_id. The user id
// of ctx is kept. An empty id removes the client id of ctx.
func WithClientID(ctx context.Context, id string) context.Context {
	ids := identityOf(ctx)
	ids.client = id
	return context.WithValue(ctx, identityKey{}, ids)
}

// UserID returns the user id of a context, or "" if it has none.
func UserID(ctx context.Context) string { return identityOf(ctx).user }

// ClientID returns the client id of a context, or "" if it has none.
func ClientID(ctx context.Context) string { return identityOf(ctx).client }

func identityOf(ctx context.Context) identity {
	ids, _ := ctx.Value(identityKey{}).(identity)
	return ids
}
