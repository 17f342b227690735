package transport_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// The strategy is that of the Accounts.
func TestStrategy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		shaper *transport.Shaper
		guard  time.Duration
	}{
		{"by default", &transport.Shaper{}, 50 * time.Millisecond / 16},
		{"of the Accounts", &transport.Shaper{Accounts: &quota.Accounts{Strategy: quota.Plain}}, 25 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := newServer(slow(100*time.Millisecond, limit(`"api";a=0;w=10`)))
				tt.shaper.Base = srv
				pass(t, tt.shaper, getItems(t.Context()))
				pass(t, tt.shaper, getItems(t.Context()))
				assert.Equal(t, []time.Duration{0, 10*time.Second + tt.guard}, srv.departures())
			})
		})
	}
}
