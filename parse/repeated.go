package parse

// An identity is what makes two items of a List speak of the same thing: a policy
// and, where the field has keys, a partition.
type identity struct {
	policy string
	key    string
	hasKey bool
}

// scanMost is how many values are compared one by one before a map is made.
// Responses have a handful of items, for which scanning is faster and allocates
// nothing; a hostile one may have thousands.
const scanMost = 16

// An index finds values by identity. The zero index is empty.
type index struct {
	at map[identity]int // nil while there are few
}

// find returns the place in values of the one with the same identity as v, or
// None. The caller then appends v: from scanMost on, values grows by find's misses
// and by nothing else.
func find[T interface{ identity() identity }](x *index, values []T, v T) int {
	id := v.identity()
	if len(values) < scanMost {
		for i := range values {
			if values[i].identity() == id {
				return i
			}
		}
		return None
	}
	if x.at == nil {
		x.at = make(map[identity]int, 2*scanMost)
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

// lowest is the lower of two figures, None being no figure.
func lowest(a, b int64) int64 {
	switch {
	case a == None:
		return b
	case b == None:
		return a
	}
	return min(a, b)
}
