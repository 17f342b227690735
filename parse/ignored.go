package parse

import (
	"errors"
	"fmt"
	"strings"
)

// ErrCap says that something is above its cap in [Caps]. [Ignored.Err] matches
// it with [errors.Is]; the text of any other reason says what is wrong with the field.
var ErrCap = errors.New("parse: above a safety cap")

// The other reasons. Their texts hold no field values.
var (
	errSyntax  = errors.New("parse: malformed field value")
	errType    = errors.New("parse: value of a wrong type")      // of an item or a known parameter
	errRange   = errors.New("parse: value out of range")         // a parameter is negative, or the window of a policy is zero
	errMissing = errors.New("parse: required parameter missing") // it was not sent, or was above its cap

	// errConflict says that an item of RateLimit-Partition contradicts an earlier one
	// for the same policy, that two policies of drafts -06 and -07 have the same
	// quota, or that the window beside draft -06 is shorter than the reset.
	errConflict = errors.New("parse: contradicts another item")

	// errUnclear says that nothing tells whether the request counts in a quota. See Vendor.
	errUnclear = errors.New("parse: may not concern the request")
)

// Ignored says what was ignored in a field, and why. It holds no field values and can
// be logged.
//
// An Ignored with a Param and ErrCap concerns the parameter alone: its item was read
// as if the parameter had not been sent. Any other concerns the whole item or field.
type Ignored struct {
	// Field is the name of the field as its specification writes it, such as
	// "RateLimit-Policy".
	Field string

	// Item is the index of the item in the List, counted from 0 over all field
	// lines; for Retry-After the index of the field line. It is None if the whole
	// field was ignored. If a List has more items than Caps.Items, it is the index
	// of the first that was not read, and stands for all after it.
	Item int

	// Param is the name of the parameter at fault, one of those that the drafts
	// define. It is empty if the item or the field is at fault.
	Param string

	// Err is the reason: ErrCap, or what is wrong with the field.
	Err error
}

// String returns a description on one line.
func (i Ignored) String() string {
	var where strings.Builder
	where.WriteString(i.Field)
	if i.Item != None {
		fmt.Fprintf(&where, ", item %d", i.Item)
	}
	if i.Param != "" {
		fmt.Fprintf(&where, ", parameter %s", i.Param)
	}
	return fmt.Sprintf("%v (%s)", i.Err, where.String())
}
