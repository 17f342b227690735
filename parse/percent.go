package parse

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// percent reads a Summary of percentages: the accounts of its members, whose names begin with that of the field.
func (a *accountReader) percent(f *rowField) {
	r := newListReader(f.field, a.caps)
	defer a.keep(&r)
	if r.tooLong(f.lines) {
		return
	}
	for i, line := range firstOf(&r, f.lines) {
		r.item = i
		if d, ok := parseDecimal(strings.TrimSuffix(trim(line), "%")); ok {
			a.percentage(Policy{Name: f.account}, d, noDelay)
			continue
		}
		var v any
		in := json.NewDecoder(strings.NewReader(line))
		in.UseNumber()
		if err := in.Decode(&v); err != nil || in.More() {
			r.ignore("", errSyntax)
			continue
		}
		if !a.members(Policy{Name: f.account}, v, 3) {
			r.ignore("", ErrCap)
		}
	}
}

// members reads the percentages of a JSON value, down to a depth, in the order of their names: of accounts whose names begin
// with that of a policy. It returns false if there are more than Caps.Items in all.
func (a *accountReader) members(of Policy, value any, depth int) bool {
	if depth == 0 {
		return true
	}
	switch v := value.(type) {
	case []any:
		for _, x := range v {
			if !a.members(of, x, depth-1) {
				return false
			}
		}
	case map[string]any:
		if kind, ok := v["type"].(string); ok {
			of.Name = join(of.Name, strings.ToLower(kind))
		}
		access := delayOf(v["estimated_time_to_regain_access"], time.Minute)
		reset := delayOf(v["reset_time_duration"], time.Second)
		full := int64(100)
		if access != noDelay { // it is refused, so one of them is used up
			full = 0
			for name, x := range v {
				if d, ok := percentageOf(name, x); ok {
					full = min(max(full, d.whole), 100)
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch x := v[name].(type) {
			case json.Number:
				d, ok := percentageOf(name, x)
				if !ok {
					continue
				}
				if a.percentages++; a.percentages > a.caps.items() {
					return false
				}
				until := reset
				if d.whole >= full && access != noDelay {
					d.whole, until = max(d.whole, 100), access
				}
				p := of
				p.Name = join(of.Name, strings.ToLower(name))
				a.percentage(p, d, until)
			case []any:
				client := of
				if client.Key, client.HasKey = Key(name), true; len(name) > a.caps.keyBytes() {
					a.ignore(a.field, None, "", ErrCap)
				} else if !a.members(client, x, depth-1) {
					return false
				}
			}
		}
	}
	return true
}

// percentageOf returns the value of a member whose name says that it is a part of a quota, as those of Meta do.
func percentageOf(name string, member any) (d decimal, ok bool) {
	switch name[strings.LastIndexByte(name, '_')+1:] {
	case "count", "time", "cputime", "pct", "percent", "percentage", "usage", "utilization":
		if x, isNumber := member.(json.Number); isNumber {
			return parseDecimal(x.String())
		}
	}
	return decimal{}, false
}

// delayOf returns the delay that a member says in a unit, of a second or more: noDelay if it is not there, or 0.
func delayOf(member any, unit time.Duration) delay {
	if x, ok := member.(json.Number); ok {
		if d, ok := parseDecimal(x.String()); ok && !d.negative && !d.zero() {
			if n := d.times(time.Second); n <= math.MaxInt64/(unit/time.Second) {
				return delay{d: n * (unit / time.Second)}
			}
			return delay{d: math.MaxInt64}
		}
	}
	return noDelay
}

// percentage adds an account of which so many per cent are used.
func (a *accountReader) percentage(p Policy, used decimal, reset delay) {
	f := figure{limit: 100, remaining: leftOf100(used), reset: reset, cost: None}
	switch {
	case used.negative && !used.zero():
		a.ignore(a.field, None, "", errRange)
		return
	case !a.fits(p.Name) || f.limit > a.caps.quota():
		return
	case reset.reset() > a.caps.window():
		a.ignore(a.field, None, "", ErrCap)
		f.reset = noDelay
	}
	p.Name, p.Key, p.Quota, p.Unit = strings.Clone(p.Name), Key(strings.Clone(string(p.Key))), f.limit, percent
	a.addPolicy(p)
	if l, ok := f.serviceLimit(p.Name); ok {
		l.Key, l.HasKey = p.Key, p.HasKey
		a.addLimit(l)
	}
}

// leftOf100 returns how many whole per cent are left: one, if it is less than that.
func leftOf100(used decimal) int64 {
	switch {
	case used.whole >= 100:
		return 0
	case used.fraction > 0:
		return max(100-used.whole-1, 1)
	}
	return 100 - used.whole
}
