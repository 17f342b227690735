package tokens

import (
	"bytes"
	"io"
	"strconv"
	"sync"
)

// None stands for a number that is not known.
const None = -1

// MaxBody is the size of the largest body that Scan reads, in bytes. 1 MB takes half a
// millisecond.
const MaxBody = 4 << 20

const (
	bytesPerToken = 4

	// blobTokens is the cost of an image or a file in Base64, which does not depend
	// on its bytes.
	blobTokens = 1000
	minBlob    = 1000 // bytes of a string without spaces, to be taken for Base64

	maxTokens  = 1 << 31 // that a body may ask for; more is not believed
	maxChoices = 1 << 10
)

// A Request is what the body of a request says about its cost.
type Request struct {
	Model  string // the model; "" if the body names none
	Input  int64  // estimated tokens of the text
	Output int64  // the most tokens that may be generated, of all choices together; None if the body does not say
}

// Most is the most tokens that the request may cost: a token is at least one byte of text.
func (r *Request) Most() int64 { return r.Input*bytesPerToken + max(r.Output, 0) }

// Scan reads the JSON body of a request up to the end of its first value. It returns
// false if that is not an object, is incomplete or nested too deeply, or if the body is
// larger than MaxBody. Malformed JSON need not be noticed: an estimate of it does no harm.
//
// All strings count as text, but for the model and for the names of members of the
// outermost object. An escape sequence counts as the character that it stands for, of three
// bytes if it is \u and four digits. Data URLs and long strings in Base64 count as 1,000
// tokens each, and numbers in arrays, which may be tokens, as one.
func Scan(body io.Reader) (Request, bool) {
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	s.reset(body)
	defer s.reset(nil)
	if !s.scan() {
		return Request{}, false
	}
	r := Request{Model: s.model, Input: (s.text+bytesPerToken-1)/bytesPerToken + s.blobs*blobTokens, Output: None}
	if s.output > 0 {
		r.Output = s.output * max(s.choices, 1)
	}
	return r, true
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

const (
	maxDepth = 64
	maxName  = 64 // bytes of a name or a model that are kept
)

// A scanner is the state of one Scan.
type scanner struct {
	body  io.Reader
	chunk []byte // of buffer, to be scanned
	left  int    // bytes of the body that may still be read
	ended bool   // nothing more can be read

	objects uint64 // of the open containers, which are objects: bit 0 is the outermost
	depth   int    // number of open containers
	name    bool   // the next string is the name of a member
	member  [maxName]byte
	length  int // of the name of the present member; more than maxName: the name is not known

	model           string
	text, blobs     int64
	output, choices int64

	buffer [8 << 10]byte
}

func (s *scanner) reset(body io.Reader) {
	s.body, s.chunk, s.left, s.ended = body, nil, MaxBody+1, false
	s.objects, s.depth, s.name, s.length = 0, 0, false, 0
	s.model, s.text, s.blobs, s.output, s.choices = "", 0, 0, 0, 0
}

// fill reads the next chunk if the present one is used up. It returns false at the end
// of the body or of what may be read.
func (s *scanner) fill() bool {
	for tries := 0; len(s.chunk) == 0 && !s.ended && tries < 100; tries++ {
		n, err := s.body.Read(s.buffer[:min(len(s.buffer), s.left)])
		s.chunk = s.buffer[:n]
		s.left -= n
		s.ended = err != nil || s.left <= 0
	}
	return len(s.chunk) > 0
}

// scan reads the body up to the end of the outermost object.
func (s *scanner) scan() bool {
	for s.fill() {
		c := s.chunk[0]
		s.chunk = s.chunk[1:]
		switch c {
		case '{', '[':
			if !s.open(c == '{') {
				return false
			}
		case '}', ']':
			if s.depth--; s.depth <= 0 {
				return s.depth == 0 && s.left > 0
			}
			s.name = false
		case ',':
			s.name = s.inObject()
		case ':':
			s.name = false
		case '"':
			if !s.string() {
				return false
			}
		case ' ', '\t', '\r', '\n':
		default:
			s.word(c)
		}
		if s.depth == 0 && c > ' ' {
			return false // the body is no object
		}
	}
	return false
}

// open enters an object or an array.
func (s *scanner) open(object bool) bool {
	if s.depth == maxDepth || s.depth == 0 && !object {
		return false
	}
	s.objects &^= 1 << s.depth
	if object {
		s.objects |= 1 << s.depth
	}
	s.depth++
	s.name = object
	return true
}

func (s *scanner) inObject() bool { return s.depth > 0 && s.objects>>(s.depth-1)&1 == 1 }

// isOption reports whether the present member is of the outermost object, or of an object
// in that, such as generationConfig. Others are part of the conversation.
func (s *scanner) isOption() bool { return s.inObject() && s.depth <= 2 }

// string reads a string after its opening quotation mark.
func (s *scanner) string() bool {
	str := stringOf{blob: !s.name}
	for s.fill() {
		part, end := s.chunk, bytes.IndexByte(s.chunk, '"')
		if end >= 0 {
			part = part[:end]
		}
		n := str.add(part)
		s.chunk = s.chunk[n:]
		switch {
		case n < len(part): // an escape sequence that does not end in the part
			text, c := s.escape()
			if text == 0 {
				return false
			}
			str.addEscape(text, c)
		case end >= 0:
			s.chunk = s.chunk[1:]
			s.endString(&str)
			return true
		}
	}
	return false
}

// A stringOf is what is known of a string.
type stringOf struct {
	start [maxName]byte // its first bytes
	size  int           // bytes in the body
	text  int           // bytes of text
	blob  bool          // all of them may be Base64
}

// add adds a part of a string that does not contain a quotation mark, up to the last
// escape sequence if that may go on after the part. It returns the length of what it has
// added.
func (str *stringOf) add(part []byte) (n int) {
	for {
		plain := part[n:]
		escape := bytes.IndexByte(plain, '\\')
		if escape >= 0 {
			plain = plain[:escape]
		}
		if str.size < maxName {
			copy(str.start[str.size:], plain)
		}
		str.size += len(plain)
		str.text += len(plain)
		str.blob = str.blob && isBase64(plain)
		n += len(plain)
		if escape < 0 {
			return n
		}
		const longest = len(`\u0000`)
		if n+longest > len(part) {
			return n
		}
		c := part[n+1]
		if c == 'u' {
			n += longest
			str.addEscape(3, c)
		} else {
			n += 2
			str.addEscape(1, c)
		}
	}
}

// addEscape adds an escape sequence of the character c, which stands for some bytes.
func (str *stringOf) addEscape(text int, c byte) {
	str.size += maxName + 1 // its first bytes are not known
	str.text += text
	str.blob = str.blob && (c == '/' || c == 'n' || c == 'r')
}

// escape reads an escape sequence. It returns how many bytes of text it stands for, and
// the character after the backslash; 0 if the body ends.
func (s *scanner) escape() (n int, c byte) {
	s.chunk = s.chunk[1:]
	if !s.fill() {
		return 0, 0
	}
	c = s.chunk[0]
	s.chunk = s.chunk[1:]
	if c != 'u' {
		return 1, c
	}
	for range 4 {
		if !s.fill() {
			return 0, 0
		}
		s.chunk = s.chunk[1:]
	}
	return 3, c
}

// endString takes over a string.
func (s *scanner) endString(str *stringOf) {
	start := str.start[:min(str.size, maxName)]
	switch {
	case s.name:
		s.length = str.size
		copy(s.member[:], start)
		if s.depth > 1 {
			s.text += int64(str.text)
		}
	case s.depth == 1 && s.is("model"):
		if str.size <= maxName {
			s.model = string(start)
		}
	case str.blob && str.text >= minBlob, isDataURL(start):
		s.blobs++
	default:
		s.text += int64(str.text)
	}
}

// word reads a number or a literal that begins with c.
func (s *scanner) word(c byte) {
	var digits [20]byte
	n := 0
	for {
		if n < len(digits) {
			digits[n] = c
		}
		n++
		if !s.fill() {
			break
		}
		if c = s.chunk[0]; c == ',' || c == '}' || c == ']' || c == ':' || c == '"' || c <= ' ' {
			break
		}
		s.chunk = s.chunk[1:]
	}
	if !s.inObject() {
		s.text += bytesPerToken
	}
	if n > len(digits) || !s.isOption() {
		return
	}
	x, err := strconv.ParseInt(string(digits[:n]), 10, 64)
	if err != nil || x <= 0 || s.length > maxName {
		return
	}
	switch string(s.member[:s.length]) {
	case "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "max_tokens_to_sample", "max_gen_len",
		"maxTokens", "maxOutputTokens", "maxTokenCount", "maxNewTokens", "num_predict":
		if x <= maxTokens {
			s.output = max(s.output, x)
		}
	case "n", "best_of", "candidateCount", "num_generations", "numResults":
		if x <= maxChoices {
			s.choices = max(s.choices, x)
		}
	}
}

// is reports whether the present member has a name.
func (s *scanner) is(name string) bool {
	return s.length == len(name) && string(s.member[:s.length]) == name
}

// isDataURL reports whether a string that starts so is a data URL (RFC 2397) in Base64.
func isDataURL(start []byte) bool {
	return bytes.HasPrefix(start, []byte("data:")) && bytes.Contains(start, []byte(";base64,"))
}

// isBase64 reports whether all bytes are of the alphabets of RFC 4648, Sections 4 and 5.
func isBase64(part []byte) bool {
	for _, c := range part {
		if !base64Alphabet[c] {
			return false
		}
	}
	return true
}

var base64Alphabet = func() (is [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=" {
		is[c] = true
	}
	return is
}()
