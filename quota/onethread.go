package quota

import (
	"context"
	"time"

	"github.com/headway-go/headway/internal/onethread"
)

func init() {
	onethread.Try = func(o any, now time.Time, ask, l any) error { return o.(*Origin).try(now, ask.(*Ask), l.(*Lease)) }
	onethread.Queue = func(o any, now time.Time, ask, l any) { o.(*Origin).queue(now, ask.(*Ask), l.(*Lease)) }
	onethread.Unqueue = func(o, l any) { o.(*Origin).unqueue(l.(*Lease)) }
}

// try is Admit of work that would wait, but refuses it instead.
func (o *Origin) try(now time.Time, ask *Ask, l *Lease) error {
	l.claims.reset()
	l.charged, l.pinned = false, false
	l.own()
	set(&l.look, nil)
	l.nameKind(o, ask)
	o.mu.Lock()
	t := o.at(now)
	l.belong(t, o, ask.Scope)
	o.claim(context.Background(), t, ask, l, &l.claims)
	o.first.claim(context.Background(), now, ask, &l.claims)
	l.claims.mine = len(l.claims.all())
	return l.wait(context.Background(), now, ask, nil, 1)
}

// queue has processes that share accounts know that the work of an ask waits, until unqueue.
func (o *Origin) queue(now time.Time, ask *Ask, l *Lease) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.at(now)
	l.claims.reset()
	l.belong(t, o, ask.Scope)
	o.claim(context.Background(), t, ask, l, &l.claims)
	o.first.claim(context.Background(), now, ask, &l.claims)
	l.priority = int16(ask.Priority)
	o.shared.joined(t, l)
}

func (o *Origin) unqueue(l *Lease) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shared.queue.remove(l)
	l.drop()
}
