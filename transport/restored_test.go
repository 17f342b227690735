package transport_test

import (
	"bytes"
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// With saved accounts, the next run of a program knows what the last one knew: the
// identity of a credential is recognised, and no other is held.
func TestAccountsBetweenRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := func(token string) *http.Request {
			req := newRequest(context.Background(), "GET", items)
			req.Header.Set("Authorization", "Bearer "+token)
			return req
		}
		var file bytes.Buffer
		run := func() *transport.Shaper {
			s := &transport.Shaper{
				Base:     newServer(limit(`"api";a=0;w=90`)),
				Accounts: new(quota.Accounts),
				MaxDelay: transport.NoDelay,
			}
			if file.Len() > 0 {
				require.NoError(t, s.Accounts.Restore(&file, time.Now()))
			}
			return s
		}
		end := func(s *transport.Shaper) {
			file.Reset()
			require.NoError(t, s.Accounts.Save(&file, time.Now(), false))
			require.NotContains(t, file.String(), "secret-token")
		}

		s := run()
		pass(t, s, as("secret-token"))
		end(s)
		time.Sleep(time.Minute)
		s = run()
		refusal(t, s, as("secret-token"))
		pass(t, s, as("another"))
		end(s)
		time.Sleep(time.Minute)
		s = run()
		pass(t, s, as("secret-token"))
		refusal(t, s, as("another"))
	})
}

// The declarations of a server are saved, too, so that the next run can compute the key
// of its first request.
func TestDeclarationsBetweenRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		as := func(user string) *http.Request { return getItems(partition.WithUserID(t.Context(), user)) }
		var file bytes.Buffer
		s := &transport.Shaper{
			Base: newServer(says(200, "RateLimit", `"api";a=0;w=90;pk=:YWxpY2U=:`,
				"RateLimit-Partition", `"api";user_id, "odd";x=1.5, "odd";y`)),
			Accounts: new(quota.Accounts),
		}
		pass(t, s, as("alice"))
		require.NoError(t, s.Accounts.Save(&file, time.Now(), false))
		require.NotContains(t, file.String(), "alice")

		s = &transport.Shaper{Base: newServer(says(200)), Accounts: new(quota.Accounts), MaxDelay: transport.NoDelay}
		require.NoError(t, s.Accounts.Restore(&file, time.Now()))
		refusal(t, s, as("alice"))
		pass(t, s, as("bob"))
	})
}
