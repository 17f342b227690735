package partition

import "context"

// identity holds both ids, so that one look into a context finds both.
type identity struct{ user, client string }

// identityKey is the context key of the identity.
type identityKey struct{}

// WithUserID returns a context whose requests are made on behalf of the user that
// the server knows as id: the value of the dimension user_id. It keeps the client
// id of ctx. An empty id takes away the one of ctx.
func WithUserID(ctx context.Context, id string) context.Context {
	who := identityOf(ctx)
	who.user = id
	return context.WithValue(ctx, identityKey{}, who)
}

// WithClientID returns a context whose requests are made by the client application
// that the server knows as id: the value of the dimension client_id. It keeps the
// user id of ctx. An empty id takes away the one of ctx.
func WithClientID(ctx context.Context, id string) context.Context {
	who := identityOf(ctx)
	who.client = id
	return context.WithValue(ctx, identityKey{}, who)
}

// UserID returns the user id of a context, or "" where it has none.
func UserID(ctx context.Context) string { return identityOf(ctx).user }

// ClientID returns the client id of a context, or "" where it has none.
func ClientID(ctx context.Context) string { return identityOf(ctx).client }

func identityOf(ctx context.Context) identity {
	who, _ := ctx.Value(identityKey{}).(identity)
	return who
}
