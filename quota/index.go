package quota

// An index finds the accounts of a policy by the hash of their owners. It is a hash
// table whose buckets are one cache line each. Among a million accounts a look-up
// waits for memory once for the bucket and once for the account. A map of Go waits
// for a table, for a word of it and for a slot: see BenchmarkIndex.
//
// An account that finds no room in its bucket goes into one of the next buckets. Each
// bucket counts the accounts that went past it, so that a look-up stops early.
type index struct {
	hash    func(owner string) uint32
	buckets []slots // a power of two of them, or none
	n       int     // accounts
}

// slots is a bucket: room for five accounts.
type slots struct {
	hash   [5]uint32
	passed uint32      // accounts that would be here if there had been room
	at     [5]*account // nil: no account
}

const fill = 4 // the largest mean number of accounts in a bucket

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

// bucket returns the one that is looked at after so many others.
func (x *index) bucket(h uint32, after int) *slots {
	return &x.buckets[(int(h)+after)&(len(x.buckets)-1)]
}

// add adds an account that is not in the index.
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

// take adds an account if there is room.
func (b *slots) take(h uint32, a *account) bool {
	for j := range b.at {
		if b.at[j] == nil {
			b.hash[j], b.at[j] = h, a
			return true
		}
	}
	return false
}

// remove removes an account that is in the index.
func (x *index) remove(a *account) {
	h := x.hash(a.owner.String())
	for i := 0; !x.bucket(h, i).drop(a); i++ {
		x.bucket(h, i).passed--
	}
	if x.n--; x.n < len(x.buckets)/2 {
		x.resize(len(x.buckets) / 4)
	}
}

// drop removes an account if it is in the bucket.
func (b *slots) drop(a *account) bool {
	for j := range b.at {
		if b.at[j] == a {
			b.at[j] = nil
			return true
		}
	}
	return false
}

// resize moves all accounts into n buckets. It does not look at the accounts, and
// takes some tens of nanoseconds for each.
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
