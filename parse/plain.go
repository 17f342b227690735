package parse

import (
	"encoding/base64"
	"strings"
)

// plainLimits reads a line of RateLimit in its usual form: each item is a String without
// escapes, with parameters that the drafts define, each at most once, whose values are
// within their caps. older reports whether the items follow draft -08. ok is false for
// every other line, valid or not. room is memory for the limits; nil: there is none. Nor is a
// name copied that one of policies has, or a key that is the one in room.
//
// This is the only Structured Field that does not go through the parser: RateLimit
// changes with every response, and the parser takes several times as long.
// FuzzPlainLimits checks that both read the same.
func plainLimits(line string, caps *Caps, policies []Policy, room []Limit) (limits []Limit, older, ok bool) {
	if len(line) > caps.fieldBytes() {
		return nil, false, false
	}
	p, limits := plain{line: line, caps: caps, policies: policies}, room[:0]
	for {
		n, before := len(limits), Key("")
		if n < cap(limits) {
			before = limits[:n+1][n].Key
		}
		limits = append(limits, Limit{Available: None, Window: None, Cost: None, Key: before})
		if n == caps.items() || !p.limit(&limits[n]) || mayRepeat(limits[:n], limits[n].Policy) {
			return nil, false, false
		}
		if p.over() {
			return limits, p.older && !p.newest, true
		}
		if !p.comma() {
			return nil, false, false
		}
	}
}

// onlyLimit is plainLimits for what most servers send: the only policy of RateLimit-Policy with its
// available quota and its window, and nothing else. It takes half of the time.
func (f *policyField) onlyLimit(line string, caps *Caps, room []Limit) (limits []Limit, older, ok bool) {
	at := len(f.begins)
	if at == 0 || len(line) < at+len("a=1;w=1") || len(line) > caps.fieldBytes() || line[:at] != f.begins {
		return nil, false, false
	}
	names := "aw"
	if older = line[at] == 'r'; older {
		names = "rt"
	}
	if line[at] != names[0] || line[at+1] != '=' {
		return nil, false, false
	}
	a, next := integer(line, at+2, caps.quota())
	if a == None || len(line)-next < len(";w=1") || line[next] != ';' || line[next+1] != names[1] || line[next+2] != '=' {
		return nil, false, false
	}
	w, end := integer(line, next+3, caps.windowSeconds())
	if w == None || end != len(line) {
		return nil, false, false
	}
	limits = append(room[:0], Limit{}) // filled in place: a literal would be copied
	l := &limits[0]
	l.Policy, l.Available, l.Window, l.Cost = f.named[0].Name, a, seconds(w), None
	return limits, older, true
}

// integer reads an Integer from 0 to limit (RFC 9651, Section 4.2.4) that begins at index from. It
// returns None if there is none, and the index after it, which the caller must check.
func integer(line string, from int, limit int64) (n int64, at int) {
	for at = from; at < len(line); at++ {
		digit := line[at] - '0'
		if digit > 9 {
			break
		}
		n = 10*n + int64(digit)
	}
	if at == from || at-from > 15 || n > limit {
		return None, at
	}
	return n, at
}

// beginsWith returns how the limit of a policy begins, such as `"api";`, or "" if the name needs escapes.
func beginsWith(policy string) string {
	begins := `"` + policy + `";`
	p := plain{line: begins}
	if name, ok := p.text(); !ok || name != policy {
		return ""
	}
	return begins
}

// plain reads a line from the byte at index at.
type plain struct {
	line          string
	at            int
	caps          *Caps
	policies      []Policy
	newest, older bool // there were parameters of the editor's draft; of draft -08
}

// over reports whether the line has been read.
func (p *plain) over() bool { return p.at == len(p.line) }

// skip skips the next byte if it is c.
func (p *plain) skip(c byte) bool {
	if p.over() || p.line[p.at] != c {
		return false
	}
	p.at++
	return true
}

// comma advances to the next item (RFC 9651, Section 4.2.1).
func (p *plain) comma() bool {
	p.space()
	if !p.skip(',') {
		return false
	}
	p.space()
	return true
}

func (p *plain) space() {
	for p.skip(' ') || p.skip('\t') {
	}
}

// limit reads an item. l.Key is the one that was there before, or empty.
func (p *plain) limit(l *Limit) (ok bool) {
	name, ok := p.text()
	if !ok || len(name) > p.caps.nameBytes() {
		return false
	}
	l.Policy = p.own(name)
	for p.skip(';') {
		for p.skip(' ') {
		}
		if !p.param(l) {
			return false
		}
	}
	if !l.HasKey {
		l.Key = ""
	}
	return true
}

// own returns the name in other memory: the limit must not keep the header alive.
func (p *plain) own(name string) string {
	for i := range p.policies {
		if own := p.policies[i].Name; own == name {
			return own
		}
	}
	return strings.Clone(name)
}

// param reads a parameter.
func (p *plain) param(l *Limit) (ok bool) {
	if p.over() {
		return false
	}
	name := p.line[p.at]
	p.at++
	switch name {
	case 'a', 'r':
		p.newest, p.older = p.newest || name == 'a', p.older || name == 'r'
		return p.number(&l.Available, p.caps.quota())
	case 'w', 't':
		p.newest, p.older = p.newest || name == 'w', p.older || name == 't'
		s := int64(l.Window)
		ok = p.number(&s, p.caps.windowSeconds())
		l.Window = seconds(max(s, 0))
		return ok
	case 'c':
		p.newest = true
		return p.number(&l.Cost, p.caps.quota())
	case 'p':
		if !p.skip('k') || l.HasKey {
			return false
		}
		l.Key, l.HasKey = p.bytes(l.Key)
		return l.HasKey
	}
	return false
}

// number reads the value of a parameter: see integer. It fails if the parameter is repeated, that is,
// if *n is not None.
func (p *plain) number(n *int64, limit int64) bool {
	if *n != None || !p.skip('=') {
		return false
	}
	*n, p.at = integer(p.line, p.at, limit)
	return *n != None
}

// text reads a String without escapes (RFC 9651, Section 4.2.5).
func (p *plain) text() (string, bool) {
	if !p.skip('"') {
		return "", false
	}
	line, from := p.line, p.at
	for at := from; at < len(line); at++ {
		switch c := line[at]; {
		case c == '"':
			p.at = at + 1
			return line[from:at], true
		case c == '\\', c < ' ', c > '~':
			return "", false
		}
	}
	return "", false
}

// bytes reads the value of a parameter: a Byte Sequence (RFC 9651, Section 4.2.7). If it is before, no memory
// is needed.
func (p *plain) bytes(before Key) (Key, bool) {
	if !p.skip('=') || !p.skip(':') {
		return "", false
	}
	from := p.at
	for !p.skip(':') {
		if p.over() || p.line[p.at] < '+' { // the decoder would skip line breaks
			return "", false
		}
		p.at++
	}
	var room [64]byte
	b, err := base64.StdEncoding.AppendDecode(room[:0], []byte(p.line[from:p.at-1]))
	ok := err == nil && len(b) <= p.caps.keyBytes()
	if string(b) == string(before) {
		return before, ok
	}
	return Key(b), ok
}
