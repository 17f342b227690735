package parse

// An identity is a policy and, in fields with keys, a partition. Items of a List with
// the same identity are merged.
type identity struct {
	policy string
	key    Key
	hasKey bool
}

// maxScan is the number of values up to which find compares them one by one. That is
// faster for the few items of most responses, and allocates nothing; a hostile response
// may have thousands.
const maxScan = 16

// An index finds values by identity. The zero index is empty.
type index struct {
	at map[identity]int // nil until maxScan
}

// find returns the index in values of the one with the same identity as v, or None. On
// None the caller must append v to values, and must not append anything else.
func find[T interface{ identity() identity }](x *index, values []T, v T) int {
	id := v.identity()
	if len(values) < maxScan {
		for i := range values {
			if values[i].identity() == id {
				return i
			}
		}
		return None
	}
	if x.at == nil {
		x.at = make(map[identity]int, 2*maxScan)
		for i := range values {
			x.at[values[i].identity()] = i
		}
	}
	if i, ok := x.at[id]; ok {
		return i
	}
	x.at[id] = len(values)
	return None
}

// lowest returns the lower of two figures, either of which may be None.
func lowest(a, b int64) int64 {
	switch {
	case a == None:
		return b
	case b == None:
		return a
	}
	return min(a, b)
}
