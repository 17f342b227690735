package quota_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headway-go/headway/quota"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// why prints what a refusal says.
func why(err error) {
	var r *quota.Refusal
	if errors.As(err, &r) {
		fmt.Println(r.Reason, r.RetryAfter.Round(time.Second))
	}
}

func ExampleFixedWindow() {
	limiter := quota.FixedWindow(2, time.Minute, quota.Options{MaxQueue: 10})
	for range 3 {
		lease, err := limiter.TryAcquire(1)
		if err != nil {
			why(err)
			return
		}
		fmt.Println("go")
		lease.Release()
	}
	// Output:
	// go
	// go
	// own limit 1m0s
}

func ExampleSlidingWindow() {
	limiter := quota.SlidingWindow(10, time.Minute, 6, quota.Options{MaxQueue: -1})
	_, _ = limiter.TryAcquire(7)
	fmt.Println(limiter.Stats().Available)
	// Output: 3
}

func ExampleTokenBucket() {
	began := time.Now()
	limiter := quota.TokenBucket(5, 5, 100*time.Millisecond, quota.Options{MaxQueue: 25})
	for range 15 {
		if _, err := limiter.Acquire(context.Background(), 1); err != nil {
			panic(err)
		}
	}
	fmt.Println(time.Since(began) >= 200*time.Millisecond) // two periods
	// Output: true
}

// A queue that serves the newest request first, for work that loses value while it
// waits.
func ExampleOptions() {
	limiter := quota.Concurrency(1, quota.Options{NewestFirst: true, MaxQueue: 1})
	lease := must(limiter.TryAcquire(1))
	older, newer := make(chan error), make(chan error)
	wait := func(done chan error) {
		_, err := limiter.Acquire(context.Background(), 1)
		done <- err
	}
	go wait(older)
	for limiter.Stats().Queued == 0 {
		time.Sleep(time.Millisecond)
	}
	go wait(newer)
	why(<-older) // pushed out
	lease.Release()
	fmt.Println(<-newer)
	// Output:
	// queue full 0s
	// <nil>
}

// The limiter refuses while the processor is more than 90 % busy. Waiting requests
// ask again every second.
func ExampleCustom() {
	usage := func() float64 { return 97.5 } // of the processor, in percent
	limiter := quota.Custom(quota.CustomFuncs{Take: func(context.Context, int64) quota.Answer {
		if load := usage(); load > 90 {
			return quota.Answer{RetryAfter: time.Second, Err: fmt.Errorf("processor busy: %v %%", load)}
		}
		return quota.Answer{OK: true}
	}}, quota.Options{})
	_, err := limiter.TryAcquire(1)
	fmt.Println(err)
	var r *quota.Refusal
	if errors.As(err, &r) {
		fmt.Println(r.Err, r.RetryAfter)
	}
	fmt.Println(limiter.Stats().Available == quota.None, time.Second)
	// Output:
	// quota: not admitted: own limit, retry after 1s: processor busy: 97.5 %
	// processor busy: 97.5 % 1s
	// true 1s
}

func ExampleChain() {
	perHour := quota.FixedWindow(100, time.Hour)
	atOnce := quota.Concurrency(1)
	limiter := quota.Chain(perHour, atOnce)

	lease := must(limiter.TryAcquire(1))
	_, err := limiter.TryAcquire(1)
	fmt.Println(err)
	fmt.Println(perHour.Stats().Available, "left this hour: the refused one cost nothing")
	lease.Release()
	// Output:
	// quota: not admitted: own limit
	// 99 left this hour: the refused one cost nothing
}

func ExampleBy() {
	type job struct{ queue, name string }
	limiter := quota.By(
		func(j job) string { return j.queue },
		func(string) quota.Limiter { return quota.Concurrency(1, quota.Options{Name: "per queue"}) })

	_, err := limiter(job{"mail", "welcome"}).TryAcquire(1)
	fmt.Println(err)
	_, err = limiter(job{"mail", "reminder"}).TryAcquire(1)
	fmt.Println(err)
	_, err = limiter(job{"print", "invoice"}).TryAcquire(1)
	fmt.Println(err)
	// Output:
	// <nil>
	// quota: not admitted: own limit "per queue"
	// <nil>
}

// 500 bytes per second.
func ExampleNewChannel() {
	lines := must(quota.NewChannel(quota.TokenBucket(500, 500, time.Second), 0,
		func(s string) int64 { return int64(len(s)) }))
	ctx := context.Background()
	fmt.Println(lines.Send(ctx, "as fast as it may"))
	why(lines.TrySend(string(make([]byte, 490))))
	lines.Close()
	fmt.Println(lines.Receive(ctx))
	fmt.Println(lines.Receive(ctx))
	// Output:
	// <nil>
	// own limit 1s
	// as fast as it may <nil>
	//  quota: limiter closed
}

// A client of another protocol settles the lease with what the server's response
// said.
func ExampleOrigin_Limiter() {
	var accounts quota.Accounts
	limiter := accounts.Origin("dns:///api.example").Limiter(quota.Ask{
		Claims: []quota.Claim{{Policy: "calls", Units: 1}},
	})

	call := func() (left int64, window time.Duration) { return 0, 30 * time.Second } // an RPC's answer
	lease, err := limiter.Acquire(context.Background(), 1)
	if err != nil {
		panic(err)
	}
	left, window := call()
	lease.Settle(&quota.Report{Figures: []quota.Figure{
		{Policy: "calls", Available: left, Window: window},
	}})
	lease.Release()

	_, err = limiter.TryAcquire(1)
	why(err)

	// It can be chained with limits of the client's own.
	atOnce := quota.Concurrency(4)
	both := quota.Chain(atOnce, limiter)
	_, err = both.TryAcquire(1)
	why(err)
	fmt.Println(atOnce.Stats().Available)
	// Output:
	// quota exhausted 30s
	// quota exhausted 30s
	// 4
}

// Cancel a lease whose work was never begun: it costs nothing.
func ExampleLease_Cancel() {
	limiter := quota.FixedWindow(10, time.Hour)
	lease := must(limiter.TryAcquire(4))
	fmt.Println(limiter.Stats().Available)
	lease.Cancel() // Release would leave the 4 to the next window
	fmt.Println(limiter.Stats().Available)
	// Output:
	// 6
	// 10
}

// Acquire fails at once if the deadline is too early for the wait.
func ExampleLimiter() {
	var limiter quota.Limiter = quota.FixedWindow(1, time.Hour)
	_, _ = limiter.TryAcquire(1)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := limiter.Acquire(ctx, 1)
	var r *quota.Refusal
	if errors.As(err, &r) {
		fmt.Println(r.Reason, r.RetryAfter.Round(time.Minute), errors.Is(err, context.DeadlineExceeded))
	}
	fmt.Println("in line:", limiter.Stats().Queued)
	// Output:
	// deadline 1h0m0s true
	// in line: 0
}

// Close refuses all waiting and later requests. Leases stay valid.
func ExampleLimiter_close() {
	limiter := quota.Concurrency(1)
	lease := must(limiter.TryAcquire(1))
	limiter.Close()
	_, err := limiter.Acquire(context.Background(), 1)
	fmt.Println(errors.Is(err, quota.ErrClosed))
	lease.Release()
	// Output: true
}

// Stats are a snapshot, for example for a status page.
func ExampleStats() {
	limiter := quota.Concurrency(1)
	lease := must(limiter.TryAcquire(1))
	_, _ = limiter.TryAcquire(1)
	s := limiter.Stats()
	fmt.Println(s.Available, "free,", s.Queued, "in line,", s.Granted, "granted,", s.Refused, "refused")
	fmt.Println("idle:", !s.IdleSince.IsZero())
	lease.Release()
	fmt.Println("idle:", !limiter.Stats().IdleSince.IsZero())
	// Output:
	// 0 free, 0 in line, 1 granted, 1 refused
	// idle: false
	// idle: true
}

// A Channel without a Limiter is bounded by its buffer alone.
func ExampleChannel() {
	jobs := must(quota.NewChannel[string](nil, 2, nil))
	for _, job := range []string{"a", "b", "c"} {
		fmt.Println(job, jobs.TrySend(job) == nil)
	}
	for {
		job, ok := jobs.TryReceive()
		if !ok {
			break
		}
		fmt.Println(job)
	}
	// Output:
	// a true
	// b true
	// c false
	// a
	// b
}

// A buffer of 0 is that of 64 items.
func ExampleChannel_default() {
	jobs := must(quota.NewChannel[int](nil, 0, nil))
	n := 0
	for jobs.TrySend(0) == nil {
		n++
	}
	fmt.Println(n)
	// Output: 64
}
