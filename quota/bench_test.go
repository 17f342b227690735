package quota

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An account is small: it is what an idle partition costs, beside its place in
// the roster and that in a map, and its key, where that is longer than a UUID's
// text. It fits five cache lines.
func TestSizeOfAccount(t *testing.T) {
	on64Bits(t)
	assert.Equal(t, uintptr(320), unsafe.Sizeof(account{}))
	assert.LessOrEqual(t, unsafe.Sizeof(scope{})-unsafe.Sizeof(account{}), uintptr(24), "what a scope has beside it")
	assert.LessOrEqual(t, unsafe.Sizeof(Lease{}), uintptr(96), "that of a limiter is made for each permit")
}

// on64Bits is for tests of where things are in memory.
func on64Bits(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("sizes are others on this machine")
	}
}

// admitAndSettle is one exchange with so many accounts.
func admitAndSettle(n int) func() {
	var accounts Accounts
	o := accounts.Origin("https://api.example")
	ask, report := &Ask{}, &Report{}
	for i := range n {
		name := fmt.Sprint("policy-", i)
		ask.Claims = append(ask.Claims, Claim{Policy: name, Units: 1})
		report.Figures = append(report.Figures, Figure{Policy: name, Available: 1 << 40, Window: time.Minute})
		report.Terms = append(report.Terms, Policy{Name: name, Quota: 1 << 41, Window: time.Minute})
	}
	ctx := context.Background()
	var l Lease
	return func() {
		now := time.Now()
		if err := o.Admit(ctx, now, ask, &l); err != nil {
			panic(err)
		}
		o.Settle(now, &l, report)
	}
}

// An exchange allocates nothing, however many accounts it concerns.
func TestExchangeAllocatesNothing(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		exchange := admitAndSettle(n)
		exchange()
		assert.Zero(t, testing.AllocsPerRun(100, exchange), "%d accounts", n)
	}
}

func BenchmarkAdmitSettle(b *testing.B) {
	for _, n := range []int{0, 1, 3} {
		b.Run(fmt.Sprintf("accounts=%d", n), func(b *testing.B) {
			exchange := admitAndSettle(n)
			b.ReportAllocs()
			for b.Loop() {
				exchange()
			}
		})
	}
}

// BenchmarkGoroutines is the time per exchange, of all goroutines together,
// where one works alone, where many share an origin and its lock, all with one
// account or each with their own, and where each has an origin of their own.
func BenchmarkGoroutines(b *testing.B) {
	for _, bm := range []struct {
		name                          string
		goroutines, origins, accounts int
	}{
		{"1", 1, 1, 1},
		{"64 of one account", 64, 1, 1},
		{"64 of one origin", 64, 1, 64},
		{"64 of 64 origins", 64, 64, 1},
	} {
		b.Run(bm.name, func(b *testing.B) {
			var accounts Accounts
			for i := range bm.origins {
				accounts.Origin(fmt.Sprint(i))
			}
			var wg sync.WaitGroup
			each := b.N/bm.goroutines + 1
			for g := range bm.goroutines {
				wg.Go(func() {
					o, key := accounts.Origin(fmt.Sprint(g%bm.origins)), fmt.Sprint(g%bm.accounts)
					ask := &Ask{Claims: []Claim{{Policy: "api", Key: key, Keyed: true, Units: 1}}}
					report := &Report{Figures: []Figure{{Policy: "api", Key: key, Keyed: true, Available: 1 << 40, Window: time.Minute}}}
					var l Lease
					for range each {
						now := time.Now()
						if err := o.Admit(context.Background(), now, ask, &l); err != nil {
							b.Error(err)
							return
						}
						o.Settle(now, &l, report)
					}
				})
			}
			wg.Wait()
		})
	}
}

// visitor has one of so many users make a request that is answered at once:
// each with a partition of their own, or with a scope of their own and an
// account in it.
func visitor(tb testing.TB, scopes bool) func(user string) {
	accounts := Accounts{MaxAccounts: -1, MaxTotal: -1}
	o := accounts.Origin("https://api.example")
	ask := &Ask{Claims: []Claim{{Policy: "user", Keyed: !scopes, Units: 1}}}
	report := &Report{Figures: []Figure{{Policy: "user", Keyed: !scopes, Available: 1 << 40, Window: time.Hour}}}
	var l Lease
	return func(user string) {
		if scopes {
			ask.Scope = user
		} else {
			ask.Claims[0].Key, report.Figures[0].Key = user, user
		}
		now := time.Now()
		if err := o.Admit(context.Background(), now, ask, &l); err != nil {
			tb.Fatal(err)
		}
		o.Settle(now, &l, report)
	}
}

func users(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("user-%07d", i)
	}
	return names
}

// An idle account of a million is small, with its place in the books, and its
// key, of which the books have a copy of their own.
func BenchmarkIdleAccount(b *testing.B) {
	for _, scopes := range []bool{false, true} {
		b.Run(fmt.Sprintf("scopes=%v", scopes), func(b *testing.B) {
			names := users(1_000_000)
			for b.Loop() {
				before := inUse()
				visit := visitor(b, scopes)
				for _, name := range names {
					visit(name)
				}
				after := inUse()
				b.ReportMetric((after.heap-before.heap)/float64(len(names)), "B/user")
				visit(names[0])
			}
		})
	}
}

// A million partitions of one origin cost hardly more per request than ten.
func BenchmarkPartitions(b *testing.B) {
	for _, n := range []int{10, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			visit, names := visitor(b, false), users(n)
			for _, name := range names {
				visit(name)
			}
			runtime.GC()
			order := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				visit(names[order.IntN(n)])
			}
		})
	}
}

// A memory is what the heap and the stacks take.
type memory struct{ heap, stack float64 }

func inUse() memory {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{float64(m.HeapAlloc), float64(m.StackInuse)}
}

// waitInLine has n requests wait in one line, and be let go. It returns what
// each of them costs, the heap and the stack of its goroutine apart, and how
// long it took to let them all go.
func waitInLine(b *testing.B, n int) (each memory, took time.Duration) {
	var accounts Accounts
	o := accounts.Origin("https://api.example")
	tell := func(available int64) {
		var l Lease
		require.NoError(b, o.Admit(context.Background(), time.Now(), &Ask{Force: true}, &l))
		o.Settle(time.Now(), &l, &Report{Figures: []Figure{{Policy: "api", Available: available, Window: time.Hour}}})
	}
	inLine := func() int {
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.find(accountID{policyID: policyID{name: "api"}}).line.Len()
	}
	tell(0)
	tickets := make([]uint64, n)
	var wg sync.WaitGroup
	before := inUse()
	for i := range n {
		wg.Go(func() {
			var l Lease
			ask := Ask{Claims: []Claim{{Policy: "api", Units: 1}}, MaxQueue: -1, MaxDelay: 2 * time.Hour}
			if err := o.Admit(context.Background(), time.Now(), &ask, &l); err != nil {
				b.Error(err)
				return
			}
			tickets[i] = l.ticket
			o.Settle(time.Now(), &l, &Report{})
		})
		for inLine() <= i { // one after the other
			runtime.Gosched()
		}
	}
	after := inUse()
	began := time.Now()
	tell(int64(n))
	wg.Wait()
	took = time.Since(began)
	for i := range tickets[1:] {
		require.Less(b, tickets[i], tickets[i+1], "in place %d", i)
	}
	return memory{(after.heap - before.heap) / float64(n), (after.stack - before.stack) / float64(n)}, took
}

// Waiting costs little memory, and they are let go in the order of arrival.
// The caller's own are the stack, the lease and the ask.
func BenchmarkWaiters(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		each, took := waitInLine(b, n)
		b.ReportMetric(each.heap, "heap-B/waiter")
		b.ReportMetric(each.stack, "stack-B/waiter")
		b.ReportMetric(float64(took.Nanoseconds())/n, "ns/waiter")
	}
}
