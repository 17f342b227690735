// Explain prints in plain words what a transport.Shaper understands of a response, what
// it ignores and why, and when it would send the next request.
//
//	go run ./examples/explain https://api.example.com/items
//	go run ./examples/explain response.txt
//	curl -si -H "Authorization: Bearer $TOKEN" https://api.example.com/items | go run ./examples/explain
//
// It gets a URL once, and does not follow a redirect. A file contains one or several
// responses as curl -i prints them. Each response is explained on its own, as if it were
// the first one of its server.
//
// It does not parse fields itself, but explains the results of a Shaper and of a
// parse.Reader. It never prints partition keys, nor values that were not understood.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
)

const usage = `Usage: explain [-host name] [URL | file | -]

Explains what a Shaper understands of the response to a GET of the URL, or of
raw responses in the file or on standard input, as curl -si prints them.

  -host name   the host that sent a raw response: some rows of the vendor
               table are for one host only
`

// sample is explained if there is no input.
const sample = `HTTP/1.1 429 Too Many Requests
Date: Fri, 10 Apr 2026 10:00:00 GMT
RateLimit-Policy: "burst";q=10;w=6, "daily";q=1000;w=86400, "odd";q=-1
RateLimit: "burst";a=0;w=4;pk=:YWxpY2UfR0VU:, "daily";a=737;w=50400
RateLimit-Partition: "burst";user_id;method
X-RateLimit-Remaining: 0
Retry-After: 4
`

func main() {
	err := run(os.Args[1:], os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "explain:", err)
		os.Exit(1)
	}
}

// run explains the responses that the arguments ask for.
func run(args []string, stdin io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	host := flags.String("host", "", "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, err = io.WriteString(out, usage)
		return err
	case err != nil:
		return err
	case flags.NArg() > 1:
		return errors.New("more than one argument")
	}

	responses, err := open(flags.Arg(0), *host, stdin)
	if errors.Is(err, errNothing) && flags.NArg() == 0 {
		fmt.Fprintf(out, "%s\nThere is no input, so this is a sample:\n\n%s\n\n", usage, indent(sample))
		responses, err = parseResponses([]byte(sample), *host)
	}
	if err != nil {
		return err
	}
	return explainAll(out, responses)
}

// explainAll explains each response, with its number if there are several.
func explainAll(out io.Writer, responses []*http.Response) error {
	var text bytes.Buffer
	for i, resp := range responses {
		e, err := explain(resp)
		if err != nil {
			return err
		}
		if len(responses) > 1 {
			fmt.Fprintf(&text, "Response %d of %d: ", i+1, len(responses))
		}
		e.write(&text)
		if i < len(responses)-1 {
			text.WriteByte('\n')
		}
	}
	_, err := text.WriteTo(out)
	return err
}
