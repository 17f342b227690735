// Package metrics is what the modules otelheadway and promheadway have in common: the
// instruments, and what is recorded when, under names that are bounded whatever servers
// send. It depends on no metrics library.
package metrics

import (
	"strconv"
	"strings"
)

// A Kind is a kind of instrument.
type Kind uint8

const (
	Histogram Kind = iota
	Counter
	UpDownCounter // observed when metrics are collected
	Gauge         // observed when metrics are collected
)

// An Instrument is described as OpenTelemetry does.
type Instrument struct {
	Name  string
	Kind  Kind
	Unit  string // UCUM
	Help  string
	Attrs []string // besides those of the origin
	limit int      // attribute sets, without those that stand for others
}

// Names of attributes.
const (
	Address = "server.address"
	Port    = "server.port"
	Outcome = "headway.outcome"
	Reason  = "headway.reason"
	Policy  = "headway.policy"
	Status  = "http.response.status_code"
	First   = "headway.first"
	Field   = "headway.field"
	Error   = "error.type"
)

// The instruments. Their limits add up to less than 2,200.
var (
	TimeInLine = &Instrument{"headway.request.time_in_line", Histogram, "s",
		"Time that requests waited in line until they were sent, refused or given up; 0 for those that did not wait. Its count is the count of requests.",
		[]string{Outcome, Reason, Policy}, 700}
	InLine = &Instrument{"headway.request.in_line", UpDownCounter, "{request}",
		"Requests that wait in line.", nil, 100}
	InFlight = &Instrument{"headway.request.in_flight", UpDownCounter, "{request}",
		"Requests that were sent and not answered.", nil, 100}
	Refused = &Instrument{"headway.response.refused", Counter, "{response}",
		"Responses that refused a request for lack of quota; headway.first is true if nothing had been answered when the request left.",
		[]string{Status, First}, 200}
	Available = &Instrument{"headway.quota.available", Gauge, "{unit}",
		"Units that may be used now of a quota whose window is in force; of several partitions or models, those of the one with the smallest part left.",
		[]string{Policy}, 250}
	Limit = &Instrument{"headway.quota.limit", Gauge, "{unit}",
		"Units that the policy allows in a window; of several partitions or models with different quotas, those of the one that headway.quota.available is of.",
		[]string{Policy}, 250}
	Hold = &Instrument{"headway.quota.hold", Gauge, "s",
		"Time for which requests are still held by a Retry-After or a back-off, the longest of all accounts of an origin.",
		[]string{Reason}, 200}
	Accounts = &Instrument{"headway.account.count", Gauge, "{account}",
		"Accounts of quotas that are kept.", nil, 1}
	Ignored = &Instrument{"headway.field.ignored", Counter, "{field}",
		"Parts of response fields that were ignored because they are malformed or above a safety cap.",
		[]string{Field}, 150}
	Mispredicted = &Instrument{"headway.prediction.failed", Counter, "{request}",
		"Requests that the server counted in another partition than it had declared.",
		[]string{Policy}, 100}

	Linked = &Instrument{"headway.fleet.linked", UpDownCounter, "{process}",
		"1 while the store of the fleet answers, else 0.", nil, 1}
	Peers = &Instrument{"headway.fleet.peer.count", Gauge, "{process}",
		"Processes that share an account, this one included.", nil, 1}

	Exchanges = &Instrument{"headway.fleet.exchange.duration", Histogram, "s",
		"Time that exchanges with the store of the fleet took; error.type says why one failed.",
		[]string{Error}, 5}

	All = []*Instrument{TimeInLine, InLine, InFlight, Refused, Available, Limit, Hold, Accounts, Ignored, Mispredicted, Linked, Peers, Exchanges}
)

// Buckets are the upper bounds of a Histogram, in seconds. The first of TimeInLine is for
// requests that did not wait.
func (i *Instrument) Buckets() []float64 {
	if i == Exchanges {
		return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}
	}
	return []float64{0, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
}

// Attributes returns the names of all attributes of an instrument.
func (i *Instrument) Attributes() []string {
	switch i {
	case Accounts, Linked, Peers, Exchanges:
		return i.Attrs
	}
	return append([]string{Address, Port}, i.Attrs...)
}

// A Key is a set of values of attributes. Those that an instrument does not have are
// empty.
type Key struct {
	Origin  string // as in quota.Snapshot
	Outcome string
	Reason  string
	Policy  string
	Field   string
	Error   string
	Status  int
	First   bool
}

// Value returns the value of an attribute: a string, an int or a bool; "" if it is not
// known.
func (k *Key) Value(attr string) any {
	switch attr {
	case Address:
		address, _ := split(k.Origin)
		return address
	case Port:
		if _, port := split(k.Origin); port > 0 {
			return port
		}
		return ""
	case Outcome:
		return k.Outcome
	case Reason:
		return k.Reason
	case Policy:
		return k.Policy
	case Field:
		return k.Field
	case Error:
		return k.Error
	case Status:
		if k.Status == 0 {
			return ""
		}
		return k.Status
	case First:
		return k.First
	}
	return ""
}

// Text is Value as a string.
func (k *Key) Text(attr string) string {
	switch v := k.Value(attr).(type) {
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	default:
		return v.(string)
	}
}

// sameAddress reports whether two origins have the same attributes: https://a.example and http://a.example:443, or any two
// schemes without a host, such as mailto and tel. A set of attributes that occurs twice is an error for Prometheus.
func sameAddress(a, b string) bool {
	address, port := split(a)
	other, otherPort := split(b)
	return address == other && port == otherPort
}

// split returns the host and the port of an origin. The zone of an address may be any bytes, and a label has to be UTF-8.
func split(origin string) (address string, port int) {
	scheme, host, found := strings.Cut(origin, "://")
	if !found {
		return origin, 0
	}
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		port, _ = strconv.Atoi(host[at+1:])
		host = host[:at]
	}
	switch {
	case port > 0:
	case scheme == "http":
		port = 80
	case scheme == "https":
		port = 443
	}
	return strings.ToValidUTF8(strings.Trim(host, "[]"), "\uFFFD"), port
}
