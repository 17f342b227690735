package inspect

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

const (
	noted = 128 // requests of an origin whose departures are noted at a time
	tries = 8   // places at which one is noted
)

// departures are when the requests of each origin departed that are on their way. Two
// methods are called for each request, so they take no lock and allocate nothing.
//
// Of an origin with more requests on their way than there is room for, some are not noted:
// the others are a sample. Requests that hang stay noted, so they are found.
type departures struct {
	usual atomic.Pointer[outOf] // of the others; most programs have one that they use most
	all   atomic.Pointer[map[string]*outOf]
	mu    sync.Mutex // held to add an origin
}

// outOf are the departures of one origin, in Unix nanoseconds; 0: none. Which places a
// request may have depends on its departure alone, so requests that departed at one instant
// may take each other's.
type outOf struct {
	origin string
	at     [noted]atomic.Int64
}

// of returns the departures of an origin. If there are none, it returns nil, or adds them
// if that is asked for and there is room.
func (d *departures) of(origin string, add bool) *outOf {
	if o := d.usual.Load(); o != nil && o.origin == origin {
		return o
	}
	if o := d.known()[origin]; o != nil || !add || len(d.known()) >= maxCounts {
		return o
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.known()
	if o := all[origin]; o != nil || len(all) >= maxCounts {
		return o
	}
	if all = maps.Clone(all); all == nil {
		all = make(map[string]*outOf)
	}
	o := &outOf{origin: origin}
	all[origin] = o
	d.all.Store(&all)
	d.usual.CompareAndSwap(nil, o)
	return o
}

func (d *departures) known() map[string]*outOf {
	if all := d.all.Load(); all != nil {
		return *all
	}
	return nil
}

// depart notes a request that is on its way.
func (d *departures) depart(origin string, sent time.Time) {
	if o := d.of(origin, true); o != nil {
		o.replace(sent, 0, sent.UnixNano())
	}
}

// arrive notes that it no longer is.
func (d *departures) arrive(origin string, sent time.Time) {
	if o := d.of(origin, false); o != nil {
		o.replace(sent, sent.UnixNano(), 0)
	}
}

// replace replaces one number by another, in the first place of a departure that has it.
func (o *outOf) replace(sent time.Time, old, by int64) {
	from := uint64(sent.UnixNano()) * 0x9e3779b97f4a7c15 >> 32
	for i := range uint64(tries) {
		if at := &o.at[(from+i)%noted]; at.Load() == old && at.CompareAndSwap(old, by) {
			return
		}
	}
}

// oldest is for how long the oldest request of an origin has been on its way; 0: none is,
// or it is not known.
func (d *departures) oldest(origin string, now time.Time) time.Duration {
	o := d.of(origin, false)
	if o == nil {
		return 0
	}
	oldest := now.UnixNano()
	for i := range o.at {
		if at := o.at[i].Load(); at != 0 {
			oldest = min(oldest, at)
		}
	}
	return time.Duration(now.UnixNano() - oldest)
}
