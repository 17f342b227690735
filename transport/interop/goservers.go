package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	tollbooth "github.com/didip/tollbooth/v7"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/httprate"
	"github.com/gofiber/fiber/v3"
	fiberlimiter "github.com/gofiber/fiber/v3/middleware/limiter"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/memstore"
	"github.com/ulule/limiter/v3"
	ululegin "github.com/ulule/limiter/v3/drivers/middleware/gin"
	ululehttp "github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ululestore "github.com/ulule/limiter/v3/drivers/store/memory"
	"golang.org/x/time/rate"
)

// api answers the requests that a limiter lets through.
var api = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"ok":true}`))
})

// goServers returns the limiters of Go. Those with a handler work in process, too, in
// simulated time.
func goServers() []*server {
	return []*server{
		handled("httprate, defaults", "github.com/go-chi/httprate", func() http.Handler {
			return httprate.LimitBy(limit, window, httprate.Key("all"))(api)
		}),
		handled("httprate, draft names", "github.com/go-chi/httprate", func() http.Handler {
			return httprate.LimitBy(limit, window, httprate.Key("all"), httprate.WithResponseHeaders(httprate.ResponseHeaders{
				Limit: "RateLimit-Limit", Remaining: "RateLimit-Remaining", Reset: "RateLimit-Reset", RetryAfter: "Retry-After",
			}))(api)
		}),
		handled("ulule/limiter", "github.com/ulule/limiter/v3", func() http.Handler {
			return ululehttp.NewMiddleware(ulule()).Handler(api)
		}),
		handled("ulule/limiter in gin", "github.com/gin-gonic/gin", func() http.Handler {
			gin.SetMode(gin.ReleaseMode)
			g := gin.New()
			g.Use(ululegin.NewMiddleware(ulule()))
			g.GET("/*path", gin.WrapH(api))
			return g
		}),
		handled("tollbooth", "github.com/didip/tollbooth/v7", func() http.Handler {
			return tollbooth.LimitHandler(tollbooth.NewLimiter(perSecond, nil), api)
		}),
		handled("throttled (GCRA)", "github.com/throttled/throttled/v2", func() http.Handler {
			store, err := throttledstore.NewCtx(1000)
			check(err)
			l, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerSec(perSecond), MaxBurst: limit - 1})
			check(err)
			return (&throttled.HTTPRateLimiterCtx{RateLimiter: l, VaryBy: &throttled.VaryBy{Path: true}}).RateLimit(api)
		}),
		sethvargo(),
		handled("echo", "github.com/labstack/echo/v4", func() http.Handler {
			e := echo.New()
			e.Use(echomiddleware.RateLimiter(echomiddleware.NewRateLimiterMemoryStore(rate.Limit(perSecond))))
			e.GET("/*", echo.WrapHandler(api))
			return e
		}),
		fiberServer("fiber, fixed window", fiberlimiter.FixedWindow{}),
		fiberServer("fiber, sliding window", fiberlimiter.SlidingWindow{}),
	}
}

// handled is a server whose limiter is an http.Handler.
func handled(name, module string, handler func() http.Handler) *server {
	return &server{
		name: name, from: "Go", pkg: module,
		handler: handler,
		start: func(context.Context) (string, func(), error) {
			s := httptest.NewServer(handler())
			return s.URL, s.Close, nil
		},
	}
}

func ulule() *limiter.Limiter {
	// Without the store's cleaner, which would outlive the limiter.
	store := ululestore.NewStoreWithOptions(limiter.StoreOptions{Prefix: "interop"})
	return limiter.New(store, limiter.Rate{Period: window, Limit: limit})
}

// sethvargo needs a connection, too: it has a clock of its own, which is not simulated.
func sethvargo() *server {
	return &server{
		name: "sethvargo/go-limiter", from: "Go", pkg: "github.com/sethvargo/go-limiter",
		start: func(ctx context.Context) (string, func(), error) {
			store, err := memorystore.New(&memorystore.Config{Tokens: limit, Interval: window})
			if err != nil {
				return "", nil, err
			}
			m, err := httplimit.NewMiddleware(store, func(*http.Request) (string, error) { return "all", nil })
			if err != nil {
				return "", nil, err
			}
			s := httptest.NewServer(m.Handle(api))
			return s.URL, func() { s.Close(); _ = store.Close(ctx) }, nil
		},
	}
}

// fiberServer needs a connection: fiber has a server of its own, and its clock is a
// goroutine that runs as long as the program.
func fiberServer(name string, algorithm fiberlimiter.Handler) *server {
	return &server{
		name: name, from: "Go", pkg: "github.com/gofiber/fiber/v3",
		start: func(context.Context) (string, func(), error) {
			app := fiber.New()
			app.Use(fiberlimiter.New(fiberlimiter.Config{Max: limit, Expiration: window, LimiterMiddleware: algorithm}))
			app.Get("/*", func(c fiber.Ctx) error { return c.JSON(map[string]bool{"ok": true}) })
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return "", nil, err
			}
			go func() { check(app.Listener(l, fiber.ListenConfig{DisableStartupMessage: true})) }()
			return "http://" + l.Addr().String(), func() { _ = app.ShutdownWithTimeout(time.Second) }, nil
		},
	}
}
