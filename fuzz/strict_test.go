package fuzz

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// A strict validates Structured Fields by RFC 9651, Section 4.2. It shares no code with
// the parser under test.
type strict struct{ rest string }

// strictList reports whether field lines are a List (Section 4.2).
func strictList(lines ...string) bool {
	return strictField((*strict).list, lines)
}

// strictDictionary reports whether field lines are a Dictionary.
func strictDictionary(lines ...string) bool {
	return strictField((*strict).dictionary, lines)
}

// strictField is the algorithm for a field (Section 4.2, steps 1 to 8).
func strictField(parse func(*strict) bool, lines []string) bool {
	s := &strict{strings.Join(lines, ", ")}
	for i := range len(s.rest) {
		if s.rest[i] > 0x7f {
			return false
		}
	}
	s.skip(" ")
	if !parse(s) {
		return false
	}
	s.skip(" ")
	return s.rest == ""
}

func (s *strict) skip(blanks string) { s.rest = strings.TrimLeft(s.rest, blanks) }

// take removes one byte if it is c.
func (s *strict) take(c byte) bool {
	if s.peek() != c || s.rest == "" {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// peek returns the next byte, or 0 at the end.
func (s *strict) peek() byte {
	if s.rest == "" {
		return 0
	}
	return s.rest[0]
}

// members reads the members of a List or a Dictionary (Sections 4.2.1, 4.2.2).
func (s *strict) members(member func() bool) bool {
	for s.rest != "" {
		if !member() {
			return false
		}
		s.skip(" \t")
		if s.rest == "" {
			return true
		}
		if !s.take(',') {
			return false
		}
		s.skip(" \t")
		if s.rest == "" {
			return false
		}
	}
	return true
}

func (s *strict) list() bool { return s.members(s.itemOrInnerList) }

func (s *strict) dictionary() bool {
	return s.members(func() bool {
		if !s.key() {
			return false
		}
		if s.take('=') {
			return s.itemOrInnerList()
		}
		return s.parameters()
	})
}

func (s *strict) itemOrInnerList() bool {
	if s.peek() == '(' {
		return s.innerList()
	}
	return s.bareItem() && s.parameters()
}

// innerList is Section 4.2.1.2.
func (s *strict) innerList() bool {
	if !s.take('(') {
		return false
	}
	for s.rest != "" {
		s.skip(" ")
		if s.take(')') {
			return s.parameters()
		}
		if !s.bareItem() || !s.parameters() {
			return false
		}
		if c := s.peek(); c != ' ' && c != ')' {
			return false
		}
	}
	return false
}

// parameters is Section 4.2.3.2.
func (s *strict) parameters() bool {
	for s.take(';') {
		s.skip(" ")
		if !s.key() {
			return false
		}
		if s.take('=') && !s.bareItem() {
			return false
		}
	}
	return true
}

// key is Section 4.2.3.3.
func (s *strict) key() bool {
	if c := s.peek(); c != '*' && (c < 'a' || c > 'z') {
		return false
	}
	s.rest = strings.TrimLeft(s.rest, "abcdefghijklmnopqrstuvwxyz0123456789_-.*")
	return true
}

// bareItem is Section 4.2.3.1.
func (s *strict) bareItem() bool {
	switch c := s.peek(); {
	case c == '-' || isDigit(c):
		_, ok := s.number()
		return ok
	case c == '"':
		return s.text()
	case c == '*' || isAlpha(c):
		return s.token()
	case c == ':':
		return s.bytes()
	case c == '?':
		s.rest = s.rest[1:]
		return s.take('0') || s.take('1')
	case c == '@':
		s.rest = s.rest[1:]
		integer, ok := s.number()
		return ok && integer
	case c == '%':
		return s.display()
	}
	return false
}

// number is Section 4.2.4.
func (s *strict) number() (integer, ok bool) {
	s.take('-')
	whole := s.digits()
	if whole == 0 {
		return false, false
	}
	if s.peek() != '.' {
		return true, whole <= 15
	}
	s.rest = s.rest[1:]
	fraction := s.digits()
	return false, whole <= 12 && fraction >= 1 && fraction <= 3
}

func (s *strict) digits() int {
	n := 0
	for n < len(s.rest) && isDigit(s.rest[n]) {
		n++
	}
	s.rest = s.rest[n:]
	return n
}

// text is Section 4.2.5.
func (s *strict) text() bool {
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '\\':
			i++
			if i == len(s.rest) || s.rest[i] != '"' && s.rest[i] != '\\' {
				return false
			}
		case c == '"':
			s.rest = s.rest[i+1:]
			return true
		case c < 0x20 || c > 0x7e:
			return false
		}
	}
	return false
}

// token is Section 4.2.6.
func (s *strict) token() bool {
	n := 0
	for n < len(s.rest) && (isAlpha(s.rest[n]) || isDigit(s.rest[n]) || strings.IndexByte(":/!#$%&'*+-.^_`|~", s.rest[n]) >= 0) {
		n++
	}
	s.rest = s.rest[n:]
	return n > 0
}

// bytes is Section 4.2.7. Padding may be missing and pad bits need not be zero
// ("SHOULD NOT fail").
func (s *strict) bytes() bool {
	content, rest, ok := strings.Cut(s.rest[1:], ":")
	if !ok {
		return false
	}
	s.rest = rest
	for _, c := range []byte(content) {
		if !isAlpha(c) && !isDigit(c) && c != '+' && c != '/' && c != '=' {
			return false
		}
	}
	_, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(content, "="))
	return err == nil
}

// display is Section 4.2.10.
func (s *strict) display() bool {
	rest, ok := strings.CutPrefix(s.rest, `%"`)
	if !ok {
		return false
	}
	var out []byte
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c < 0x20 || c > 0x7e:
			return false
		case c == '"':
			s.rest = rest[i+1:]
			return utf8.Valid(out)
		case c == '%':
			if i+2 >= len(rest) || strings.ToLower(rest[i+1:i+3]) != rest[i+1:i+3] {
				return false
			}
			b, err := hex.DecodeString(rest[i+1 : i+3])
			if err != nil {
				return false
			}
			out = append(out, b...)
			i += 2
		default:
			out = append(out, c)
		}
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
