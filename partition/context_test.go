package partition_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/partition"
)

func TestIDs(t *testing.T) {
	background := context.Background()
	alice := partition.WithUserID(background, "alice")
	both := partition.WithClientID(alice, "app")
	tests := []struct {
		name         string
		ctx          context.Context
		user, client string
	}{
		{"none", background, "", ""},
		{"user", alice, "alice", ""},
		{"client", partition.WithClientID(background, "app"), "", "app"},
		{"client keeps user", both, "alice", "app"},
		{"user keeps client", partition.WithUserID(partition.WithClientID(background, "app"), "alice"), "alice", "app"},
		{"the inner one wins", partition.WithUserID(both, "bob"), "bob", "app"},
		{"an empty id takes away", partition.WithUserID(both, ""), "", "app"},
		{"an empty client id takes away", partition.WithClientID(both, ""), "alice", ""},
		{"the outer one is not changed", alice, "alice", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.user, partition.UserID(tt.ctx))
			assert.Equal(t, tt.client, partition.ClientID(tt.ctx))
		})
	}
}
