package transporttest

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestPolicyMisuse(t *testing.T) {
	for _, tt := range []struct {
		policy Policy
		want   string
	}{
		{Policy{Name: "zoë"}, `transporttest: policy name "zoë" is not an RFC 9651 String`},
		{Policy{Name: "a\n"}, `transporttest: policy name "a\n" is not an RFC 9651 String`},
		{Policy{PartitionBy: []string{"planet"}}, `transporttest: unknown partition dimension "planet"`},
		{Policy{PartitionBy: []string{""}}, `transporttest: unknown partition dimension ""`},
		{Policy{Name: "p", PartitionBy: []string{"method", "method=GET"}}, `transporttest: policy "p" lists the dimension "method" twice`},
		{Policy{PartitionBy: []string{"user_id=a\x1fb"}}, `transporttest: the literal of "user_id=a\x1fb" cannot be part of a key`},
		{Policy{PartitionBy: []string{"user_id=\xff"}}, `transporttest: the literal of "user_id=\xff" cannot be part of a key`},
		{Policy{Window: 1, Algorithm: -1}, "transporttest: unknown Algorithm"},
	} {
		api := &API{Policies: []Policy{{Name: "good", Quota: 1}, tt.policy}}
		for range 2 { // the second call panics, too, and does not deadlock
			assert.PanicsWithValue(t, tt.want, func() { api.Decide(epoch, &http.Request{}) })
		}
		assert.Zero(t, api.Counts())
	}
}

func TestPolicyNames(t *testing.T) {
	api := &API{Policies: []Policy{
		{Name: "", Quota: 1},
		{Name: `quo"ted\`, Quota: 2, Window: time.Minute},
		{Name: "same", Quota: 3},
		{Name: "same", Quota: 4},
	}}
	d := api.Decide(epoch, &http.Request{})
	assert.Equal(t, `"";a=0, "quo\"ted\\";a=1;w=60, "same";a=2, "same";a=3`, d.Header.Get("RateLimit"))
}
