package recipes

import (
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Kubernetes changes the configuration of a client of client-go, from which
// kubernetes.NewForConfig and the like make one. It switches client-go's own limiter off,
// which allows 5 requests a second by default.
//
// The API server answers 429 and Retry-After when it has too many requests at a time (API
// Priority and Fairness). Its limit is on requests at a time, and it does not say how many,
// so the Shaper keeps them to a number of its own. client-go retries the refused ones.
func Kubernetes(config *rest.Config) {
	config.QPS = -1
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return &transport.Shaper{
			Base:   base,
			Limits: quota.Always[*http.Request](quota.Concurrency(25, quota.Options{Name: "at a time"})),
		}
	})
}
