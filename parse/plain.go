package parse

import (
	"encoding/base64"
	"strings"
)

// plainLimits reads a field line of RateLimit whose items are written as nearly all
// are: a String without escapes, and parameters that the drafts know, each once, whose
// values are Integers or a Byte Sequence within their caps. older tells whether it is
// draft -08 that they follow.
//
// It is the one place where a Structured Field does not go through the parser of
// those, which costs several times as much for what every response brings anew. Any
// other line, right or wrong, is not ok here and is left to it; and it reads alike
// what is read here, which FuzzPlainLimits holds.
func plainLimits(line string, caps Caps) (limits []Limit, older, ok bool) {
	if len(line) > caps.fieldBytes() {
		return nil, false, false
	}
	p := plain{line: line, caps: caps}
	for {
		n := len(limits)
		limits = append(limits, Limit{Available: None, Window: None, Cost: None})
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

// plain reads a line. It is at the byte that comes next.
type plain struct {
	line          string
	at            int
	caps          Caps
	newest, older bool // names of the newest draft, and of older ones, have been there
}

// over reports whether the line is.
func (p *plain) over() bool { return p.at == len(p.line) }

// skip skips a byte, if it comes next.
func (p *plain) skip(c byte) bool {
	if p.over() || p.line[p.at] != c {
		return false
	}
	p.at++
	return true
}

// comma goes to the next item (RFC 9651, Section 4.2.1).
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

// limit reads an item.
func (p *plain) limit(l *Limit) (ok bool) {
	name, ok := p.text()
	if !ok || len(name) > p.caps.nameBytes() {
		return false
	}
	l.Policy = strings.Clone(name) // so as not to keep the header alive
	for p.skip(';') {
		for p.skip(' ') {
		}
		if !p.param(l) {
			return false
		}
	}
	return true
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
		l.Key, l.HasKey = p.bytes()
		return l.HasKey
	}
	return false
}

// number reads the value of a parameter that has none yet: an Integer, neither
// negative nor more than most (RFC 9651, Section 4.2.4).
func (p *plain) number(n *int64, most int64) bool {
	if *n != None || !p.skip('=') {
		return false
	}
	from := p.at
	v := int64(0)
	for !p.over() && p.line[p.at] >= '0' && p.line[p.at] <= '9' && p.at-from < 15 {
		v = v*10 + int64(p.line[p.at]-'0')
		p.at++
	}
	*n = v
	return p.at > from && v <= most // what follows must be a parameter, or an item, or nothing
}

// text reads a String without escapes (RFC 9651, Section 4.2.5).
func (p *plain) text() (string, bool) {
	if !p.skip('"') {
		return "", false
	}
	for from := p.at; !p.over(); p.at++ {
		switch c := p.line[p.at]; {
		case c == '"':
			p.at++
			return p.line[from : p.at-1], true
		case c == '\\', c < ' ', c > '~':
			return "", false
		}
	}
	return "", false
}

// bytes reads the value of a parameter: a Byte Sequence (RFC 9651, Section 4.2.7).
func (p *plain) bytes() (string, bool) {
	if !p.skip('=') || !p.skip(':') {
		return "", false
	}
	from := p.at
	for !p.skip(':') {
		if p.over() || p.line[p.at] < '+' { // such as a line break, which the decoder skips
			return "", false
		}
		p.at++
	}
	var room [64]byte
	b, err := base64.StdEncoding.AppendDecode(room[:0], []byte(p.line[from:p.at-1]))
	return string(b), err == nil && len(b) <= p.caps.keyBytes()
}
