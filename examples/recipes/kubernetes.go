package recipes

import (
	"net/http"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Kubernetes is for client-go, which this module does not depend on because it is large:
//
//	config.QPS = -1 // switch client-go's own limiter off: 5 requests a second by default
//	config.Wrap(recipes.Kubernetes)
//	clientset, err := kubernetes.NewForConfig(config)
//
// The API server answers 429 and Retry-After when it has too many requests at a time (API
// Priority and Fairness). Its limit is on requests at a time, and it does not say how many,
// so the Shaper keeps them to a number of its own. client-go retries the refused ones.
func Kubernetes(base http.RoundTripper) http.RoundTripper {
	return &transport.Shaper{
		Base:   base,
		Limits: quota.Always[*http.Request](quota.Concurrency(25, quota.Options{Name: "at a time"})),
	}
}
