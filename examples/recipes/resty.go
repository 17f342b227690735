package recipes

import (
	"errors"
	"net/http"

	"github.com/go-resty/resty/v2"

	"github.com/headway-go/headway/transport"
)

// Resty returns a client of resty that retries what the server refuses all the same. resty
// also retries after errors, so it is told which of them are refusals of the Shaper: these say
// that it is too early (see transport.RejectedError).
func Resty(base http.RoundTripper) *resty.Client {
	return resty.New().
		SetTransport(&transport.Shaper{Base: base}).
		SetRetryCount(3).
		AddRetryCondition(func(r *resty.Response, err error) bool {
			if err != nil {
				return !errors.Is(err, transport.ErrRejected)
			}
			return r.StatusCode() == http.StatusTooManyRequests
		})
}
