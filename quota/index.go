package quota

// An index finds the accounts of a book by the hash of their owners. It is a hash
// table whose buckets are one line of a cache each, where it is large: of a million
// accounts, a request that looks for one waits for memory once, and once more for
// the account itself. (In a map of Go it waits for a table, for a word of it and for
// a slot: see BenchmarkIndex.)
//
// Accounts that find no place in their bucket stand in one of the next. Each bucket
// counts those that have passed it by, so that nobody looks further than they need.
type index struct {
	hash    func(owner string) uint32
	buckets []slots // a power of two of them, or none
	n       int     // accounts
}

// slots are a bucket: room for some accounts.
type slots struct {
	hash   [5]uint32
	passed uint32      // accounts that would be here, if there had been room
	at     [5]*account // nil: no account
}

const fill = 4 // accounts to a bucket at the most, in the mean

// find returns the account of an owner; nil, if there is none.
func (x *index) find(owner string) *account {
	if x.n == 0 {
		return nil
	}
	h := x.hash(owner)
	for i := range x.buckets {
		b := x.bucket(h, i)
		for j := range b.at {
			if a := b.at[j]; a != nil && b.hash[j] == h && a.owner.is(owner) {
				return a
			}
		}
		if b.passed == 0 {
			break
		}
	}
	return nil
}

// bucket is the one that is looked at after so many others.
func (x *index) bucket(h uint32, after int) *slots {
	return &x.buckets[(int(h)+after)&(len(x.buckets)-1)]
}

// add takes in an account that is not there.
func (x *index) add(a *account) {
	if x.n == fill*len(x.buckets) {
		x.resize(max(2*len(x.buckets), 1))
	}
	x.put(x.hash(a.owner.String()), a)
	x.n++
}

func (x *index) put(h uint32, a *account) {
	for i := 0; !x.bucket(h, i).take(h, a); i++ {
		x.bucket(h, i).passed++
	}
}

// take takes an account in, if there is room.
func (b *slots) take(h uint32, a *account) bool {
	for j := range b.at {
		if b.at[j] == nil {
			b.hash[j], b.at[j] = h, a
			return true
		}
	}
	return false
}

// remove takes out an account that is there.
func (x *index) remove(a *account) {
	h := x.hash(a.owner.String())
	for i := 0; !x.bucket(h, i).drop(a); i++ {
		x.bucket(h, i).passed--
	}
	if x.n--; x.n < len(x.buckets)/2 {
		x.resize(len(x.buckets) / 4)
	}
}

// drop takes an account out, if it is there.
func (b *slots) drop(a *account) bool {
	for j := range b.at {
		if b.at[j] == a {
			b.at[j] = nil
			return true
		}
	}
	return false
}

// resize moves all accounts into so many buckets. It looks at none of them, and takes
// some tens of nanoseconds for each.
func (x *index) resize(n int) {
	old := x.buckets
	x.buckets = make([]slots, n)
	for i := range old {
		for j, a := range old[i].at {
			if a != nil {
				x.put(old[i].hash[j], a)
			}
		}
	}
}
