package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	timeout  = 30 * time.Second // of the request for a URL
	maxBytes = 4 << 20          // of a file, or of a body
)

// unknownHost stands for the host of a raw response.
const unknownHost = "host.invalid"

var (
	errNothing     = errors.New("there is no input")
	errNotResponse = errors.New("not a response: the first line is neither a status line nor a field")
)

// open returns the response of a URL, or the responses in a file or on standard input.
func open(source, host string, stdin io.Reader) ([]*http.Response, error) {
	var from io.Reader
	switch {
	case strings.Contains(source, "://"):
		resp, err := fetch(source)
		return []*http.Response{resp}, err
	case source == "" && interactive(stdin):
		return nil, errNothing
	case source == "" || source == "-":
		from = stdin
	default:
		f, err := os.Open(source)
		if err != nil {
			return nil, fmt.Errorf("%w (a URL starts with https://)", err)
		}
		defer f.Close()
		from = f
	}
	raw, err := io.ReadAll(io.LimitReader(from, maxBytes))
	if err != nil {
		return nil, err
	}
	return parseResponses(raw, host)
}

// interactive reports whether standard input is a terminal or /dev/null, so that there is
// no input to read.
func interactive(stdin io.Reader) bool {
	f, ok := stdin.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// fetch gets a URL once. Its errors do not contain the URL, which may contain a key.
func fetch(source string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodGet, source, nil)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	client := &http.Client{
		Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	resp, err := client.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) {
		return nil, failed.Err
	}
	return resp, err
}

// parseResponses parses responses as curl -i prints them: a status line, a header, a blank
// line, and a body, with lines that end in LF or CRLF. Each further status line starts
// another response, also within a body. Without a status line, the status is 200.
func parseResponses(raw []byte, host string) ([]*http.Response, error) {
	if host == "" {
		host = unknownHost
	}
	raw = bytes.TrimLeft(bytes.TrimPrefix(raw, []byte("\ufeff")), "\r\n\t ")
	if len(raw) == 0 {
		return nil, errNothing
	}
	var responses []*http.Response
	for len(raw) > 0 {
		message := raw[:nextMessage(raw)]
		raw = raw[len(message):]
		resp, err := parseResponse(message)
		if err != nil {
			return nil, err
		}
		resp.Request = &http.Request{
			Method: http.MethodGet,
			URL:    &url.URL{Scheme: "https", Host: host, Path: "/"},
			Header: http.Header{},
		}
		responses = append(responses, resp)
	}
	return responses, nil
}

// nextMessage returns the length of the first message of raw.
func nextMessage(raw []byte) int {
	for at := 0; ; {
		end := bytes.IndexByte(raw[at:], '\n')
		if end < 0 {
			return len(raw)
		}
		at += end + 1
		line, _, _ := bytes.Cut(raw[at:], []byte("\n"))
		if _, ok := statusOf(string(line)); ok {
			return at
		}
	}
}

func parseResponse(message []byte) (*http.Response, error) {
	head, body := splitHead(message)
	status := http.StatusOK
	if code, ok := statusOf(head[0]); ok {
		status, head = code, head[1:]
	} else if !isField(head[0]) {
		return nil, errNotResponse
	}
	return &http.Response{
		StatusCode: status,
		Header:     parseHeader(head),
		Body:       io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// splitHead splits a message, which is not empty, at its first blank line.
func splitHead(message []byte) (head []string, body []byte) {
	for len(message) > 0 {
		line, rest, _ := bytes.Cut(message, []byte("\n"))
		message = rest
		if line = bytes.TrimRight(line, "\r"); len(line) == 0 {
			break
		}
		head = append(head, string(line))
	}
	return head, message
}

// statusOf returns the status code of a status line of any version of HTTP.
func statusOf(line string) (code int, ok bool) {
	words := strings.Fields(line)
	if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/") || len(words[1]) != 3 {
		return 0, false
	}
	code, err := strconv.Atoi(words[1])
	return code, err == nil && code >= 100
}

// isField reports whether a line is a field line (RFC 9110, Section 5.1).
func isField(line string) bool {
	name, _, ok := strings.Cut(line, ":")
	return ok && name != "" && !strings.ContainsAny(name, " \t\"(),/;<=>?@[\\]{}")
}

// parseHeader parses field lines and skips all other lines.
func parseHeader(lines []string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		if !isField(line) {
			continue
		}
		one := textproto.NewReader(bufio.NewReader(strings.NewReader(line + "\r\n\r\n")))
		fields, err := one.ReadMIMEHeader()
		if err != nil {
			continue
		}
		for name, values := range fields {
			h[name] = append(h[name], values...)
		}
	}
	return h
}
