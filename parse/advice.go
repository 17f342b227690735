package parse

import "net/http"

// onRefusal reports whether Retry-After is advice about quota on a response with a
// status, whatever stands beside it. Binance blocks an IP address with 418 after several refusals.
func onRefusal(status int) bool {
	switch status {
	case http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, enhanceYourCalm, http.StatusTeapot:
		return true
	}
	return status/100 == 3 || status/100 == 5
}

// enhanceYourCalm is the status that Twitter's first API used before there was a 429. Podio and
// Statuspage use it still.
const enhanceYourCalm = 420
